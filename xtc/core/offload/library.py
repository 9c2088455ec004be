# SPDX-License-Identifier: Apache-2.0
"""Generated host code that uses devices: loaded, bound to them, called."""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xtc.core.errors import ArtifactError, DeviceLost, UserError
from xtc.core.offload.device import DeviceImage, DriverDevice
from xtc.core.offload.queue import DriverQueue
from xtc.core.offload.table import Binding
from xtc.core.workspace import private_folder

NAMES = "xtc_device_names"
BINDINGS = "xtc_bindings"
_MAX_DEVICES = 64


class HostLibrary:
    """A shared library of host code whose entry point gives commands to devices.

    `csrc/xtc_driver.h` says what it exports. Each device has a queue of its own here. The entry
    point need not look at any status: when it returns, the queues are waited for, and the first
    failure among them is raised.

    Args:
        library: the file; a copy is loaded, so that one file can be loaded for several devices.
        entry: the function, `void entry(void *argument0, ...)`.
        device: gives the device that a name in the code stands for.
        image: code for these devices, loaded there as long as the library is; None where there is
            none.

    Raises ArtifactError where the library does not export what it should.
    """

    def __init__(
        self, library: Path, entry: str, device: Callable[[str], DriverDevice], image: bytes | None
    ) -> None:
        self._images: list[tuple[DriverDevice, DeviceImage]] = []
        self._queues: list[DriverQueue] = []
        self._library: ctypes.CDLL | None = _open_copy(library)
        try:
            self._entry = _function(self._library, entry, library)
            self._devices = [device(name) for name in _names(self._library, library)]
            self._bindings = _bindings(self._library, len(self._devices), library)
            for position, one in enumerate(self._devices):
                if image is not None:
                    self._images.append((one, one.load_module(image)))
                self._queues.append(one.new_queue(DriverQueue))
                self._bind(position)
        except BaseException:
            self.close()
            raise

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A call of the entry point on these addresses; it lets other Python threads run."""
        arguments = tuple(map(ctypes.c_void_p, addresses))

        def call() -> None:
            if self._library is None:
                raise UserError("the module is closed", hints=["compile or load it again"])
            self._entry(*arguments)
            self._wait()

        return call

    def close(self) -> None:
        """Release queues, images and the library; closing twice is allowed."""
        for queue in self._queues:
            queue.close()
        for device, image in self._images:
            with contextlib.suppress(DeviceLost):  # its images went with it
                device.unload_module(image)
        self._queues, self._images = [], []
        if self._library is not None:
            _ctypes.dlclose(self._library._handle)
            self._library = None

    def _bind(self, position: int) -> None:
        """Point the library's variable at the device and its queue."""
        opened = self._devices[position].opened()
        binding = self._bindings[position]
        binding.driver = opened.driver.table_address
        binding.device = opened.address
        binding.queue = self._queues[position].number
        binding.module = self._images[position][1].number if self._images else 0

    def _wait(self) -> None:
        """Wait for all queues, then raise what failed first; queues that failed are replaced."""
        errors: list[BaseException] = []
        for position, queue in enumerate(self._queues):
            try:
                queue.wait()
            except Exception as error:
                errors.append(error)
                self._renew(position)
        if errors:
            raise errors[0]

    def _renew(self, position: int) -> None:
        self._queues[position].close()
        with contextlib.suppress(DeviceLost):  # then the next call says so
            self._queues[position] = self._devices[position].new_queue(DriverQueue)
            self._bind(position)


def _open_copy(library: Path) -> ctypes.CDLL:
    """Load a copy of the file: opening one file twice would give the same variables twice."""
    with private_folder("host-") as folder:
        try:
            return ctypes.CDLL(str(shutil.copy(library, folder)))
        except OSError as error:
            raise ArtifactError(f"the library cannot be loaded: {error}", where=library) from None


def _function(library: ctypes.CDLL, name: str, where: Path) -> Any:
    try:
        function = getattr(library, name)
    except AttributeError:
        raise ArtifactError(f"the library has no function '{name}'", where=where) from None
    function.restype = None
    return function


def _names(library: ctypes.CDLL, where: Path) -> list[str]:
    """The names of the devices in the code."""
    texts = _variable(library, NAMES, ctypes.c_char_p * (_MAX_DEVICES + 1), where)
    names: list[str] = []
    while len(names) <= _MAX_DEVICES and (text := texts[len(names)]) is not None:
        names.append(text.decode())
    return names


def _bindings(library: ctypes.CDLL, count: int, where: Path) -> Any:
    return _variable(library, BINDINGS, Binding * count, where)


def _variable(library: ctypes.CDLL, name: str, kind: Any, where: Path) -> Any:
    try:
        return kind.in_dll(library, name)
    except ValueError:
        raise ArtifactError(f"the library has no variable '{name}'", where=where) from None
