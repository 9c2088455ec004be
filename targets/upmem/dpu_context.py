# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a DPU's memories on the host: `dpu_checkpoint.h` through ctypes."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import POINTER, byref, c_uint8, c_uint32

from xtc_targets.upmem import dpu_library as lib
from xtc_targets.upmem.dpu_library import Context, Set

_INTERNAL, _IRAM, _MRAM, _WRAM = 1, 2, 8, 16


def flags(iram: bool, mram: bool, wram: bool) -> int:
    """The library's flags for the parts of a DPU."""
    return _INTERNAL | iram * _IRAM | mram * _MRAM | wram * _WRAM


class DpuContext:
    """The program and the memories of one DPU, as `DpuSet.checkpoint` returns them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._free = weakref.finalize(self, lib.call, "dpu_checkpoint_free", byref(context))

    @classmethod
    def of(cls, dpu: Set, parts: int) -> DpuContext:
        """Save an idle DPU. Raises DpuError for several DPUs, and without a program."""
        context = Context()
        lib.call("dpu_checkpoint_save", dpu, parts, byref(context))
        return cls(context)

    def restore(self, dpu: Set, parts: int) -> None:
        """Restore saved parts to a DPU. Raises DpuError for several DPUs."""
        lib.call("dpu_checkpoint_restore", dpu, parts, byref(self._context))

    def serialize(self) -> bytes:
        """As bytes, for another process."""
        data, nbytes = POINTER(c_uint8)(), c_uint32()
        lib.call("dpu_checkpoint_serialize", byref(self._context), byref(data), byref(nbytes))
        try:
            return ctypes.string_at(data, nbytes.value)
        finally:
            lib.free(ctypes.cast(data, ctypes.c_void_p))

    @classmethod
    def deserialize(cls, data: bytes) -> DpuContext:
        """The inverse of `serialize`. Raises DpuError for invalid bytes."""
        context = Context()
        lib.call("dpu_checkpoint_deserialize", data, len(data), byref(context))
        return cls(context)
