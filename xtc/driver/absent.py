# SPDX-License-Identifier: Apache-2.0
"""Modules for a missing device: they can be built and saved; calling them needs the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Protocol, runtime_checkable

from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import LoadedModule
from xtc.runtime import Command


@runtime_checkable
class RecordingModule(LoadedModule, Protocol):
    """Loaded code that sends commands to devices and can record them."""

    def record(self, addresses: Sequence[int]) -> Callable[[], list[Command]]:
        """Like `bind`; a call runs each command alone and returns the commands with their times."""


Load = Callable[[], tuple[RecordingModule, Callable[[], None]]]


class AbsentDeviceModule:
    """An artifact whose device was not found; each call searches for it again.

    Args:
        artifact: the artifact.
        load: loads it and returns the loaded module and a function that unloads it, or raises
            DeviceNotFound with what is missing.
    """

    def __init__(self, artifact: Artifact, load: Load) -> None:
        self.artifact = artifact
        self._load = load
        self._lock = Lock()
        self._found: RecordingModule | None = None
        self._unload: Callable[[], None] | None = None

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A call of the entry. Raises DeviceNotFound while the device is missing."""
        return self._loaded().bind(addresses)

    def record(self, addresses: Sequence[int]) -> Callable[[], list[Command]]:
        """A recorded call. Raises DeviceNotFound while the device is missing."""
        return self._loaded().record(addresses)

    def _loaded(self) -> RecordingModule:
        with self._lock:
            if self._found is None:
                self._found, self._unload = self._load()
            return self._found

    def close(self) -> None:
        """Unload the code, if the device was found."""
        with self._lock:
            unload, self._found, self._unload = self._unload, None, None
        if unload is not None:
            unload()
