# SPDX-License-Identifier: Apache-2.0
"""Launches of a compiled kernel: its arguments on the device, and the stream in which it runs.

Arrays of other libraries in the device's memory are used where they are. A kernel that takes one
runs in the stream in which its library works, and is not waited for, unless something has to be
copied back or freed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import DeviceFault, DeviceTimeout, UserError
from xtc.runtime.device_array import DeviceArray
from xtc.tile.config import streams_of
from xtc.tile.faults import explained
from xtc.tile.types import DataType, PointerType

if TYPE_CHECKING:
    from xtc.tile.compiled import Kernel

WORDS: dict[str, Any] = {
    "int32": np.int32,
    "uint32": np.uint32,
    "float32": np.float32,
    "float64": np.float64,
    "int64": int,
    "uint64": int,
}
"""Numbers of the types of arguments, as the runtime takes them."""


def launch(kernel: Kernel, device: Any, values: Mapping[str, Any]) -> None:
    """Run a kernel; wait for it unless another library's arrays order what comes after it.

    NumPy arrays are copied to the device and back. Raises UserError and DeviceError.
    """
    grid = kernel.grid(values)
    if any(size < 0 for size in grid):
        raise UserError(f"the grid of {kernel.name} is {grid}")
    if 0 in grid:
        return
    function = kernel.function_on(device)
    launched = _Launch(kernel, device, kernel.words(values))
    try:
        launched.take_arguments()
        launched.make_buffers(values)
        try:
            maps = kernel.maps_on(device, values, launched.arguments)
        except UserError:
            if not kernel.is_divided:
                raise
            kernel.undivided.launch(device, values)  # memory of which there is no map
            return
        launched.run(function, [*launched.arguments, *maps], grid)
        launched.copy_back()
    except (DeviceFault, DeviceTimeout) as error:
        raise explained(kernel, error) from None
    finally:
        launched.free()


class _Launch:
    """What a launch has on a device while it goes on."""

    def __init__(self, kernel: Kernel, device: Any, words: list[Any]) -> None:
        self._kernel, self._device, self._words = kernel, device, words
        self._streams = streams_of(device, words)
        self._made: list[DeviceArray] = []
        self._copies: list[tuple[DeviceArray, Any]] = []
        self.arguments: list[Any] = []

    def take_arguments(self) -> None:
        """Bring NumPy arrays to the device, and find those of other libraries there."""
        for word, kind, written in zip(
            self._words, self._kernel.kinds(), self._kernel.written, strict=True
        ):
            self.arguments.append(self._argument(word, kind, written))

    def make_buffers(self, values: Mapping[str, Any]) -> None:
        """Allocate what the kernel added to its arguments, filled with 0."""
        for made in self._kernel.made(values):
            array = self._device.array(made)
            self._made.append(array)
            self.arguments.append(array)

    def run(self, function: Any, arguments: list[Any], grid: list[int]) -> None:
        """Launch; in the stream of other libraries where the kernel uses their arrays."""
        if not self._streams:
            self._device.launch(function, arguments, grid=grid)
            return
        streams, (stream, *others) = self._device.streams, self._streams
        for other in others:
            streams.after(stream, other)
        streams.launch(stream, function, arguments, grid)
        for other in others:
            streams.after(other, stream)
        if self._made:
            streams.wait(stream)

    def copy_back(self) -> None:
        """Give NumPy arrays what the kernel wrote."""
        for array, original in self._copies:
            original[...] = array.numpy()

    def free(self) -> None:
        """Free what was allocated for this launch."""
        for array in self._made:
            array.free()

    def _argument(self, word: Any, kind: Any, written: bool) -> Any:
        if isinstance(kind, DataType):
            return WORDS[kind.argument.name](word)
        if isinstance(word, np.ndarray):
            return self._copied(word, written)
        stream = self._streams[0] if self._streams else None
        found = None if isinstance(word, DeviceArray) else self._device.borrowed(word, stream)
        if found is None:
            return word
        self._check(found, kind, written)
        return found

    def _copied(self, word: np.ndarray[Any, Any], written: bool) -> DeviceArray:
        # Floats of 8 bits are codes to a device, whatever the pointer points to.
        is_coded = word.itemsize == 1 and word.dtype.kind not in "biu"
        plain = word.view(np.uint8) if is_coded else word
        array: DeviceArray = self._device.array(plain)
        self._made.append(array)
        if written:
            if not word.flags.writeable:
                raise UserError(
                    f"{self._kernel.name} writes an array that is read-only",
                    hints=["pass a copy: array.copy()"],
                )
            self._copies.append((array, plain))
        return array

    def _check(self, found: DeviceArray, kind: PointerType, written: bool) -> None:
        element = kind.element
        if written and found.read_only:
            raise UserError(
                f"{self._kernel.name} writes an array that is read-only",
                hints=["pass a copy: array.copy()"],
            )
        if element is None or element.is_coded or element.is_packed:
            return
        if found.dtype != element.numpy:
            raise UserError(
                f"an array of {self._kernel.name} has elements of {found.dtype}, and the kernel "
                f"takes {element}"
            )
