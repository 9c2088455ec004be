# SPDX-License-Identifier: Apache-2.0
"""Loops that only read and write memory, as LLVM IR compiled for this machine.

In the manner of STREAM (J. D. McCalpin, www.cs.virginia.edu/stream): `read` sums an array, `copy`
copies one, `triad` computes a = b + 3 c. Stores are ordinary ones, as in generated code: on a cache
miss the line is read first, which is not counted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir

Function = Callable[[int, int, int, int], None]
"""Takes the number of elements, of which whole groups of 64 are accessed, and three addresses."""

ARRAYS = {"read": 1, "copy": 2, "triad": 3}
_WIDTH = 16  # elements of the widest vector; other machines split it
_STEP = 64  # elements per iteration: four vectors, for independent sums


@contextmanager
def loaded_traffic(kind: str) -> Iterator[tuple[Function, int]]:
    """The loop, and the number of its addresses that are arrays: read ones, then the written one.

    `read` stores its sum to the second address. The loop is unloaded at the end of the context.
    """
    prototype = ctypes.CFUNCTYPE(
        None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )
    with LoadedObjects([compile_ir(traffic_ir(kind), Machine.host())]) as objects:
        yield prototype(objects.address("traffic")), ARRAYS[kind]


def traffic_ir(kind: str) -> str:
    """IR of `void traffic(i64 elements, ptr a, ptr b, ptr c)`, 64 elements or more."""
    vectors = range(_STEP // _WIDTH)
    turn = {"read": _read, "copy": _copy, "triad": _triad}[kind]
    sums = kind == "read"
    start = [f"  %s.{v} = phi {_T} [ zeroinitializer, %entry ], [ %n.{v}, %loop ]" for v in vectors]
    body = "\n".join([*(start if sums else []), *(turn(v) for v in vectors)])
    return f"""\
define void @traffic(i64 %elements, ptr noalias %a, ptr noalias %b, ptr noalias %c) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add i64 %i, {_STEP}
  %after = add i64 %next, {_STEP}
  %more = icmp ule i64 %after, %elements
  br i1 %more, label %loop, label %done
done:
{_total() if sums else ""}
  ret void
}}
declare float @llvm.vector.reduce.fadd.v{_WIDTH}f32(float, {_T})
"""


_T = f"<{_WIDTH} x float>"
_THREE = "splat (float 3.0)"


def _offset(array: str, vector: int) -> str:
    return (
        f"  %{array}.i.{vector} = add i64 %i, {vector * _WIDTH}\n"
        f"  %{array}.p.{vector} = getelementptr float, ptr %{array}, i64 %{array}.i.{vector}\n"
    )


def _load(array: str, vector: int) -> str:
    value = f"  %{array}.v.{vector} = load {_T}, ptr %{array}.p.{vector}, align 4\n"
    return _offset(array, vector) + value


def _store(array: str, vector: int, value: str) -> str:
    store = f"  store {_T} {value}, ptr %{array}.p.{vector}, align 4\n"
    return _offset(array, vector) + store


def _read(v: int) -> str:
    return _load("a", v) + f"  %n.{v} = fadd {_T} %s.{v}, %a.v.{v}\n"


def _copy(v: int) -> str:
    return _load("a", v) + _store("b", v, f"%a.v.{v}")


def _triad(v: int) -> str:
    scaled = f"  %m.{v} = fmul {_T} %b.v.{v}, {_THREE}\n  %t.{v} = fadd {_T} %a.v.{v}, %m.{v}\n"
    return _load("a", v) + _load("b", v) + scaled + _store("c", v, f"%t.{v}")


def _total() -> str:
    return (
        f"  %t.0 = fadd {_T} %n.0, %n.1\n  %t.1 = fadd {_T} %n.2, %n.3\n"
        f"  %t.2 = fadd {_T} %t.0, %t.1\n"
        f"  %sum = call float @llvm.vector.reduce.fadd.v{_WIDTH}f32(float 0.0, {_T} %t.2)\n"
        "  store float %sum, ptr %b, align 4"
    )
