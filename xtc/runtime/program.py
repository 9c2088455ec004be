# SPDX-License-Identifier: Apache-2.0
"""The resources of a loaded program on its devices: queues, kernels, constants."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, c_char_p, c_uint8, c_uint64, c_void_p
from typing import Any

import numpy as np

from xtc.core.errors import DeviceLost, XtcError
from xtc.interfaces.offload import ARGUMENT_TYPES, Kernel, Resident
from xtc.runtime.device import DeviceImage, DriverDevice
from xtc.runtime.device_array import DeviceArray
from xtc.runtime.interruptible import interrupted, interruptible
from xtc.runtime.native import CSRC, NativeUnit, build_native
from xtc.runtime.queue import DriverQueue
from xtc.runtime.recording import Command, CommandRecorder

_UNIT = NativeUnit("libxtc_program.so", "library", (CSRC / "program.c",))
_FUNCTIONS = 11


class _Device(ctypes.Structure):
    """`xtc_program_device` of `csrc/program.h`."""

    _fields_ = (("driver", c_void_p), ("device", c_void_p), ("queue", c_uint64))


class _Kernel(ctypes.Structure):
    """`xtc_program_kernel`."""

    _fields_ = (
        ("device", c_uint64),
        ("function", c_uint64),
        ("count", c_uint64),
        ("types", POINTER(c_uint8)),
        ("label", c_char_p),
    )


class _Program(ctypes.Structure):
    """`struct xtc_program`."""

    _fields_ = (
        ("functions", c_void_p * _FUNCTIONS),
        ("device_count", c_uint64),
        ("devices", POINTER(_Device)),
        ("kernels", POINTER(_Kernel)),
        ("residents", POINTER(c_uint64)),
    )


class DeviceProgram:
    """Loads a program's kernels and constants onto its devices, and releases them at the end.

    The program has a queue on each device. Its host code issues commands there without checking
    their status: `run` raises the first failure.

    Args:
        devices: the devices by their names in the program, in its order.
        images: their device code, by the same names.
        kernels: the program's kernels, in its order.
        residents: the constants on devices and their contents, in the program's order.
    """

    def __init__(
        self,
        devices: Mapping[str, DriverDevice],
        images: Mapping[str, bytes],
        kernels: Sequence[Kernel],
        residents: Sequence[tuple[Resident, memoryview]],
    ) -> None:
        self._devices = dict(devices)
        # The program's resources are released with these, also if a device is reopened.
        self._opened = {name: device.opened() for name, device in devices.items()}
        self._queues: dict[str, DriverQueue] = {}
        self._images: dict[str, DeviceImage] = {}
        self._unloads: list[Callable[[], object]] = []
        self._arrays: list[DeviceArray] = []
        self._lock = threading.Lock()  # of the queues
        self._program = _Program()
        _library().xtc_program_init(ctypes.byref(self._program))
        self._bindings = (_Device * max(len(devices), 1))()
        try:
            for name, device in self._devices.items():
                self._images[name] = image = device.load_module(images[name])
                self._unloads.append(weakref.finalize(self, _unload, device, image))
                self._open_queue(name)
            self._kernels = self._find_kernels(kernels)
            self._residents = self._upload(residents)
        except BaseException:
            self.close()
            raise
        self._program.device_count = len(devices)
        self._program.devices = self._bindings
        self._program.kernels = self._kernels
        self._program.residents = self._residents

    @property
    def address(self) -> int:
        """The address of the `struct xtc_program`, which lives as long as this object."""
        return ctypes.addressof(self._program)

    def record(self, call: Callable[[], None]) -> list[Command]:
        """Call the program's code with each command run alone; return the commands in order.

        Raises what `run` raises.
        """
        recorder = CommandRecorder(self._devices, [kernel.device for kernel in self._kernels])

        def recorded() -> None:
            with recorder.installed(self._program.functions):
                call()

        self.run(recorded)
        return recorder.commands

    def run(self, call: Callable[[], None]) -> None:
        """Call the program's code, then raise the first failure of its commands.

        Calls from several threads are serialized, as they share the queues. Raises DeviceLost if a
        device was closed since the program was loaded. If a signal handler raises, simulators whose
        kernels do not end soon are closed.
        """
        if all(opened.driver.ends_kernels for opened in self._opened.values()):
            interruptible(self._run, self._end, call)
        else:
            self._run(call)

    def _end(self) -> None:
        """End all kernels by closing the devices, which are then lost."""
        for opened in self._opened.values():
            opened.close()

    def _run(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._require_devices()
            try:
                call()
            except BaseException as error:  # of the program; its issued commands must end first
                interrupted(error)
                with contextlib.suppress(XtcError):
                    self._wait()
                raise
            self._wait()

    def close(self) -> None:
        """Release queues, memory and images; idempotent."""
        for queue in self._queues.values():
            queue.close()
        for array in self._arrays:
            array.free()
        for unload in self._unloads:
            unload()
        self._queues, self._arrays, self._unloads = {}, [], []

    def _require_devices(self) -> None:
        for name in self._devices:
            if not self._is_there(name):
                raise DeviceLost(
                    f"{self._opened[name].name} was closed, and the program's code and constants "
                    "on it are gone",
                    hints=["compile or load the module again"],
                )

    def _wait(self) -> None:
        """Wait for all queues, then raise the first failure; failed queues are replaced."""
        errors: list[Exception] = []
        for name, queue in tuple(self._queues.items()):
            try:
                queue.wait()
            except Exception as error:
                errors.append(error)
                queue.close()
                with contextlib.suppress(DeviceLost):  # which the next call reports
                    if self._is_there(name):
                        self._open_queue(name)
        if errors:
            raise errors[0]

    def _is_there(self, name: str) -> bool:
        return self._devices[name].is_open_as(self._opened[name])

    def _open_queue(self, name: str) -> None:
        opened = self._opened[name]
        queue = self._devices[name].queue()
        self._queues[name] = queue
        binding = self._bindings[list(self._devices).index(name)]
        binding.driver = opened.driver.table_address
        binding.device = opened.address
        binding.queue = queue.number

    def _find_kernels(self, kernels: Sequence[Kernel]) -> Any:
        names = list(self._devices)
        found = (_Kernel * max(len(kernels), 1))()
        for position, kernel in enumerate(kernels):
            device, image = self._devices[kernel.device], self._images[kernel.device]
            function = device.get_module_function(image, kernel.symbol)
            types = (c_uint8 * len(kernel.types))(*map(ARGUMENT_TYPES.index, kernel.types))
            number, count = names.index(kernel.device), len(kernel.types)
            label = kernel.operator.encode() if kernel.operator else None
            found[position] = _Kernel(number, function.address, count, types, label)
        return found

    def _upload(self, residents: Sequence[tuple[Resident, memoryview]]) -> Any:
        addresses = (c_uint64 * max(len(residents), 1))()
        for position, (resident, contents) in enumerate(residents):
            array = _uploaded(self._devices[resident.device], resident, contents)
            addresses[position] = array.address
            self._arrays.append(array)
        return addresses


def _uploaded(device: DriverDevice, resident: Resident, contents: memoryview) -> DeviceArray:
    values = np.frombuffer(contents, np.int8)
    if not resident.shard_bytes:
        return device.array(values)
    shards = -(-values.size // resident.shard_bytes)
    padded = np.zeros((shards, resident.shard_bytes), np.int8)
    padded.reshape(-1)[: values.size] = values
    return device.array(padded, shards=shards)


def _unload(device: DriverDevice, image: DeviceImage) -> None:
    with contextlib.suppress(DeviceLost):  # the image was unloaded with the device
        device.unload_module(image)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_native([_UNIT]) / _UNIT.name))
    library.xtc_program_init.restype = None
    return library
