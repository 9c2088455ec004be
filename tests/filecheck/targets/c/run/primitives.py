# SPDX-License-Identifier: Apache-2.0
# REQUIRES: tool-cc
# RUN: %python %s | FileCheck %s
"""Every schedule primitive, compiled as C on one thread and on three, agrees with NumPy."""

import xtc
import xtc.ops as O

a, b = O.tensor((35, 48), name="A"), O.tensor((48, 21), name="B")
with O.graph(name="layer") as gb:
    O.relu(O.matmul(a, b, name="C"), name="R")


def check(name: str, schedule: xtc.Schedule) -> None:
    """Compile, run and compare; raises where an element is wrong."""
    for threads in (1, 3):
        with xtc.compile(gb.graph, schedule=schedule, codegen="c", threads=threads) as module:
            module.check()
    print(name, "is right")


s = xtc.Schedule(gb.graph)
s["C"].strip_mine("i", {"i1": 8})
check("strip_mine", s)
# CHECK: strip_mine is right

s = xtc.Schedule(gb.graph)
s["C"].split("i", {"low": 0, "high": 20})["high"].interchange(["k", "j", "i"])
check("split", s)
# CHECK-NEXT: split is right

s = xtc.Schedule(gb.graph)
s["C"].interchange(["k", "i", "j"])
check("interchange", s)
# CHECK-NEXT: interchange is right

s["C"].vectorize(["j"])
check("vectorize", s)
# CHECK-NEXT: vectorize is right

s = xtc.Schedule(gb.graph)
s["C"].strip_mine("i", {"i1": 8}).unroll({"i1": 4})
check("unroll", s)
# CHECK-NEXT: unroll is right

s["C"].parallelize(["i", "j"])
check("parallelize", s)
# CHECK-NEXT: parallelize is right

s = xtc.Schedule(gb.graph)
s["C"].parallelize(["i"]).buffer_at("i")
check("buffer_at", s)
# CHECK-NEXT: buffer_at is right

s = xtc.Schedule(gb.graph)
s["C"].strip_mine("j", {"j1": 8}).interchange(["j", "i", "k", "j1"]).pack_at("j", 1)
check("pack_at", s)
# CHECK-NEXT: pack_at is right

s = xtc.Schedule(gb.graph)
s["R"].parallelize(["i"]).fuse_producer_at("i", 0)
check("fuse_producer_at", s)
# CHECK-NEXT: fuse_producer_at is right
