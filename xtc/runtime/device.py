# SPDX-License-Identifier: Apache-2.0
"""The base class of accelerators with a driver table.

A target's device derives from `DriverDevice` and opens its driver in `_connect`.
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
    """Loaded device code."""

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
    """Named data of an image: its address and size in bytes."""

    image: DeviceImage
    name: str
    address: int
    nbytes: int


class DriverDevice(AcceleratorDevice):
    """A device that is opened at its first use and numbered among its target's devices.

    After `close`, or once the device is lost, all methods raise DeviceLost until `init_device`
    reopens it with empty memory. Thread-safe.
    """

    array_type: ClassVar[type[DeviceArray]] = DeviceArray
    """The class that `array`, `empty` and `zeros` create."""
    accepts_shards: ClassVar[bool] = False
    """Whether kernels accept any sharding of their buffer arguments."""

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
        """Raise ArtifactError if code from this toolchain cannot run here."""

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
        """Whether the device has stopped: by a fault, a timeout or an interrupt."""
        return self._open_device is not None and self._open_device.lost

    def opened(self) -> OpenDevice:
        """The open device; opens it at the first use. Raises DeviceLost once closed."""
        if self._open_device is not None:
            return self._open_device
        with self._lock:
            if not self._give_number_back.alive:
                raise DeviceLost(f"{self.device_name} is closed")
            self.init_device()
        return self.opened()

    def is_open_as(self, open_device: OpenDevice) -> bool:
        """Whether the resources of `open_device` still exist."""
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
        """Named data of a loaded module, for copies. Raises LaunchError if it does not exist."""
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
        """The allocated bytes and the total bytes, as the device reports them."""
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
        """Run a device function after all commands issued so far, and wait for it.

        Args:
            function: a result of `get_module_function`.
            arguments: device arrays, integers and floats. Python numbers, which include addresses,
                have 64 bits; `np.int32` and `np.float32` have 32.
            grid: the blocks in x, y and z; missing sizes are 1, and an empty grid is the grid that
                the image defines for the function.
            cluster: the blocks of a cluster, likewise, on a device with clusters.
        """
        address, launch = self.call_of(function, arguments, grid, cluster)
        self.opened().command("launch", NOW, address, launch, None)

    @property
    def memory_count(self) -> int:
        """The number of memories of the device; an allocation is in all of them."""
        count = c_uint32()
        self.opened().call("memories", byref(count))
        return count.value

    def array(self, values: object, *, shards: int = 0) -> DeviceArray:
        """A device array with these values, a NumPy array or an array of a library with DLPack.

        On a device with several memories it is replicated. With `shards` it is split along its
        first dimension into this number of equal shards, the last ones padded, one for each memory.
        Raises UserError for more shards than memories.
        """
        return from_values(self, values, shards)

    def empty(self, shape: int | Sequence[int], dtype: object, *, shards: int = 0) -> DeviceArray:
        """An uninitialized device array, filled with poison; `shards` as in `array`."""
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
        """An array that shares another library's memory on this device; None for other values.

        Waits for the library's pending work on the memory. With `stream` it does not wait: the
        stream's later commands are ordered after that work.

        Raises UserError for memory of the device's kind that it cannot use.
        """
        return None

    def call_of(
        self,
        function: Any,
        arguments: Sequence[Any],
        grid: Sequence[int],
        cluster: Sequence[int] = (),
    ) -> tuple[int, Launch]:
        """A launch for the driver: the function's address, its arguments and grid.

        Raises LaunchError for a function that is not loaded here, and UserError for an invalid grid
        and for arguments that are neither numbers nor arrays of this device.
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
        self._give_number_back = weakref.finalize(self, self._numbers.release, self._number)

    def _disconnect(self) -> None:
        if self._open_device is None:
            return
        self._end()  # first, as it ends kernels that queues would otherwise wait for
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
    """An address in 64 bits. Raises UserError if it does not fit."""
    if type(address) is int and 0 <= address < _WORD:
        return address
    return KernelArgument.of(operator.index(address)).bits


def _size(nbytes: int) -> int:
    number = operator.index(nbytes)
    if not 0 <= number < _WORD:
        raise DeviceMemoryError(f"{nbytes} is not a number of bytes")
    return number
