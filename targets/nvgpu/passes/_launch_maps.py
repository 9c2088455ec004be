# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that a launch encodes from the addresses of a kernel's arguments."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.ir.analysis.views import root
from xtc.ir.mlir import ArrayAttr, DenseI64ArrayAttr, MemRefType, Operation, Type, Value
from xtc_targets.nvgpu.passes._kernels import add_argument
from xtc_targets.nvgpu.passes._tiles.shared_memory import bytes_of
from xtc_targets.nvgpu.tensor_maps import ALIGNMENT, BYTES, MAP_TYPES

LAUNCH_MAPS = "nvgpu.maps"
"""Attribute of a kernel: arrays of `MAP_WORDS` integers, the source of a map each. The maps are
the last arguments, pointers, which the caller of a launch does not pass."""

_RANKS = 5
MAP_ATTRIBUTES = (
    f"{{llvm.align = {ALIGNMENT} : i64, llvm.byval = !llvm.array<{BYTES} x i8>, "
    "nvvm.grid_constant}"
)
"""Attributes of a map argument on a GPU: a launch passes its bytes."""

MAP_WORDS = 20
"""Index of the argument, number of the element type, bytes of an element, rank, swizzle and offset
in bytes; five sizes, four strides in bytes, and five extents of a box, the dense dimension first.
`cuda_map_source` of `csrc/cuda_sim.h`."""


def add_launch_map(
    kernel: Operation, tensor: Value, box: Sequence[int], swizzle: int, tf32: bool
) -> int:
    """Add a map of a view of an argument, with static sizes; returns the map's argument index."""
    buffer = root(tensor)
    type = MemRefType(tensor.type)
    nbytes, rank = bytes_of(type.element_type), len(type.shape)
    strides, offset = type.get_strides_and_offset()
    element = "tf32" if tf32 else str(type.element_type)
    words = [
        *(buffer.arg_number, MAP_TYPES[element], nbytes, rank, swizzle),
        offset * nbytes,
        *_padded(type.shape, _RANKS),
        *_padded([stride * nbytes for stride in strides[:-1]], _RANKS - 1),
        *_padded(box, _RANKS),
    ]
    assert len(words) == MAP_WORDS  # noqa: S101
    known = list(launch_maps(kernel))
    kernel.attributes[LAUNCH_MAPS] = ArrayAttr.get(
        [DenseI64ArrayAttr.get(each) for each in (*known, words)]
    )
    return int(add_argument(kernel, Type.parse("!llvm.ptr")).arg_number)


def launch_maps(kernel: Operation) -> list[list[int]]:
    """The sources of a kernel's maps."""
    if LAUNCH_MAPS not in kernel.attributes:
        return []
    return [list(DenseI64ArrayAttr(each)) for each in ArrayAttr(kernel.attributes[LAUNCH_MAPS])]


def _padded(numbers: Sequence[int], count: int) -> list[int]:
    """The numbers in reverse order, padded with zeros."""
    found = list(reversed(list(numbers)))
    return [*found, *[0] * (count - len(found))]
