# SPDX-License-Identifier: Apache-2.0
"""Code for a device that is not there: it is built, and can be saved; a call needs the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import LoadedModule

Load = Callable[[], tuple[LoadedModule, Callable[[], None]]]


class AbsentDeviceModule:
    """An artefact whose device was not found; each call looks for it again.

    Args:
        artifact: what was built.
        load: loads it, and returns what can be called and how to take it back, or raises
            DeviceNotFound saying what is missing.
    """

    def __init__(self, artifact: Artifact, load: Load) -> None:
        self.artifact = artifact
        self._load = load
        self._lock = Lock()
        self._found: LoadedModule | None = None
        self._unload: Callable[[], None] | None = None

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A call of the entry. Raises DeviceNotFound while the device is not there."""
        with self._lock:
            if self._found is None:
                self._found, self._unload = self._load()
        return self._found.bind(addresses)

    def close(self) -> None:
        """Take back what was loaded, if the device was found at last."""
        with self._lock:
            unload, self._found, self._unload = self._unload, None, None
        if unload is not None:
            unload()
