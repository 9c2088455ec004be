# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""fuse_consumer_at: the reader of the result is computed inside a loop, when a tile is complete."""

import xtc
import xtc.ops as O

a = O.tensor((24, 16), name="A")
b = O.tensor((16, 32), name="B")
with O.graph(name="layer") as gb:
    O.relu(O.matmul(a, b, name="C"), name="R")

schedule = xtc.Schedule(gb.graph)
C = schedule["C"].fuse_consumer_at("j").tile("i", {"i1": 8}).tile("j", {"j1": 16})
C.interchange(["i", "j", "k", "i1", "j1"]).vectorize(["j1"])
print(C)
# CHECK:      for j in 0..32 step 16  // fuse consumer
print(C.data)
# CHECK:      j: {fuse_consumer: true}
module = xtc.compile(gb.graph, schedule=schedule)
module.check()
print(module.ir("scheduled"))
# CHECK:      scf.for
# CHECK:        scf.for
# CHECK:          scf.for
# CHECK:          } {"./k"}
# CHECK:          arith.maximumf
# CHECK:        } {"./j"}
# CHECK:        } {"./i"}


def refused(nest: object, graph: object = gb) -> None:
    try:
        xtc.compile(graph, schedule={"C": nest})
    except xtc.UserError as error:
        print(error)
    else:
        raise SystemExit("this is not refused")


refused({"k": {}, "i": {}, "j": "fuse_consumer"})
# CHECK:      the consumer of C cannot be fused at 'j': its tile is not complete inside 'k'
# CHECK-NEXT:   hint: name a loop outside of all reductions and segments
# A result that is an output of the graph has no consumer.
with O.graph(name="alone") as alone:
    O.matmul(a, b, name="C")
refused({"i": "fuse_consumer", "j": {}, "k": {}}, alone)
# CHECK:      the consumer of C cannot be fused at 'i'
# CHECK-NEXT:   note: it is the only reader, elementwise
print(xtc.Schedule.of(gb.graph, {"C": {"i": {}, "i#24": "fuse_consumer", "j": {}, "k": {}}})["C"])
# CHECK:      note: 'i#24' covers all of 'i', which runs once
