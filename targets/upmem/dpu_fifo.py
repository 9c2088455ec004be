# SPDX-License-Identifier: Apache-2.0
"""FIFOs in WRAM in Python: `with dpus.fifo("input") as q: q.push(x)`."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref
from typing import TYPE_CHECKING, Any

from xtc.core.errors import UserError
from xtc_targets.upmem import dpu_library as lib

if TYPE_CHECKING:
    from xtc_targets.upmem.dpu_set import DpuSet

_INPUT_BYTES = 32  # size of the structure of an input; that of an output is larger
_FIFO = struct.Struct("<QQIIII")


class Fifo:
    """The host's end of a FIFO, of one DPU or of each in a set.

    Args:
        dpus: the DPUs, with a program that has the FIFO.
        name: name of its variable.
    """

    def __init__(self, dpus: DpuSet, name: str) -> None:
        self._set = dpus
        self._link = lib.FifoLink()
        self.is_input = int(dpus.symbol(name).size) == _INPUT_BYTES
        kind = "input" if self.is_input else "output"
        lib.call(f"dpu_link_{kind}_fifo", dpus.handle, byref(self._link), name.encode())
        structure = bytearray(_FIFO.size)
        dpus.dpus[0].copy(structure, name, parallel=True)
        _, _, _, _, log2_capacity, self.element_bytes = _FIFO.unpack(structure)
        self.capacity = 1 << log2_capacity

    def __enter__(self) -> Fifo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the host's end."""
        lib.call("dpu_fifo_link_free", byref(self._link))

    def push(self, *elements: Any) -> None:
        """Push an element into the FIFO of each DPU: one for all, or one for each.

        Raises DpuError if a FIFO stays full, and UserError for an output or for an element that is
        too long.
        """
        if not self.is_input:
            raise UserError("push needs an input FIFO; only the DPU pushes into an output FIFO")
        given = elements if len(elements) > 1 else elements * len(self._set)
        if len(given) != len(self._set):
            raise UserError(f"{len(given)} elements do not fit {len(self._set)} DPUs")
        buffers = [self._element(element) for element in given]
        for dpu, buffer in zip(self._set, buffers, strict=True):
            lib.call("dpu_fifo_prepare_xfer", dpu.handle, byref(self._link), buffer)
        lib.call("dpu_fifo_push_xfer", self._set.handle, byref(self._link), 0)

    def _element(self, element: Any) -> Any:
        data = (
            element.to_bytes(8, "little", signed=element < 0)
            if isinstance(element, int)
            else bytes(element)
        )
        if len(data) > self.element_bytes:
            raise UserError(f"{len(data)} bytes are more than an element's {self.element_bytes}")
        return ctypes.create_string_buffer(data, self.element_bytes)

    def pop_all(self) -> list[list[bytes]]:
        """Pop everything from an output; returns the elements of each DPU, oldest first."""
        if self.is_input:
            raise UserError("an input FIFO is emptied by the DPU")
        nbytes = self.capacity * self.element_bytes
        buffers = [ctypes.create_string_buffer(nbytes) for _ in self._set]
        for dpu, buffer in zip(self._set, buffers, strict=True):
            lib.call("dpu_fifo_prepare_xfer", dpu.handle, byref(self._link), buffer)
        lib.call("dpu_fifo_push_xfer", self._set.handle, byref(self._link), 0)
        return [
            [self._taken(dpu, buffer, i) for i in range(self._size(dpu))]
            for dpu, buffer in zip(self._set, buffers, strict=True)
        ]

    def _size(self, dpu: DpuSet) -> int:
        size: int = lib.library().get_fifo_size(byref(self._link), dpu.handle)
        return size

    def _taken(self, dpu: DpuSet, buffer: Any, i: int) -> bytes:
        at = lib.library().get_fifo_elem(byref(self._link), dpu.handle, buffer, i)
        return ctypes.string_at(at, self.element_bytes)
