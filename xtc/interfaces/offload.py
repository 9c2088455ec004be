# SPDX-License-Identifier: Apache-2.0
"""A program's use of devices, as recorded in its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xtc.interfaces import checked

RESIDENTS = "residents.bin"
"""The artifact's file with the constants on devices."""
PROGRAM = "xtc.program"
"""The variable of the program's code through which it reaches its devices."""


@dataclass(frozen=True)
class DeviceImage:
    """The code for one device of a program.

    Attributes:
        target: the target that it was compiled for.
        file: the image, a file of the artifact.
        toolchain: versions and options that affect the code.
    """

    target: str
    file: str
    toolchain: Mapping[str, str]


ARGUMENT_TYPES = ("address", "int32", "int64", "float32", "float64")
"""Types of kernel arguments; their positions are the values of `enum xtc_type`."""


@dataclass(frozen=True)
class Kernel:
    """A device function that the program launches, for some nodes of the graph.

    A function that equal operators share is listed once for each of them.

    Attributes:
        device: the device's name.
        symbol: the function's symbol in the device's image.
        types: the types of its arguments: "address", "int32", "int64", "float32" or "float64".
        nodes: the graph nodes that it computes; empty if they are unknown.
    """

    device: str
    symbol: str
    types: tuple[str, ...]
    nodes: tuple[str, ...] = ()

    @property
    def operator(self) -> str:
        """The node that produces its result, as faults name it; "" if it is unknown."""
        return self.nodes[-1].partition(".")[0] if self.nodes else ""


@dataclass(frozen=True)
class Resident:
    """A constant on a device; the file `RESIDENTS` has all of them, in order.

    Attributes:
        device: the device's name.
        symbol: the constant's symbol.
        nbytes: its size.
        shard_bytes: the size of each memory's shard; 0 if every memory has the whole constant.
    """

    device: str
    symbol: str
    nbytes: int
    shard_bytes: int = 0


@dataclass(frozen=True)
class Offload:
    """A program's use of devices; the code refers to devices, kernels and constants by number.

    Attributes:
        images: code by device name; devices are numbered in the order of their names.
        kernels: the functions that it launches.
        residents: the constants that are uploaded when it is loaded.
    """

    images: Mapping[str, DeviceImage] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    residents: tuple[Resident, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The artifact's files with images and constants."""
        images = (image.file for image in self.images.values())
        return (*images, *([RESIDENTS] if self.residents else []))

    @staticmethod
    def from_data(data: Any) -> Offload:
        """Rebuild the result of `dataclasses.asdict`. Raises ValueError or similar otherwise."""
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
                raise ValueError(f"unknown device {device!r}")
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
