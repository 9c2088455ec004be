# SPDX-License-Identifier: Apache-2.0
"""Tensor maps, which bulk copies read: the driver's, and those of the simulator."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from types import MappingProxyType

from xtc.core.errors import DeviceNotFound, LaunchError, UserError
from xtc.interfaces.tile_support import TensorMap
from xtc_targets.nvgpu.options import NvgpuOptions

BYTES, ALIGNMENT = 128, 64
_RANKS = 5
_STEP = 16  # bytes of which addresses and strides are multiples
_MOST = 1 << 32

_MAGIC = 0x786D6170
_LAYOUT = struct.Struct("<4IQ5Q4Q5I3I")
"""`cuda_tensor_map` of `csrc/cuda_sim.h`."""

MAP_TYPES: Mapping[str, int] = MappingProxyType(
    {"i8": 0, "i16": 1, "i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
)
"""Element types: `CUtensorMapDataType` of "CUDA Driver API"."""

_SWIZZLES: Mapping[int, int] = MappingProxyType({0: 0, 32: 1, 64: 2, 128: 3})
"""Bytes of a pattern: `CUtensorMapSwizzle`."""

_PROMOTION = 3  # of what is read to 256 bytes in the second-level cache


def tensor_map(map: TensorMap, options: NvgpuOptions) -> bytes:
    """The 128 bytes of a map. Raises UserError for a tensor that bulk copies cannot access."""
    _require(map)
    if options.platform == "sim":
        return _simulated(map)
    return _encoded(map, options)


def _require(map: TensorMap) -> None:
    if map.address % _STEP:
        raise UserError(
            "a bulk copy of a tensor whose first element is at no multiple of 16 bytes",
            notes=[f"its address is {map.address:#x}"],
        )
    for stride in map.strides[:-1]:
        if stride % _STEP:
            raise UserError(
                f"a bulk copy of a tensor whose rows are {stride} bytes apart",
                notes=["they are a multiple of 16 bytes apart for a bulk copy"],
                hints=["pad the rows, or copy by copy_async"],
            )
    for size in map.sizes:
        if not 1 <= size < _MOST:
            raise UserError(f"a bulk copy of a tensor with a dimension of {size}")


def _padded(numbers: list[int], count: int) -> list[int]:
    return [*numbers, *[0] * (count - len(numbers))]


def _simulated(map: TensorMap) -> bytes:
    sizes, box = (_padded(list(reversed(n)), _RANKS) for n in (map.sizes, map.box))
    strides = _padded(list(reversed(map.strides[:-1])), _RANKS - 1)
    head = _MAGIC, len(map.sizes), map.element_bytes, map.swizzle
    packed = _LAYOUT.pack(*head, map.address, *sizes, *strides, *box, 0, 0, 0)
    assert len(packed) == BYTES  # noqa: S101
    return packed


def _encoded(map: TensorMap, options: NvgpuOptions) -> bytes:
    """By the driver, which needs no device for it. Raises LaunchError where it refuses."""
    try:
        encode = ctypes.CDLL(str(options.driver_library)).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise DeviceNotFound(f"the driver has no cuTensorMapEncodeTiled: {error}") from None
    rank = len(map.sizes)
    whole = ctypes.create_string_buffer(BYTES + ALIGNMENT)
    position = -(-ctypes.addressof(whole) // ALIGNMENT) * ALIGNMENT
    status = encode(
        ctypes.c_void_p(position),
        ctypes.c_int(MAP_TYPES[map.element]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(map.address),
        (ctypes.c_uint64 * rank)(*reversed(map.sizes)),
        (ctypes.c_uint64 * max(1, rank - 1))(*reversed(map.strides[:-1])),
        (ctypes.c_uint32 * rank)(*reversed(map.box)),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[map.swizzle]),
        ctypes.c_int(_PROMOTION),
        ctypes.c_int(0),
    )
    if status:
        raise LaunchError(f"the driver makes no map of {map}: CUresult {status}")
    return ctypes.string_at(position, BYTES)
