# SPDX-License-Identifier: Apache-2.0
"""Loads an artifact: the program in this process, kernels and constants on devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from xtc.core.errors import ArtifactError, DeviceNotFound, UserError
from xtc.driver.absent import AbsentDeviceModule, Load, RecordingModule
from xtc.interfaces.artifact import Artifact, Manifest
from xtc.interfaces.offload import PROGRAM, RESIDENTS, Resident
from xtc.interfaces.runtime import (
    AcceleratorDevice,
    HostCode,
    HostRuntime,
    LoadedModule,
    ProgramRuntime,
)
from xtc.runtime import Command, DeviceProgram, DriverDevice


def load_artifact(
    artifact: Artifact, runtime: ProgramRuntime, devices: Mapping[str, AcceleratorDevice]
) -> tuple[LoadedModule, Callable[[], None]]:
    """Load the artifact's code on `runtime` and on the device of each name in its manifest.

    Returns the loaded module and a function that unloads it. If a device is missing, calls raise
    DeviceNotFound: code for another machine can be built here and run there.
    """
    if not artifact.manifest.offload.images:
        loaded = runtime.load(artifact)
        return loaded, partial(runtime.unload, loaded)
    if not isinstance(runtime, HostRuntime):
        raise UserError(f"{runtime.device_name} cannot run a program that uses devices")
    load: Load = partial(_load_offloaded, artifact, runtime, devices)
    try:
        return load()
    except DeviceNotFound:
        absent = AbsentDeviceModule(artifact, load)
        return absent, absent.close


def _load_offloaded(
    artifact: Artifact, runtime: HostRuntime, devices: Mapping[str, AcceleratorDevice]
) -> tuple[RecordingModule, Callable[[], None]]:
    with ExitStack() as undo:
        code = runtime.load(artifact)
        undo.callback(runtime.unload, code)
        program = _program(artifact, devices)
        undo.callback(program.close)
        module = OffloadedModule(code, runtime, program)
        undo.pop_all()
    return module, module.close


class OffloadedModule:
    """A loaded program with its kernels and constants on devices."""

    def __init__(self, loaded: HostCode, runtime: HostRuntime, program: DeviceProgram) -> None:
        self.artifact = loaded.artifact
        self._loaded = loaded
        self._runtime = runtime
        self._program = program
        loaded.set_address(PROGRAM, program.address)

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A call of the entry; raises the first error of a device command."""
        return partial(self._program.run, self._loaded.bind(addresses))

    def record(self, addresses: Sequence[int]) -> Callable[[], list[Command]]:
        """Like `bind`; a call runs each command alone and returns the commands with their times."""
        return partial(self._program.record, self._loaded.bind(addresses))

    def close(self) -> None:
        """Unload the code from this process, then from the devices."""
        self._runtime.unload(self._loaded)
        self._program.close()


def _program(artifact: Artifact, devices: Mapping[str, AcceleratorDevice]) -> DeviceProgram:
    offload = artifact.manifest.offload
    drivers: dict[str, DriverDevice] = {}
    images: dict[str, bytes] = {}
    for name in sorted(offload.images):
        drivers[name] = _driver(artifact.manifest, name, devices)
        images[name] = artifact.file(offload.images[name].file).read_bytes()
    return DeviceProgram(drivers, images, offload.kernels, _residents(artifact))


def _driver(
    manifest: Manifest, name: str, devices: Mapping[str, AcceleratorDevice]
) -> DriverDevice:
    device = devices.get(name)
    if device is None:
        raise UserError(
            f"no device given is called {name}",
            notes=[f"there are: {', '.join(devices) or 'none'}"],
            hints=["if a graph uses several devices, pass them as objects: device=..."],
        )
    if not isinstance(device, DriverDevice):
        raise UserError(f"{device.device_name} cannot take commands from compiled code")
    device.check_code(manifest.offload.images[name].toolchain)
    return device


def _residents(artifact: Artifact) -> list[tuple[Resident, memoryview]]:
    residents = artifact.manifest.offload.residents
    if not residents:
        return []
    content = memoryview(artifact.file(RESIDENTS).read_bytes())
    found, start = [], 0
    for resident in residents:
        found.append((resident, content[start : start + resident.nbytes]))
        start += resident.nbytes
    if start != content.nbytes:
        raise ArtifactError(f"file '{RESIDENTS}' does not match the manifest")
    return found
