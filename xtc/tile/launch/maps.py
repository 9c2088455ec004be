# SPDX-License-Identifier: Apache-2.0
"""The tensor maps that a launch passes to a kernel's bulk copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import UserError
from xtc.interfaces.tile_support import TensorMap
from xtc.ir.attributes import TF32
from xtc.ir.builders.tile import dims_of, location_text, number_of
from xtc.ir.mlir import DenseI32ArrayAttr, MemRefType, Operation, ShapedType, all_operations
from xtc.tile.interpreter.values import numpy_type

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel
    from xtc.tile.launch.host_numbers import Scalars

BULK_COPIES = ("tile.tma_load", "tile.tma_multicast", "tile.tma_store")
_UNKNOWN = ShapedType.get_dynamic_size()


def tensor_maps(
    kernel: Kernel, values: Mapping[str, Any], arguments: Sequence[Any]
) -> list[np.ndarray[Any, Any]]:
    """The bytes of each tensor map, in the order of the arguments.

    `arguments` are the preceding arguments, including device arrays.
    """
    return [
        map_bytes(kernel, replace(each, address=arguments[number].address + each.address))
        for number, each in described_maps(kernel, values)
    ]


def map_bytes(kernel: Kernel, described: TensorMap) -> np.ndarray[Any, Any]:
    """The bytes of a tensor map. Raises UserError with the user's line if it cannot be built."""
    return np.frombuffer(_asked(kernel.support.tensor_map, described), np.uint8)


def require_maps(kernel: Kernel, values: Mapping[str, Any]) -> None:
    """Raise UserError with the user's line if a map cannot be built. Needs no device."""
    for _, described in described_maps(kernel, values):
        _asked(kernel.support.require_map, described)


def _asked(function: Callable[[TensorMap], Any] | None, described: TensorMap) -> Any:
    assert function is not None  # noqa: S101
    try:
        return function(described)
    except UserError as error:
        where = described.where or None
        raise UserError(error.what, where=where, notes=error.notes, hints=error.hints) from None


def described_maps(kernel: Kernel, values: Mapping[str, Any]) -> list[tuple[int, TensorMap]]:
    """For each tensor map the index of the argument that it describes, and the map with an address
    relative to that argument."""
    if kernel.support.tensor_map is None:
        return []
    function = kernel.mapped.body.operations[0].operation
    ops = [op for op in all_operations(function) if op.name == "tile.tensor_map"]
    scalars = kernel.scalars(values, function)
    return [
        (_argument(op.operands[1].owner.operation.operands[0]), _described(op, scalars))
        for op in sorted(ops, key=lambda op: op.operands[0].arg_number)
    ]


def _described(op: Operation, scalars: Scalars) -> TensorMap:
    view = op.operands[1].owner.operation
    type = MemRefType(view.results[0].type)
    element = type.element_type
    nbytes = numpy_type(element).itemsize
    segments = list(DenseI32ArrayAttr(view.attributes["operandSegmentSizes"]))
    dynamic = [_known(scalars, value, op) for value in list(view.operands)[segments[0] :]]
    strides, offset = type.get_strides_and_offset()
    offset = dynamic[0] if segments[1] else offset
    sizes = iter(dynamic[segments[1] : segments[1] + segments[2]])
    steps = iter(dynamic[segments[1] + segments[2] :])
    return TensorMap(
        address=offset * nbytes,
        element="tf32" if TF32 in op.attributes else str(element),
        element_bytes=nbytes,
        sizes=tuple(next(sizes) if size == _UNKNOWN else size for size in type.shape),
        strides=tuple((next(steps) if n == _UNKNOWN else n) * nbytes for n in strides),
        box=tuple(dims_of(op, "box")),
        swizzle=number_of(op, "swizzle"),
        where=location_text(view.location),
    )


def _known(scalars: Scalars, value: Any, op: Operation) -> int:
    found = scalars.number(value)
    if found is None:
        raise UserError(
            "the tensor of a bulk copy depends on more than the arguments",
            where=location_text(op.operands[1].owner.location),
            hints=["view the whole tensor, and pass the varying part as offsets"],
        )
    return int(found)


def _argument(value: Any) -> int:
    while not hasattr(value, "arg_number"):
        value = value.owner.operands[0]
    return int(value.arg_number)
