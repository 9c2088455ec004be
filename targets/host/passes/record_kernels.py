# SPDX-License-Identifier: Apache-2.0
"""record-kernels: a program writes down when it starts and when each of its kernels ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

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
from xtc_targets.host.build import STAMPS

_STAMP = "xtc.stamp"
_CLOCK_MONOTONIC = 1  # <linux/time.h>
_UNKNOWN = -1  # operations

_TEXT = """\
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.mlir.global external protected @{stamps}() : !llvm.array<{count} x i64> {{
  %none = llvm.mlir.zero : !llvm.array<{count} x i64>
  llvm.return %none : !llvm.array<{count} x i64>
}}
llvm.func internal @{stamp}(%number: i32) attributes {{no_inline}} {{
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
  %stamps = llvm.mlir.addressof @{stamps} : !llvm.ptr
  %place = llvm.getelementptr %stamps[%number] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  llvm.store %sum, %place : i64, !llvm.ptr
  llvm.return
}}
"""


@dataclass(frozen=True)
class RecordKernels(Pass):
    """Read the clock before the first call of a kernel, and after each, in the llvm dialect.

    Before:
        llvm.call @net.kernel.a(..) {xtc.node = "a"}
        llvm.call @net.kernel.b(..) {xtc.node = "b"}
    After:
        llvm.call @xtc.stamp(0)
        llvm.call @net.kernel.a(..) {xtc.node = "a"}; llvm.call @xtc.stamp(1)
        llvm.call @net.kernel.b(..) {xtc.node = "b"}; llvm.call @xtc.stamp(2)

    The variable `xtc.stamps` has the times of the last call; a program that runs in several
    threads at once mixes them. The module's attribute `xtc.profile` has node, kernel, all nodes and
    executed operations of each.
    """

    name: ClassVar[str] = "record-kernels"

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
        numbers = {"count": len(calls) + 1, "clock": _CLOCK_MONOTONIC}
        define(module, _TEXT.format(stamp=_STAMP, stamps=STAMPS, **numbers), skip=known)


def _named(op: Operation) -> ArrayAttr:
    callee = FlatSymbolRefAttr(op.attributes["callee"]).value
    count = op.attributes.get(OPERATIONS, None)
    number = IntegerAttr.get(IntegerType.get_signless(64), _UNKNOWN) if count is None else count
    node = StringAttr(op.attributes[NODE])
    nodes = op.attributes.get(NODES, None) or ArrayAttr.get([node])
    return ArrayAttr.get([node, StringAttr.get(callee), nodes, number])


def recorded_kernels(lowered: Operation) -> Sequence[RecordedKernel]:
    """The calls that a program records, in their order."""
    if PROFILE not in lowered.attributes:
        return ()
    found = []
    for parts in ArrayAttr(lowered.attributes[PROFILE]):
        node, kernel = (StringAttr(text).value for text in (parts[0], parts[1]))
        nodes = tuple(StringAttr(name).value for name in ArrayAttr(parts[2]))
        count = IntegerAttr(parts[3]).value
        found.append(RecordedKernel(node, kernel, nodes, None if count == _UNKNOWN else count))
    return found
