# SPDX-License-Identifier: Apache-2.0
"""An artefact that a device has loaded; a call of it writes zeros."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from xtc.core.errors import UserError
from xtc.interfaces.artifact import Argument, Artifact
from xtc.interfaces.runtime import AcceleratorDevice, CommonRuntimeInterface

if TYPE_CHECKING:
    from xtc_targets.null.device import NullDevice, NullImage


class NullModule:
    """Code on a device; a real target uploads constants that live there at this point."""

    def __init__(
        self,
        artifact: Artifact,
        device: NullDevice,
        image: NullImage,
        devices: Mapping[str, CommonRuntimeInterface],
    ) -> None:
        self.artifact = artifact
        self._device = device
        self._image: NullImage | None = image
        self._devices = devices
        self._entry = device.get_module_function(image, artifact.manifest.entry)
        self._queue = device.queue()

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        given = tuple(addresses)

        def call() -> None:
            if self._image is None:
                raise UserError("the module is closed", hints=["compile or load it again"])
            self._queue.launch(self._entry, given)
            for argument, address in zip(self.artifact.manifest.arguments, given, strict=True):
                if argument.role == "output":
                    self._queue.callback(partial(self._zero, argument, address))
            self._queue.wait()

        return call

    def close(self) -> None:
        """Take the code off the device; nothing happens the second time."""
        if self._image is not None:
            self._device.unload_module(self._image)
            self._queue.close()
            self._image = None

    def _zero(self, argument: Argument, address: int) -> None:
        """Write zeros where the function would have written `argument`."""
        if argument.device is None:
            ctypes.memset(address, 0, argument.nbytes)
            return
        device = self._devices.get(argument.device, self._device)
        if not isinstance(device, AcceleratorDevice):
            raise UserError(f"{device.device_name} has no memory of its own")
        device.memory_fill_zero(address, argument.nbytes)
