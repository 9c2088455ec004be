# SPDX-License-Identifier: Apache-2.0
"""What every accelerator that is reached through a driver table has in common.

A target's device derives from `DriverDevice` and says how to open its driver.
"""

from __future__ import annotations

import operator
import threading
import weakref
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from ctypes import byref, c_uint32
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from xtc.core.errors import DeviceLost, DeviceMemoryError, LaunchError, UserError
from xtc.core.numbering import Numbering
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime.device_array import DeviceArray, from_values
from xtc.runtime.driver import OpenDevice
from xtc.runtime.launch import KernelArgument, launch_of
from xtc.runtime.memory import address_of, flat, writable
from xtc.runtime.queue import DriverQueue
from xtc.runtime.streams import DriverStreams
from xtc.runtime.table import NOW, ArgumentType, Launch

_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class DeviceImage:
    """Device code that was loaded."""

    open_device: OpenDevice
    number: int


@dataclass(frozen=True)
class DeviceFunction:
    """A device function of an image."""

    image: DeviceImage
    name: str
    address: int


@dataclass(frozen=True)
class DeviceData:
    """Data of an image that has a name: where it is and how many bytes it has."""

    image: DeviceImage
    name: str
    address: int
    nbytes: int


class DriverDevice(AcceleratorDevice):
    """A device that is opened at its first use and numbered among those of its target.

    After `close`, or once the device is gone, everything raises DeviceLost until `init_device`
    opens it anew, with empty memory. Safe to use from several threads.
    """

    array_type: ClassVar[type[DeviceArray]] = DeviceArray
    """What `array`, `empty` and `zeros` make."""
    moves_shards: ClassVar[bool] = False
    """Whether kernels find buffers as they want them over the memories, however these are given."""

    def __init__(self, target_name: str, numbers: Numbering) -> None:
        self._target_name = target_name
        self._numbers = numbers
        self._lock = threading.RLock()
        self._open_device: OpenDevice | None = None
        self._take_number()

    @abstractmethod
    def _connect(self, name: str) -> OpenDevice:
        """Open the driver and the device. Raises DeviceNotFound."""

    @abstractmethod
    def check_code(self, toolchain: Mapping[str, str]) -> None:
        """Raise ArtifactError if code that was made with this toolchain cannot run here."""

    @property
    def target_name(self) -> str:
        return self._target_name

    @property
    def device_name(self) -> str:
        return f"{self._target_name}{self._number}"

    @property
    def device_id(self) -> int:
        return self._number

    def init_device(self) -> None:
        with self._lock:
            if self._open_device is not None and not self._open_device.is_gone():
                return
            self._disconnect()
            if not self._give_number_back.alive:
                self._take_number()
            self._open_device = self._connect(self.device_name)
            self._queues: weakref.WeakSet[DriverQueue] = weakref.WeakSet()
            self._images: set[DeviceImage] = set()
            self._end = weakref.finalize(self, self._open_device.close)

    def deinit_device(self) -> None:
        with self._lock:
            self._disconnect()
            self._give_number_back()

    def close(self) -> None:
        self.deinit_device()

    def is_lost(self) -> bool:
        """Whether the device has stopped: after a fault, at a time limit, by an interrupt."""
        return self._open_device is not None and self._open_device.lost

    def opened(self) -> OpenDevice:
        """The open device; opens it where that never happened. Raises DeviceLost once closed."""
        if self._open_device is not None:
            return self._open_device
        with self._lock:
            if not self._give_number_back.alive:
                raise DeviceLost(f"{self.device_name} is closed")
            self.init_device()
        return self.opened()

    def is_open_as(self, open_device: OpenDevice) -> bool:
        """Whether what belongs to `open_device` is still there."""
        return self._open_device is open_device

    def load_module(self, image: bytes) -> DeviceImage:
        opened = self.opened()
        loaded = DeviceImage(opened, opened.number("load", bytes(image), len(image)))
        self._images.add(loaded)
        return loaded

    def get_module_function(self, module: Any, name: str) -> DeviceFunction:
        image = self._loaded(module)
        return DeviceFunction(
            image, name, self.opened().number("symbol", image.number, name.encode())
        )

    def get_module_data(self, module: Any, name: str) -> DeviceData:
        """Data of a loaded module, for copies. Raises LaunchError if there is none."""
        image = self._loaded(module)
        address, nbytes = self.opened().two_numbers("data", image.number, name.encode())
        return DeviceData(image, name, address, nbytes)

    def unload_module(self, module: Any) -> None:
        if module in self._images:
            self._images.remove(module)
            self.opened().call("unload", module.number)

    def memory_allocate(self, nbytes: int) -> int:
        return self.opened().number("alloc", NOW, _size(nbytes))

    def memory_free(self, address: int) -> None:
        self.opened().call("free", _word(address))

    def memory_copy_to(self, destination: int, source: memoryview) -> None:
        view = flat(source)
        arguments = (_word(destination), address_of(view), view.nbytes, 0, None)
        self.opened().command("copy_to", NOW, *arguments)

    def memory_copy_from(self, destination: memoryview, source: int) -> None:
        view = writable(destination)
        arguments = (address_of(view), _word(source), view.nbytes, 0, None)
        self.opened().command("copy_from", NOW, *arguments)

    def memory_fill_zero(self, address: int, nbytes: int) -> None:
        self.opened().command("fill", NOW, _word(address), 0, _size(nbytes), None)

    def memory_data_pointer(self, address: int) -> int:
        self.opened().two_numbers("span", _word(address))
        return address

    def memory_info(self) -> tuple[int, int]:
        """Bytes allocated and bytes in all, by the device's own count."""
        return self.opened().two_numbers("memory")

    def queue(self) -> DriverQueue:
        queue = DriverQueue(self, self.opened())
        self._queues.add(queue)
        return queue

    @property
    def streams(self) -> DriverStreams | None:
        return DriverStreams(self) if self.opened().driver.streams else None

    def counters(self) -> Mapping[str, float]:
        return {name: float(count) for name, count in self.opened().counters().items()}

    def launch(
        self,
        function: Any,
        arguments: Sequence[Any] = (),
        grid: Sequence[int] = (),
        cluster: Sequence[int] = (),
    ) -> None:
        """Run a device function after all commands given so far, and wait for it.

        Args:
            function: what `get_module_function` returned.
            arguments: device arrays, integers and floats. Python's own numbers, addresses among
                them, have 64 bits; `np.int32` and `np.float32` have 32.
            grid: blocks in x, y and z, the last sizes 1 where they are missing; none is the grid
                that the image gives the function.
            cluster: blocks of a cluster, likewise, on a device that has clusters.
        """
        address, launch = self.call_of(function, arguments, grid, cluster)
        self.opened().command("launch", NOW, address, launch, None)

    @property
    def memory_count(self) -> int:
        """How many memories the device has; an allocation is in all of them."""
        count = c_uint32()
        self.opened().call("memories", byref(count))
        return count.value

    def array(self, values: object, *, shards: int = 0) -> DeviceArray:
        """A device array of these values: an array of NumPy, or of a library that speaks DLPack.

        On a device of several memories it is replicated, the same in each; with `shards` it is cut
        along its first dimension into that many equal parts, the last ones padded, of which each
        memory has one. Raises UserError for more shards than memories.
        """
        return from_values(self, values, shards)

    def empty(self, shape: int | Sequence[int], dtype: object, *, shards: int = 0) -> DeviceArray:
        """A device array that holds poison; `shards` as in `array`."""
        sizes = (shape,) if isinstance(shape, int) else tuple(map(operator.index, shape))
        if any(size < 0 for size in sizes):
            raise UserError(f"shape {sizes} has a negative size")
        return self.array_type(self, sizes, dtype, shards)

    def zeros(self, shape: int | Sequence[int], dtype: object, *, shards: int = 0) -> DeviceArray:
        """A device array of zeros; `shards` as in `array`."""
        array = self.empty(shape, dtype, shards=shards)
        self.memory_fill_zero(array.address, array.nbytes)
        return array

    def borrowed(self, value: object, stream: int | None = None) -> DeviceArray | None:
        """An array over another library's memory on this device; None for what has none there.

        What the library still does with it is waited for; with `stream` it is not: commands that
        this stream is given from now on come after it.

        Raises UserError for memory of the kind that the device has, and cannot use.
        """
        return None

    def call_of(
        self,
        function: Any,
        arguments: Sequence[Any],
        grid: Sequence[int],
        cluster: Sequence[int] = (),
    ) -> tuple[int, Launch]:
        """A launch as the driver takes it: the function's address, its arguments and grid.

        Raises LaunchError for a function that is not loaded here, UserError for arguments that are
        neither numbers nor arrays of this device, and for an invalid grid.
        """
        if not isinstance(function, DeviceFunction):
            raise LaunchError(f"{function!r} is not a device function")
        self._loaded(function.image)
        return function.address, launch_of(
            [self._argument(argument) for argument in arguments], grid, cluster
        )

    def __repr__(self) -> str:
        state = "closed" if not self._give_number_back.alive else "not opened"
        if self._open_device is not None:
            state = "gone" if self._open_device.is_gone() else "open"
        return f"<{self.device_name}, {state}>"

    def _take_number(self) -> None:
        self._number = self._numbers.take()
        self._give_number_back = weakref.finalize(self, self._numbers.give_back, self._number)

    def _disconnect(self) -> None:
        if self._open_device is None:
            return
        self._end()  # first, as it ends kernels that queues would wait for
        self._open_device = None
        for queue in self._queues:
            queue.close()
        self._images.clear()

    def _loaded(self, image: Any) -> DeviceImage:
        opened = self.opened()
        if image not in self._images:
            raise LaunchError(f"the module is not loaded on {opened.name}")
        found: DeviceImage = image
        return found

    def _argument(self, argument: Any) -> KernelArgument:
        if not isinstance(argument, DeviceArray | int | float | np.generic):
            argument = self.borrowed(argument) or argument
        if not isinstance(argument, DeviceArray):
            return KernelArgument.of(argument)
        if argument.device is not self:
            raise UserError(f"{argument!r} is not on {self.device_name}")
        return KernelArgument(argument.address, ArgumentType.ADDRESS)


def _word(address: Any) -> int:
    """An address. Raises UserError."""
    if type(address) is int and 0 <= address < _WORD:
        return address
    return KernelArgument.of(operator.index(address)).bits


def _size(nbytes: int) -> int:
    number = operator.index(nbytes)
    if not 0 <= number < _WORD:
        raise DeviceMemoryError(f"{nbytes} is not a number of bytes")
    return number
