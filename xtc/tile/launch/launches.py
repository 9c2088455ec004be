# SPDX-License-Identifier: Apache-2.0
"""Launches of a compiled kernel: its arguments on the device, and the stream in which it runs.

Arrays of other libraries in the device's memory are used in place. A kernel that takes one
runs asynchronously in the stream of its library, unless data has to be
copied back or freed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.core.errors import DeviceFault, DeviceTimeout, UserError
from xtc.runtime.device_array import DeviceArray
from xtc.tile.config import streams_of
from xtc.tile.launch.faults import explained
from xtc.tile.launch.replays import Replay
from xtc.tile.launch.residency import needs_residency
from xtc.tile.types import DataType, PointerType

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel

WORDS: dict[str, Any] = {
    "int32": np.int32,
    "uint32": np.uint32,
    "float32": np.float32,
    "float64": np.float64,
    "int64": int,
    "uint64": int,
}
"""Type codes of arguments for the runtime."""


def launch(kernel: Kernel, device: Any, values: Mapping[str, Any]) -> Replay | None:
    """Run a kernel, and wait for it unless another library's stream orders later work.

    NumPy arrays are copied to the device and back. Returns the launch if it can be repeated without
    them. Raises UserError and DeviceError.
    """
    grid = kernel.grid(values)
    if any(size < 0 for size in grid):
        raise UserError(
            f"the grid of {kernel.name} is {grid}",
            hints=["self.attrs.blocks computes it from the arguments"],
        )
    if 0 in grid:
        return None
    if needs_residency(kernel, grid):
        return kernel.with_residency.launch(device, values)
    function = kernel.function_on(device)
    launched = _Launch(kernel, device, kernel.words(values))
    try:
        launched.take_arguments()
        if not kernel.may_overlap and overlap(launched.arguments, kernel.written):
            return kernel.overlapping.launch(device, values)
        launched.make_buffers(values)
        try:
            maps = kernel.maps_on(device, values, launched.arguments)
        except UserError:
            if not kernel.is_divided:
                raise
            kernel.undivided.launch(device, values)  # memory without a tensor map
            return None
        launched.run(function, [*launched.arguments, *maps], grid)
        launched.copy_back()
        return launched.replay(maps)
    except (DeviceFault, DeviceTimeout) as error:
        raise explained(kernel, error) from None
    finally:
        launched.free()


def overlap(arguments: Sequence[Any], written: Sequence[bool]) -> bool:
    """Whether arrays of different arguments overlap on the device, one of which is written."""
    spans = [
        (array.address, array.address + array.nbytes, changes)
        for array, changes in zip(arguments, written, strict=True)
        if isinstance(array, DeviceArray)
    ]
    return any(
        first[0] < second[1] and second[0] < first[1] and (first[2] or second[2])
        for first, second in itertools.combinations(spans, 2)
    )


class _Launch:
    """The device resources of a launch while it runs."""

    def __init__(self, kernel: Kernel, device: Any, words: list[Any]) -> None:
        self._kernel, self._device, self._words = kernel, device, words
        self._streams = streams_of(device, words)
        self._made: list[DeviceArray] = []
        self._copies: list[tuple[DeviceArray, Any]] = []
        self._copied_from: list[tuple[Any, DeviceArray, bool]] = []
        self.arguments: list[Any] = []

    def take_arguments(self) -> None:
        """Copy NumPy arrays to the device, and look up the arrays of other libraries."""
        for word, kind, written in zip(
            self._words, self._kernel.kinds(), self._kernel.written, strict=True
        ):
            self.arguments.append(self._argument(word, kind, written))

    def make_buffers(self, values: Mapping[str, Any]) -> None:
        """Allocate zero-filled buffers for the arguments that the kernel added."""
        for made in self._kernel.made(values):
            array = self._device.array(made)
            self._made.append(array)
            self.arguments.append(array)

    def run(self, function: Any, arguments: list[Any], grid: list[int]) -> None:
        """Launch, in the stream of other libraries if the kernel uses their arrays."""
        address, launch = self._device.call_of(function, arguments, grid)
        self._run = Replay.of(self._kernel, self._device, address, launch)
        self._run.in_streams(self._streams)
        if self._made and self._streams:
            self._device.streams.wait(self._streams[0])

    def replay(self, maps: Sequence[Any]) -> Replay | None:
        """The launch, if it neither allocated nor copied anything."""
        return None if self._made else replace(self._run, kept=maps)

    def copy_back(self) -> None:
        """Copy written arrays back to NumPy arrays."""
        for array, original in self._copies:
            original[...] = array.numpy()

    def free(self) -> None:
        """Free the memory that was allocated for this launch."""
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
        # Devices treat 8-bit floats as codes, whatever the pointer's type.
        is_coded = word.itemsize == 1 and word.dtype.kind not in "biu"
        plain = word.view(np.uint8) if is_coded else word
        array = self._known_copy(plain, written)
        if array is None:
            array = self._device.array(plain)
            self._made.append(array)
        self._copied_from.append((plain, array, written))
        if written:
            if not word.flags.writeable:
                raise UserError(
                    f"{self._kernel.name} writes an array that is read-only",
                    hints=["pass a copy: array.copy()"],
                )
            self._copies.append((array, plain))
        return array

    def _known_copy(self, word: np.ndarray[Any, Any], written: bool) -> DeviceArray | None:
        """The copy of an array that is another argument, too; None if there is none."""
        for other, array, changes in self._copied_from:
            if not np.shares_memory(word, other):
                continue
            if _place(word) == _place(other):
                return array
            if written or changes:
                raise UserError(
                    f"two arrays of {self._kernel.name} overlap, and it writes one of them",
                    hints=["pass parts of an array on the device: device.array(...)"],
                )
        return None

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
                f"takes {element}",
                hints=["convert the array, or annotate the pointer with its type"],
            )


def _place(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """What two arrays of the same elements have in common."""
    return array.ctypes.data, array.shape, array.strides, array.dtype
