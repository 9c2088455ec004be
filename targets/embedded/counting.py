# SPDX-License-Identifier: Apache-2.0
"""Counts basic blocks: a function in machine code that unicorn calls for each block.

LLVM compiles it when the first board is opened. Every `SLICE` halfwords it handles signals and
checks the limits, so that a run ends soon after Ctrl-C or its time limit. The count stays exact
however often that happens.
"""

from __future__ import annotations

import ctypes
import enum
import functools
from typing import Any


class End(enum.IntEnum):
    """The reason why a run was stopped; 0 while it runs."""

    INSTRUCTIONS = 1
    TIME = 2
    INTERRUPT = 3


SLICE = 1 << 21  # halfwords, about 20 ms
_COUNT_IR = f"""
declare i64 @llvm.smax.i64(i64, i64)
define void @count(ptr %uc, i64 %address, i32 %size, ptr %state) {{
  %base = load i64, ptr %state
  %offset = sub i64 %address, %base
  %index = lshr i64 %offset, 1
  %words.at = getelementptr i64, ptr %state, i64 1
  %words = load i64, ptr %words.at
  %inside = icmp ult i64 %index, %words
  br i1 %inside, label %found, label %end
found:
  %counts.at = getelementptr i64, ptr %state, i64 2
  %counts = load ptr, ptr %counts.at
  %sizes.at = getelementptr i64, ptr %state, i64 3
  %sizes = load ptr, ptr %sizes.at
  %count.at = getelementptr i64, ptr %counts, i64 %index
  %count = load i64, ptr %count.at
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  %size.at = getelementptr i32, ptr %sizes, i64 %index
  store i32 %size, ptr %size.at
  %left.at = getelementptr i64, ptr %state, i64 4
  %left = load i64, ptr %left.at
  %taken = lshr i32 %size, 1
  %wide = zext i32 %taken to i64
  %less = sub i64 %left, %wide
  store i64 %less, ptr %left.at
  %attention.at = getelementptr i64, ptr %state, i64 5
  %attention = load i64, ptr %attention.at
  %due = icmp slt i64 %less, %attention
  br i1 %due, label %attend, label %end
attend:
  %slice.end = sub i64 %less, {SLICE}
  %next = call i64 @llvm.smax.i64(i64 %slice.end, i64 0)
  store i64 %next, ptr %attention.at
  %wanted.at = getelementptr i64, ptr %state, i64 7
  %wanted.word = load ptr, ptr %wanted.at
  %wanted = load volatile i32, ptr %wanted.word
  %serves = icmp ne i32 %wanted, 0
  br i1 %serves, label %serve, label %look
serve:
  %serve.at = getelementptr i64, ptr %state, i64 8
  %serve.function = load ptr, ptr %serve.at
  call void %serve.function()
  br label %look
look:
  %end.at = getelementptr i64, ptr %state, i64 6
  %ended = load volatile i64, ptr %end.at
  %is.ended = icmp ne i64 %ended, 0
  br i1 %is.ended, label %stop, label %limit
limit:
  %over = icmp slt i64 %less, 0
  br i1 %over, label %mark, label %time
time:
  %clock.at = getelementptr i64, ptr %state, i64 9
  %clock = load i32, ptr %clock.at
  %now.at = getelementptr i64, ptr %state, i64 10
  %gettime.at = getelementptr i64, ptr %state, i64 12
  %gettime = load ptr, ptr %gettime.at
  %failed = call i32 %gettime(i32 %clock, ptr %now.at)
  %seconds = load i64, ptr %now.at
  %nanoseconds.at = getelementptr i64, ptr %state, i64 11
  %nanoseconds = load i64, ptr %nanoseconds.at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  %deadline.at = getelementptr i64, ptr %state, i64 13
  %deadline = load i64, ptr %deadline.at
  %late = icmp sgt i64 %now, %deadline
  br i1 %late, label %mark, label %end
mark:
  %why = phi i64 [ {End.INSTRUCTIONS}, %limit ], [ {End.TIME}, %time ]
  store i64 %why, ptr %end.at
  br label %stop
stop:
  %stop.at = getelementptr i64, ptr %state, i64 14
  %function = load ptr, ptr %stop.at
  %status = call i32 %function(ptr %uc)
  br label %end
end:
  ret void
}}
"""


class State(ctypes.Structure):
    """The state of the counting function."""

    _fields_ = (
        ("base", ctypes.c_uint64),
        ("words", ctypes.c_uint64),
        ("counts", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("left", ctypes.c_int64),  # halfwords until the limit
        ("attention", ctypes.c_int64),  # value of `left` at the end of the slice
        ("end", ctypes.c_int64),  # an End, or 0
        ("wanted", ctypes.c_void_p),
        ("serve", ctypes.c_void_p),
        ("clock", ctypes.c_int64),
        ("now", ctypes.c_int64 * 2),  # seconds, nanoseconds
        ("gettime", ctypes.c_void_p),
        ("deadline", ctypes.c_int64),  # nanoseconds
        ("stop", ctypes.c_void_p),
    )


def address_of(function: Any) -> int | None:
    """The address of a function of a library."""
    return ctypes.cast(function, ctypes.c_void_p).value


@functools.lru_cache(maxsize=1)
def counter() -> int:
    """The address of the counting function, which stays loaded."""
    from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir

    global _loaded
    _loaded = LoadedObjects((compile_ir(_COUNT_IR, Machine.host(), name="count"),))
    return _loaded.address("count")


_loaded: object = None
