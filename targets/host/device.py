# SPDX-License-Identifier: Apache-2.0
"""Loads host code into this process and calls it."""

from __future__ import annotations

import _ctypes
import ctypes
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xtc.core.errors import ArtifactError, UserError
from xtc.core.llvm import LoadedObjects, Machine
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import HostRuntime, LoadedModule
from xtc_targets.host.build import LIBRARY

_ids = itertools.count()


@dataclass(eq=False)
class HostModule:
    """A shared library, or objects, mapped into this process."""

    artifact: Artifact
    _entry: Callable[..., None]
    _library: ctypes.CDLL | None = None
    _objects: LoadedObjects | None = None

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A call of the entry on host addresses; it releases Python's lock while it runs."""
        entry = self._entry
        arguments = tuple(map(ctypes.c_void_p, addresses))
        return lambda: entry(*arguments)

    def close(self) -> None:
        """Unmap the code."""
        if self._library is not None:
            _ctypes.dlclose(self._library._handle)
            self._library = None
        if self._objects is not None:
            self._objects.close()
            self._objects = None
        self._entry = _closed


def _closed(*_arguments: object) -> None:
    raise UserError("the module is closed", hints=["compile or load it again"])


@dataclass(eq=False)
class LocalHost(HostRuntime):
    """This process and its processor."""

    machine: Machine
    _id: int = field(default_factory=lambda: next(_ids))
    _loaded: set[HostModule] = field(default_factory=set)

    @property
    def target_name(self) -> str:
        return "host"

    @property
    def device_name(self) -> str:
        return f"host{self._id}"

    @property
    def device_arch(self) -> str:
        return self.machine.cpu

    @property
    def device_id(self) -> int:
        return self._id

    def load(self, artifact: Artifact) -> HostModule:
        """Map the artefact. Raises ArtifactError for code of another machine."""
        triple = artifact.manifest.toolchain.get("triple", "")
        if not Machine(triple, "", "").is_host:
            raise ArtifactError(
                f"code for {triple} cannot run in this process",
                notes=[f"this process is {self.machine.triple}"],
            )
        module = _from_memory(artifact) if artifact.objects else _from_file(artifact)
        self._loaded.add(module)
        return module

    def unload(self, module: LoadedModule) -> None:
        if isinstance(module, HostModule) and module in self._loaded:
            self._loaded.remove(module)
            module.close()

    def evaluate(self, module: LoadedModule, addresses: Sequence[int]) -> None:
        module.bind(addresses)()

    def counters(self) -> Mapping[str, float]:
        return {"modules": float(len(self._loaded))}

    def peak_flops(self, dtype: str) -> float:
        from xtc_targets.host.peak import peak_flops

        return peak_flops(dtype)

    def close(self) -> None:
        for module in tuple(self._loaded):
            self.unload(module)


def _from_file(artifact: Artifact) -> HostModule:
    path = artifact.file(LIBRARY)
    try:
        library = ctypes.CDLL(str(path))
        entry = getattr(library, artifact.manifest.entry)
    except (OSError, AttributeError) as error:
        raise ArtifactError(f"the library cannot be loaded: {error}", where=path) from None
    entry.restype = None
    return HostModule(artifact, entry, _library=library)


def _from_memory(artifact: Artifact) -> HostModule:
    loaded = LoadedObjects(artifact.objects)
    prototype = ctypes.CFUNCTYPE(None, *(ctypes.c_void_p for _ in artifact.manifest.arguments))
    entry = prototype(loaded.address(artifact.manifest.entry))
    return HostModule(artifact, entry, _objects=loaded)
