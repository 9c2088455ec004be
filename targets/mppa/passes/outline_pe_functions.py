# SPDX-License-Identifier: Apache-2.0
"""outline-pe-functions: moves the code of PEs to functions that take the PE's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.captures import argument_attributes, captured, redirect
from xtc.ir.attributes import UNITS
from xtc.ir.builders import numbers
from xtc.ir.builders.control import loop as new_loop
from xtc.ir.builders.functions import call, function
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DictAttr,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    Operation,
    Value,
    all_operations,
    func,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import body, has_mapping, is_on_unit
from xtc_targets.mppa.passes import _device_calls as device
from xtc_targets.mppa.passes._forall import Dimension, dimensions, move_body, total


@dataclass(frozen=True)
class OutlinePeFunctions(Pass):
    """Outline the body of each loop over PEs.

    Before:
        scf.forall (%p) in (40) { body(%p, %a) } {mapping = [#gpu.thread<linear_dim_0>]}
    After:
        call @k.pe0(%c0, %a) {xtc.units = 16 : i64} : (index, memref<..>) -> ()
        func.func private @k.pe0(%pe: index, %a: memref<..>) {
          scf.for %p = %pe to 40 step 16 { body(%p, %a) } }    // at most 16 iterations: no loop

    The marked call stands for a launch on `xtc.units` PEs. Each PE receives its number as the first
    operand; the other operands are on the stack of control code, which all PEs can read.

    Attributes:
        pes: PEs of a cluster.
    """

    name: ClassVar[str] = "outline-pe-functions"
    pes: int = 16

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in device.kernels(module):
                found = [op for op in all_operations(kernel) if has_mapping(op, "thread")]
                loops = [op for op in found if not is_on_unit(op)]
                for number, loop in enumerate(loops):
                    with loop.location:
                        self._outline(loop, kernel, f"{symbol_of(kernel)}.pe{number}")

    def _outline(self, loop: Operation, kernel: Operation, name: str) -> None:
        with InsertionPoint(loop):
            dims = dimensions(loop)
            count = total(dims)
        pes = min(count, self.pes) if isinstance(count, int) else self.pes
        if not pes:
            loop.erase()
            return
        scope = _isolated(loop, dims, count, pes)
        values = captured(scope)
        with InsertionPoint(loop):
            launch = call(name, [numbers.constant(0), *values])
            launch.attributes[UNITS] = IntegerAttr.get(device.i64(), pes)
        outlined = _function(name, values, kernel)
        entry = outlined.regions[0].blocks[0]
        pe, *arguments = entry.arguments
        end = func.ReturnOp([], ip=InsertionPoint(entry)).operation
        scope.move_before(end)
        with InsertionPoint(scope):
            redirect(scope, values, arguments)
        _unwrap(scope, pe)
        loop.erase()


def _isolated(loop: Operation, dims: Sequence[Dimension], count: Offset, pes: int) -> Operation:
    """The loop's body in an `scf.for` that starts at a PE's number, to become the function."""
    with InsertionPoint(loop):
        # The index of the outer loop stands for the PE's number until that is an argument.
        with new_loop(0, 1) as scope:
            pass
        pe, end = scope.index, body(scope.op)[-1]
        if count == pes:
            move_body(loop, dims, pe, end)
            return scope.op
        with InsertionPoint(end), new_loop(pe, count, pes) as inner:
            pass
        move_body(loop, dims, inner.index, body(inner.op)[-1])
    return scope.op


def _unwrap(scope: Operation, pe: Value) -> None:
    """Replace the scope by its contents, for the PE of this number."""
    scope.regions[0].blocks[0].arguments[0].replace_all_uses_with(pe)
    *ops, _ = body(scope)
    for op in ops:
        op.move_before(scope)
    scope.erase()


def _function(name: str, values: Sequence[Value], kernel: Operation) -> Operation:
    """Add an empty function before `kernel` that takes a PE's number and the values."""
    types = [IndexType.get(), *(value.type for value in values)]
    nothing = DictAttr.get({})
    attributes = {
        "llvm.linkage": Attribute.parse("#llvm.linkage<internal>"),
        "arg_attrs": ArrayAttr.get([nothing, *argument_attributes(values)]),
    }
    result, _ = function(
        name, types, private=True, attributes=attributes, ip=InsertionPoint(kernel)
    )
    return result
