# SPDX-License-Identifier: Apache-2.0
"""separate-empties: gives each operation a separate empty tensor to write to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import shape_of
from xtc.ir.builders.slices import empty
from xtc.ir.mlir import InsertionPoint, Operation, Value, outer_operations
from xtc.ir.passes import Pass

_EMPTY = "tensor.empty"
_VIEWS = ("tensor.extract_slice", "tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class SeparateEmpties(Pass):
    """Let no two operations write to the same empty tensor, or to the same slice or shape of it.

    Before:
        %e = tensor.empty() : tensor<1x10xf32>
        %s = tensor.extract_slice %e[0, 0] [1, 1] [1, 1]
        %f = linalg.fill outs(%s); %a = tensor.insert_slice %f into %e[0, 0] [1, 1] [1, 1]
        %g = linalg.fill outs(%s); %b = tensor.insert_slice %g into %e[0, 0] [1, 1] [1, 1]
    After:
        %e0 = tensor.empty(); %f0 = tensor.empty(); %f = linalg.fill outs(%f0) ...
        %e1 = tensor.empty(); %g0 = tensor.empty(); %g = linalg.fill outs(%g0) ...

    `cse` merges equal empty tensors, and bufferization would give them one buffer, with copies if
    two values in it are live. Separate tensors avoid that, and show where each slice is inserted:
    `eliminate-empty-tensors` runs next and computes the slice in place. A reshaped empty tensor
    becomes an empty tensor of the new shape.
    """

    name: ClassVar[str] = "separate-empties"

    def run(self, module: Operation) -> None:
        # Collected first: the name of an erased view cannot be read.
        for op in [op for op in outer_operations(module) if op.name == _EMPTY]:
            with module.context, op.location:
                _separate(op)


def _separate(op: Operation) -> None:
    """Create an empty tensor for each use of `op`, and of its slices and reshapes."""
    for view in _views(op):
        _separate(view)
    value = op.results[0]
    for user, number in [(use.owner.operation, use.operand_number) for use in value.uses]:
        user.operands[number] = _empty(op, InsertionPoint(op))
    op.erase()


def _views(op: Operation) -> list[Operation]:
    """Slices and reshapes of an empty tensor in its block, of static sizes: they are empty too."""
    users = [use.owner.operation for use in op.results[0].uses]
    return [
        user
        for user in users
        if user.name in _VIEWS
        and user.parent == op.parent
        and user.results[0].type.has_static_shape
    ]


def _empty(op: Operation, ip: InsertionPoint) -> Value:
    if op.name == _EMPTY:
        return op.clone(ip=ip).results[0]
    return empty(shape_of(op.results[0]), op.results[0], ip)
