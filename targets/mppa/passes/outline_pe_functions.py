# SPDX-License-Identifier: Apache-2.0
"""outline-pe-functions: what PEs run becomes functions of the PE's number and of what they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.captures import argument_attributes, captured, redirect
from xtc.ir.attributes import UNITS
from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DictAttr,
    FunctionType,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    Operation,
    StringAttr,
    TypeAttr,
    Value,
    all_operations,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local import _control as control
from xtc_passes.local._functions import body, call, has_mapping, is_on_unit
from xtc_targets.mppa.passes import _device_calls as device
from xtc_targets.mppa.passes._forall import Dimension, dimensions, move_body, total


@dataclass(frozen=True)
class OutlinePeFunctions(Pass):
    """Give the body of each forall over PEs a function of its own.

    Before:
        scf.forall (%p) in (40) { body(%p, %a) } {mapping = [#gpu.thread<linear_dim_0>]}
    After:
        call @k.pe0(%c0, %a) {xtc.units = 16 : i64} : (index, memref<..>) -> ()
        func.func private @k.pe0(%pe: index, %a: memref<..>) {
          scf.for %p = %pe to 40 step 16 { body(%p, %a) } }    // no loop where PEs are enough

    The marked call stands for a launch on so many PEs, each of which gets its number in place of
    the first operand, and the other operands by way of the stack of control code, which all PEs
    can read.

    Attributes:
        pes: how many a cluster has.
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
            launch = call(name, [control.constant(0), *values])
            launch.attributes[UNITS] = IntegerAttr.get(device.i64(), pes)
        function = _function(name, values, kernel)
        entry = function.regions[0].blocks[0]
        pe, *arguments = entry.arguments
        with InsertionPoint(entry):
            end = Operation.create("func.return")
        scope.move_before(end)
        with InsertionPoint(scope):
            redirect(scope, values, arguments)
        _unwrap(scope, pe)
        loop.erase()


def _isolated(loop: Operation, dims: Sequence[Dimension], count: Offset, pes: int) -> Operation:
    """The loop's body in an `scf.for` from a PE's number on, which stands for the function."""
    with InsertionPoint(loop):
        scope = control.for_loop(0, 1, 1)  # its index stands for the PE's number until it is known
        pe = scope.regions[0].blocks[0].arguments[0]
        end = body(scope)[-1]
        if count == pes:
            move_body(loop, dims, pe, end)
            return scope
        with InsertionPoint(end):
            inner = control.for_loop(pe, count, pes)
        move_body(loop, dims, inner.regions[0].blocks[0].arguments[0], body(inner)[-1])
    return scope


def _unwrap(scope: Operation, pe: Value) -> None:
    """Put what is in the scope in its place, for the PE of that number."""
    scope.regions[0].blocks[0].arguments[0].replace_all_uses_with(pe)
    *ops, _ = body(scope)
    for op in ops:
        op.move_before(scope)
    scope.erase()


def _function(name: str, values: Sequence[Value], kernel: Operation) -> Operation:
    """An empty function before `kernel` that takes a PE's number and the values."""
    types = [IndexType.get(), *(value.type for value in values)]
    nothing = DictAttr.get({})
    with InsertionPoint(kernel):
        function = Operation.create(
            "func.func",
            regions=1,
            attributes={
                "sym_name": StringAttr.get(name),
                "sym_visibility": StringAttr.get("private"),
                "llvm.linkage": Attribute.parse("#llvm.linkage<internal>"),
                "function_type": TypeAttr.get(FunctionType.get(types, [])),
                "arg_attrs": ArrayAttr.get([nothing, *argument_attributes(values)]),
            },
        )
    function.regions[0].blocks.append(*types)
    return function
