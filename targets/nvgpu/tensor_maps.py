# SPDX-License-Identifier: Apache-2.0
"""Encodes tensor maps, which bulk copies read, for a GPU and for the simulator."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from xtc.core.errors import DeviceNotFound, LaunchError, UserError
from xtc.interfaces.tile_support import TensorMap
from xtc_targets.nvgpu.options import NvgpuOptions

BYTES, ALIGNMENT = 128, 128
"""Of `CUtensorMap` in cuda.h of CUDA 13; earlier versions align it to 64 bytes."""
_RANKS = 5
_STEP = 16  # alignment of addresses and strides, in bytes
_MOST, _MOST_STRIDE = 1 << 31, 1 << 40

_MAGIC = 0x786D6170
_LAYOUT = struct.Struct("<4IQ5Q4Q5I3I")
"""`cuda_tensor_map` of `csrc/cuda_sim.h`."""

MAP_TYPES: Mapping[str, int] = MappingProxyType(
    {"i8": 0, "i16": 1, "i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9, "tf32": 11}
)
"""Element types: `CUtensorMapDataType` of "CUDA Driver API". A load of "tf32" rounds float32, as
NVIDIA's CUTLASS uses it (sm90_mma_tma_gmma_ss_warpspecialized.hpp)."""

_SWIZZLES: Mapping[int, int] = MappingProxyType({0: 0, 32: 1, 64: 2, 128: 3})
"""`CUtensorMapSwizzle` by the bytes of the swizzle pattern."""

_PROMOTION = 3  # reads fetch 256 bytes into the L2 cache


def tensor_map(map: TensorMap, options: NvgpuOptions) -> bytes:
    """Encode a map in 128 bytes. Raises UserError if bulk copies cannot access the tensor."""
    require(map)
    if options.platform == "sim":
        return _simulated(map)
    return _encoded(map, options)


def require(map: TensorMap) -> None:
    """Raise UserError if bulk copies cannot access the tensor ("CUDA Driver API",
    cuTensorMapEncodeTiled)."""
    if map.address % _STEP:
        raise UserError(
            "a bulk copy of a tensor whose address is not a multiple of 16 bytes",
            notes=[f"the first element is at {map.address:#x}"],
        )
    for stride in map.strides[:-1]:
        if stride % _STEP:
            raise UserError(
                f"a bulk copy of a tensor with a stride of {stride} bytes",
                notes=["the strides of a bulk copy are multiples of 16 bytes"],
                hints=["pad the rows, or use copy_async"],
            )
        if not 0 <= stride < _MOST_STRIDE:
            raise UserError(f"a bulk copy of a tensor with a stride of {stride} bytes")
    for size in map.sizes:
        if not 1 <= size <= _MOST:
            raise UserError(f"a bulk copy of a tensor with a dimension of {size}")


def _padded(numbers: list[int], count: int) -> list[int]:
    return [*numbers, *[0] * (count - len(numbers))]


def _simulated(map: TensorMap) -> bytes:
    sizes, box = (_padded(list(reversed(n)), _RANKS) for n in (map.sizes, map.box))
    strides = _padded(list(reversed(map.strides[:-1])), _RANKS - 1)
    head = _MAGIC, len(map.sizes), map.element_bytes, map.swizzle
    packed = _LAYOUT.pack(*head, map.address, *sizes, *strides, *box, map.element == "tf32", 0, 0)
    assert len(packed) == BYTES  # noqa: S101
    return packed


def _encoded(map: TensorMap, options: NvgpuOptions) -> bytes:
    """Encode by the driver. Raises LaunchError if the driver fails."""
    try:
        cuda = ctypes.CDLL(str(options.driver_library))
        encode = cuda.cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise DeviceNotFound(f"the driver has no cuTensorMapEncodeTiled: {error}") from None
    rank = len(map.sizes)
    whole = ctypes.create_string_buffer(BYTES + ALIGNMENT)
    position = -(-ctypes.addressof(whole) // ALIGNMENT) * ALIGNMENT
    with _context(cuda, options.device_index):
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
        raise LaunchError(f"the driver cannot encode {map}: CUresult {status}")
    return ctypes.string_at(position, BYTES)


@contextmanager
def _context(cuda: ctypes.CDLL, gpu: int) -> Iterator[None]:
    """Make a GPU's primary context current to this thread: the driver encodes for its GPU.

    Raises LaunchError if the driver fails.
    """
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _require_success(cuda.cuInit(0), "cuInit")
    _require_success(cuda.cuDeviceGet(ctypes.byref(device), gpu), "cuDeviceGet")
    retained = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    _require_success(retained, "cuDevicePrimaryCtxRetain")
    try:
        _require_success(cuda.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
        try:
            yield
        finally:
            cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    finally:
        cuda.cuDevicePrimaryCtxRelease_v2(device)


def _require_success(status: int, call: str) -> None:
    if status:
        raise LaunchError(f"a tensor map cannot be encoded: {call} returned CUresult {status}")
