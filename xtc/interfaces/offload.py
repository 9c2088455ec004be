# SPDX-License-Identifier: Apache-2.0
"""What a program does on devices, as its manifest says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xtc.interfaces import checked

RESIDENTS = "residents.bin"
"""The artefact's file with the constants that live on devices."""
PROGRAM = "xtc.program"
"""The variable of the program's code through which it reaches its devices."""


@dataclass(frozen=True)
class DeviceImage:
    """Code for one device of a program.

    Attributes:
        target: what it was compiled for.
        file: the image, a file of the artefact.
        toolchain: versions and options that shaped the code.
    """

    target: str
    file: str
    toolchain: Mapping[str, str]


ARGUMENT_TYPES = ("address", "int32", "int64", "float32", "float64")
"""Types of kernel arguments; their positions are the values of `enum xtc_type`."""


@dataclass(frozen=True)
class Kernel:
    """A function that the program starts.

    Attributes:
        device: the device's name.
        symbol: of the function in the device's image.
        types: of its arguments: "address", "int32", "int64", "float32" or "float64".
        nodes: the graph nodes that it computes; empty if they are unknown.
    """

    device: str
    symbol: str
    types: tuple[str, ...]
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resident:
    """A constant that lives on a device; the file `RESIDENTS` has all of them, in order.

    Attributes:
        device: the device's name.
        symbol: of the constant.
        nbytes: of all its elements.
        shard_bytes: of each memory's part; 0 if every memory has all of it.
    """

    device: str
    symbol: str
    nbytes: int
    shard_bytes: int = 0


@dataclass(frozen=True)
class Offload:
    """What a program does on devices; the code names devices, kernels and constants by number.

    Attributes:
        images: code by device name; the code numbers devices in the order of their names.
        kernels: what it starts.
        residents: what is uploaded when it is loaded.
    """

    images: Mapping[str, DeviceImage] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    residents: tuple[Resident, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The artefact's files with images and constants."""
        images = (image.file for image in self.images.values())
        return (*images, *([RESIDENTS] if self.residents else []))

    @staticmethod
    def from_data(data: Any) -> Offload:
        """Read what `dataclasses.asdict` gave. Raises ValueError and its like for anything else."""
        images = {
            checked.text(name): DeviceImage(**image) for name, image in data.pop("images").items()
        }
        for image in images.values():
            checked.texts([image.target, image.file, *image.toolchain, *image.toolchain.values()])
        kernels = tuple(map(_kernel, data.pop("kernels")))
        residents = tuple(Resident(**fields) for fields in data.pop("residents"))
        named = [(kernel.device, kernel.symbol) for kernel in kernels]
        named += [(resident.device, resident.symbol) for resident in residents]
        for device, symbol in named:
            checked.text(symbol)
            if device not in images:
                raise ValueError(f"no device {device!r}")
        for resident in residents:
            checked.number(resident.nbytes)
            checked.number(resident.shard_bytes)
        return Offload(images, kernels, residents, **data)


def _kernel(data: dict[str, Any]) -> Kernel:
    texts = {name: checked.texts(data[name]) for name in ("types", "nodes")}
    kernel = Kernel(**{**data, **texts})
    for type in kernel.types:
        if type not in ARGUMENT_TYPES:
            raise ValueError(f"type {type!r}")
    return kernel
