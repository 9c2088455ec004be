# SPDX-License-Identifier: Apache-2.0
"""An artefact that is loaded: its host code in this process, its device code on the devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xtc.core.errors import ArtifactError, UserError
from xtc.core.offload import DriverDevice, HostLibrary
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.runtime import CommonRuntimeInterface

if TYPE_CHECKING:
    from xtc_targets.mppa.device import MppaDevice

HOST_LIBRARY = "host.so"
DEVICE_IMAGE = "device.so"


class MppaModule:
    """Code that `MppaDevice.load` loaded.

    The artefact has the files `host.so`, which exports the entry point and what
    `xtc_driver.h` asks for, and `device.so`, the kernels. Its manifest's `toolchain` names `arch`,
    `clusters` and `pes` that they were compiled for.
    """

    def __init__(
        self,
        artifact: Artifact,
        device: MppaDevice,
        devices: Mapping[str, CommonRuntimeInterface],
    ) -> None:
        if artifact.manifest.target != device.target_name:
            raise ArtifactError(
                f"{device.device_name} cannot load code for {artifact.manifest.target}"
            )
        self.artifact = artifact

        def named(name: str) -> DriverDevice:
            found = devices.get(name, device)
            if not isinstance(found, DriverDevice) or found.target_name != device.target_name:
                raise UserError(f"the code uses {name} as an MPPA, and {found!r} is none")
            _check_machine(artifact, found)
            return found

        self._library = HostLibrary(
            artifact.file(HOST_LIBRARY),
            artifact.manifest.entry,
            named,
            artifact.file(DEVICE_IMAGE).read_bytes(),
        )

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        return self._library.bind(addresses)

    def close(self) -> None:
        """Take the code off the devices and out of this process; closing twice is allowed."""
        self._library.close()


def _check_machine(artifact: Artifact, device: DriverDevice) -> None:
    """Raise ArtifactError unless the code was compiled for such a device."""
    config = device.config  # type: ignore[attr-defined]  # an MppaDevice, which imports this file
    machine = {
        "arch": device.machine.arch,  # type: ignore[attr-defined]
        "clusters": str(config.cluster_count),
        "pes": str(config.pe_count),
    }
    for name, here in machine.items():
        built = artifact.manifest.toolchain.get(name)
        if built != here:
            raise ArtifactError(
                f"the code was compiled for {name} {built}, and {device.device_name} has {here}"
            )
