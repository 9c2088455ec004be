# SPDX-License-Identifier: Apache-2.0
"""record-kernels: lets a program record when it starts and when each kernel ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError, shown
from xtc.interfaces.runtime import RecordedKernel
from xtc.ir.attributes import NODE, NODES, OPERATIONS, PROFILE
from xtc.ir.builders.functions import define
from xtc.ir.builders.llvm import call, constant
from xtc.ir.mlir import (
    ArrayAttr,
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Operation,
    StringAttr,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass
from xtc_targets.host.build import CLOCKS, STAMPS, WINDOW

_STAMP = "xtc.stamp"
_READ = "xtc.read"
_CLOCK_MONOTONIC = 1  # <linux/time.h>
_UNKNOWN = -1  # number of operations

_READINGS = {
    "tsc": 'llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64',
    "cntvct": 'llvm.inline_asm has_side_effects "mrs $0, CNTVCT_EL0", "=r" : () -> i64',
    "": "llvm.call @xtc.monotonic() : () -> i64",
}
"""The code that reads the counters of `steady_counter`."""

_TEXT = """\
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.mlir.global external protected @{window}(dense<[0, {count}]> : tensor<2xi32>)
  : !llvm.array<2 x i32>
llvm.mlir.global external protected @{stamps}() : !llvm.array<{count} x i64> {{
  %none = llvm.mlir.zero : !llvm.array<{count} x i64>
  llvm.return %none : !llvm.array<{count} x i64>
}}
llvm.func internal @xtc.monotonic() -> i64 attributes {{no_inline}} {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %clock = llvm.mlir.constant({clock} : i32) : i32
  %second = llvm.mlir.constant(1000000000 : i64) : i64
  %time = llvm.alloca %one x !llvm.struct<(i64, i64)> : (i64) -> !llvm.ptr
  %status = llvm.call @clock_gettime(%clock, %time) : (i32, !llvm.ptr) -> i32
  %both = llvm.load %time : !llvm.ptr -> !llvm.struct<(i64, i64)>
  %seconds = llvm.extractvalue %both[0] : !llvm.struct<(i64, i64)>
  %rest = llvm.extractvalue %both[1] : !llvm.struct<(i64, i64)>
  %whole = llvm.mul %seconds, %second : i64
  %sum = llvm.add %whole, %rest : i64
  llvm.return %sum : i64
}}
llvm.func internal @{read}() -> i64 attributes {{always_inline}} {{
  %time = {reading}
  llvm.return %time : i64
}}
llvm.func internal @{stamp}(%number: i32) attributes {{always_inline}} {{
  %window = llvm.mlir.addressof @{window} : !llvm.ptr
  %behind = llvm.getelementptr %window[1] : (!llvm.ptr) -> !llvm.ptr, i32
  %first = llvm.load %window : !llvm.ptr -> i32
  %count = llvm.load %behind : !llvm.ptr -> i32
  %index = llvm.sub %number, %first : i32
  %is_recorded = llvm.icmp "ult" %index, %count : i32
  llvm.cond_br %is_recorded, ^record, ^end
^record:
  llvm.call @{stamp}.write(%number) : (i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}}
llvm.func internal @{stamp}.write(%number: i32) attributes {{no_inline}} {{
  %time = llvm.call @{read}() : () -> i64
  %stamps = llvm.mlir.addressof @{stamps} : !llvm.ptr
  %slot = llvm.getelementptr %stamps[%number] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  llvm.store %time, %slot : i64, !llvm.ptr
  llvm.return
}}
llvm.func @{clocks}(%times: !llvm.ptr) {{
  %second = llvm.getelementptr %times[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %third = llvm.getelementptr %times[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %before = llvm.call @{read}() : () -> i64
  %time = llvm.call @xtc.monotonic() : () -> i64
  %after = llvm.call @{read}() : () -> i64
  llvm.store %before, %times : i64, !llvm.ptr
  llvm.store %time, %second : i64, !llvm.ptr
  llvm.store %after, %third : i64, !llvm.ptr
  llvm.return
}}
"""


@dataclass(frozen=True)
class RecordKernels(Pass):
    """Read a counter before the first call of a kernel and after each call, in the llvm dialect.

    Before:
        llvm.call @net.kernel.a(..) {xtc.node = "a"}
        llvm.call @net.kernel.b(..) {xtc.node = "b"}
    After:
        llvm.call @xtc.stamp(0)
        llvm.call @net.kernel.a(..) {xtc.node = "a"}; llvm.call @xtc.stamp(1)
        llvm.call @net.kernel.b(..) {xtc.node = "b"}; llvm.call @xtc.stamp(2)

    `counter` is the processor's counter with a constant rate, "tsc" or "cntvct"; without one the
    program reads the monotonic clock, which takes longer. The variable `xtc.stamps` has the counts
    of the last call; concurrent calls of a program mix their counts. The variable `xtc.window` has
    the number of the first recorded count, and the number of recorded counts. The function
    `xtc.clocks` writes a count, the monotonic clock, and a count again. The module's attribute
    `xtc.profile` has node, kernel, all nodes and executed operations of each call.
    """

    name: ClassVar[str] = "record-kernels"
    counter: str = ""

    def __post_init__(self) -> None:
        if self.counter not in _READINGS:
            raise UserError(
                f"option 'counter' of pass '{self.name}' is {shown(self.counter)}",
                hints=["tsc, cntvct, or nothing for the clock"],
            )

    def run(self, module: Operation) -> None:
        calls = [
            op for op in all_operations(module) if op.name == "llvm.call" if NODE in op.attributes
        ]
        if not calls:
            return
        with module.context:
            for number, op in enumerate(calls):
                with op.location:
                    if number == 0:
                        call(_STAMP, [constant(0, InsertionPoint(op))], ip=InsertionPoint(op))
                    after = InsertionPoint.after(op)
                    call(_STAMP, [constant(number + 1, after)], ip=after)
            module.attributes[PROFILE] = ArrayAttr.get([_named(op) for op in calls])
        functions = [op.operation for op in module.regions[0].blocks[0].operations]
        known = [symbol_of(op) for op in functions if op.name == "llvm.func"]
        define(module, self._definitions(len(calls) + 1), skip=known)

    def _definitions(self, count: int) -> str:
        """The functions and variables that stamps need, for `count` stamps."""
        names = {"stamp": _STAMP, "stamps": STAMPS, "window": WINDOW, "clocks": CLOCKS}
        numbers = {"count": count, "clock": _CLOCK_MONOTONIC}
        return _TEXT.format(read=_READ, reading=_READINGS[self.counter], **names, **numbers)


def _named(op: Operation) -> ArrayAttr:
    callee = FlatSymbolRefAttr(op.attributes["callee"]).value
    count = op.attributes.get(OPERATIONS, None)
    number = IntegerAttr.get(IntegerType.get_signless(64), _UNKNOWN) if count is None else count
    node = StringAttr(op.attributes[NODE])
    nodes = op.attributes.get(NODES, None) or ArrayAttr.get([node])
    return ArrayAttr.get([node, StringAttr.get(callee), nodes, number])


def recorded_kernels(lowered: Operation) -> Sequence[RecordedKernel]:
    """The calls that a program records, in order."""
    if PROFILE not in lowered.attributes:
        return ()
    found = []
    for parts in ArrayAttr(lowered.attributes[PROFILE]):
        node, kernel = (StringAttr(text).value for text in (parts[0], parts[1]))
        nodes = tuple(StringAttr(name).value for name in ArrayAttr(parts[2]))
        count = IntegerAttr(parts[3]).value
        found.append(RecordedKernel(node, kernel, nodes, None if count == _UNKNOWN else count))
    return found
