# SPDX-License-Identifier: Apache-2.0
"""Loads host code into this process and calls it."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NoReturn

from xtc.codegen.llvm import LoadedObjects, Machine
from xtc.core.errors import ArtifactError, DeviceFault, DeviceMemoryError, UserError
from xtc.core.numbering import Numbering
from xtc.interfaces.artifact import VECTOR_BITS, Artifact
from xtc.interfaces.runtime import HostRuntime, LoadedModule, Piece, RecordedKernel
from xtc.system.cores import usable_cores
from xtc_targets.host import pool_library
from xtc_targets.host.build import ARENAS, EXTERNALS, KERNELS, LIBRARY, RELEASE
from xtc_targets.host.external_signature import STATUS
from xtc_targets.host.pool import Pool, pool
from xtc_targets.host.separate_library import SeparateLibrary
from xtc_targets.host.stamps import Stamps
from xtc_targets.host.threads import threads_to_use

_numbers = Numbering()


@dataclass(eq=False)
class HostModule:
    """A shared library, or object files, mapped into this process.

    Attributes:
        artifact: the loaded artifact.
        threads: number of threads for its parallel loops; 1 if it has none.
    """

    artifact: Artifact
    _entry: Callable[..., Any]
    threads: int = 1
    _library: SeparateLibrary | None = None
    _objects: LoadedObjects | None = None
    _pool: Pool | None = None
    _status: ctypes.c_int32 | None = None
    _recorded: Stamps | None = None

    def use_pool(self, table: Callable[[], int]) -> None:
        """Run parallel loops, if any, on the thread pool; `table` looks up their table."""
        toolchain = self.artifact.manifest.toolchain
        threads = threads_to_use(toolchain)  # reports an invalid XTC_THREADS in any case
        if pool_library.VERSION not in toolchain:
            return
        path = None if self.artifact.objects else self.artifact.file(pool_library.LIBRARY)
        self.threads = threads
        self._pool = pool(toolchain[pool_library.VERSION], path)
        self._pool.attach(table(), self.threads)

    def watch_functions(self, status: Callable[[], int]) -> None:
        """Let calls fail if an external function fails; `status` looks up its status variable."""
        if EXTERNALS in self.artifact.manifest.toolchain:
            self._status = ctypes.c_int32.from_address(status())

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A function that calls the entry on host addresses, without Python's global lock."""
        entry = self._entry
        arguments = tuple(map(ctypes.c_void_p, addresses))
        call = partial(entry, *arguments)
        if self.artifact.manifest.returns_status:
            call = partial(_run, call, self.artifact)
        return call if self._status is None else partial(_checked, call, self._status)

    @cached_property
    def kernels(self) -> Sequence[RecordedKernel]:
        """The calls whose ends the program records; empty if it does not record."""
        if KERNELS not in self.artifact.manifest.files:
            return ()
        calls = json.loads(self.artifact.file(KERNELS).read_text())
        return [
            RecordedKernel(node, function, tuple(nodes), count)
            for node, function, nodes, count in calls
        ]

    @property
    def vector_bits(self) -> int:
        """The width of the code's vectors; 0 if unknown."""
        return int(self.artifact.manifest.toolchain.get(VECTOR_BITS, 0))

    def stamps(self) -> list[int]:
        """The start of the first recorded kernel of the last call and the end of each, in
        nanoseconds.

        Kernels that `record_only` excluded have no times.
        """
        return self._stamps().read()

    def record_only(self, first: int, count: int) -> None:
        """Record the ends of `count` kernels from number `first` in the next calls."""
        self._stamps().choose(first, count)

    def _stamps(self) -> Stamps:
        if self._library is None:
            _closed()
        if self._recorded is None:
            self._recorded = Stamps(self._library, len(self.kernels))
        return self._recorded

    def pieces(self, call: Callable[[], None]) -> Sequence[Piece]:
        """Make a call; returns the parts of parallel loops that threads computed meanwhile."""
        if self._pool is not None:
            return self._pool.pieces(call)
        call()
        return ()

    def set_address(self, variable: str, address: int) -> None:
        """Write an address into a variable of the code."""
        if self._library is not None:
            variable_address = _address(self._library, variable)
        elif self._objects is not None:
            variable_address = self._objects.address(variable)
        else:
            _closed()
        ctypes.c_void_p.from_address(variable_address).value = address

    def _release_arenas(self) -> None:
        """Free the memory that the code keeps for temporary arrays."""
        if ARENAS[0] not in self.artifact.manifest.toolchain:
            return
        if self._library is not None:
            getattr(self._library, RELEASE)()
        elif self._objects is not None:
            ctypes.CFUNCTYPE(None)(self._objects.address(RELEASE))()

    def close(self) -> None:
        """Unmap the code, and end the threads unless another module uses them."""
        self._release_arenas()
        self._recorded = None
        if self._library is not None:
            self._library.close()
            self._library = None
        if self._objects is not None:
            self._objects.close()
            self._objects = None
        if self._pool is not None:
            self._pool.detach()
            self._pool = None
        self._entry = _closed


def _run(call: Callable[[], int], artifact: Artifact) -> None:
    if call():
        raise DeviceMemoryError(
            f"'{artifact.manifest.entry}' found no memory for its temporary arrays",
            notes=["its temporary arrays were freed; its results are incomplete"],
        )


def _checked(call: Callable[[], None], status: ctypes.c_int32) -> None:
    """Call, and raise DeviceFault if an external function returned a status other than 0."""
    call()
    if status.value:
        value, status.value = status.value, 0
        raise DeviceFault(
            f"an external function returned {value}, not 0",
            notes=["the results of this call are incomplete"],
        )


def _closed(*_arguments: object) -> NoReturn:
    raise UserError("the module is closed", hints=["compile or load it again"])


@dataclass(eq=False)
class LocalHost(HostRuntime):
    """This process and its processor; `threads` applies until code is loaded."""

    machine: Machine
    threads: int = 1
    _id: int = field(default_factory=_numbers.take)
    _loaded: set[HostModule] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._give_number_back = weakref.finalize(self, _numbers.release, self._id)

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
        _check_runs_here(artifact)
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
        """The measured peak of one core per thread of the code; 0 for a type without one."""
        from xtc_targets.host.peak import has_peak, peak_flops

        return peak_flops(dtype, self._cores()) if has_peak(dtype) else 0.0

    def remeasured_peak_flops(self, dtype: str) -> float:
        from xtc_targets.host.peak import has_peak, peak_flops

        return peak_flops(dtype, self._cores(), again=True) if has_peak(dtype) else 0.0

    def peaks_by_width(self, dtype: str) -> Mapping[int, float]:
        from xtc_targets.host.peak import has_peak, peaks_by_width

        return peaks_by_width(dtype, self._cores()) if has_peak(dtype) else {}

    def memory_bandwidth(self) -> float:
        """The measured read bandwidth of the same number of cores."""
        from xtc_targets.host.bandwidth import memory_bandwidth

        return memory_bandwidth(self._cores())

    def _cores(self) -> int:
        threads = max((module.threads for module in self._loaded), default=self.threads)
        return min(threads, usable_cores())

    def close(self) -> None:
        for module in tuple(self._loaded):
            self.unload(module)
        self._give_number_back()


def _check_runs_here(artifact: Artifact) -> None:
    """Raise ArtifactError for code of another target or machine."""
    manifest = artifact.manifest
    if manifest.target != "host":
        raise ArtifactError(f"the host cannot load code for {manifest.target}")
    triple = manifest.toolchain.get("triple", "")
    if not _is_host(triple):
        raise ArtifactError(
            f"code for {triple or 'an unnamed machine'} cannot run in this process",
            where=artifact.folder,
            notes=[
                f"this process is {Machine.host().triple}",
                "code for another machine is kept as object files, not linked",
            ],
            hints=["link them with a compiler for that machine, in a program that runs there"],
        )


def _is_host(triple: str) -> bool:
    try:
        return Machine(triple, "", "").is_host
    except UserError:  # a triple that this LLVM does not know
        return False


def _from_file(artifact: Artifact) -> HostModule:
    path = artifact.file(LIBRARY)
    library = None
    try:
        library = SeparateLibrary(path)
        entry = getattr(library, artifact.manifest.entry)
    except (OSError, AttributeError) as error:
        if library is not None:
            library.close()
        calls = EXTERNALS in artifact.manifest.toolchain
        hints = ["the sources of an external function define it, under its name"] if calls else []
        message = f"the library cannot be loaded: {error}"
        raise ArtifactError(message, where=path, hints=hints) from None
    entry.restype = _result_type(artifact)
    module = HostModule(artifact, entry, _library=library)
    with _closed_on_error(module):
        module.use_pool(lambda: _address(library, pool_library.VARIABLE))
        module.watch_functions(lambda: _address(library, STATUS))
    return module


def _from_memory(artifact: Artifact) -> HostModule:
    loaded = LoadedObjects(artifact.objects)
    arguments = (ctypes.c_void_p for _ in artifact.manifest.arguments)
    prototype = ctypes.CFUNCTYPE(_result_type(artifact), *arguments)
    entry = prototype(loaded.address(artifact.manifest.entry))
    module = HostModule(artifact, entry, _objects=loaded)
    with _closed_on_error(module):
        module.use_pool(lambda: loaded.address(pool_library.VARIABLE))
        module.watch_functions(lambda: loaded.address(STATUS))
    return module


def _result_type(artifact: Artifact) -> type[ctypes.c_int] | None:
    return ctypes.c_int if artifact.manifest.returns_status else None


def _address(library: ctypes.CDLL, symbol: str) -> int:
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(library, symbol))
    except ValueError as error:
        raise ArtifactError(f"the library cannot be loaded: {error}") from None


@contextmanager
def _closed_on_error(module: HostModule) -> Iterator[None]:
    try:
        yield
    except BaseException:
        module.close()
        raise
