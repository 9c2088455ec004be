# SPDX-License-Identifier: Apache-2.0
"""What a program does on devices, as its manifest says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xtc.interfaces.checked import text, texts


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


@dataclass(frozen=True)
class OnDevice:
    """A kernel's symbol, or a constant's, and the name of its device."""

    device: str
    symbol: str


@dataclass(frozen=True)
class Offload:
    """What a program does on devices; the code names devices, kernels and constants by number.

    Attributes:
        images: code by device name; the code numbers devices in the order of their names.
        kernels: functions of the images that the program starts.
        residents: constants that are uploaded when the program is loaded.
    """

    images: Mapping[str, DeviceImage] = field(default_factory=dict)
    kernels: tuple[OnDevice, ...] = ()
    residents: tuple[OnDevice, ...] = ()

    @staticmethod
    def from_data(data: Any) -> Offload:
        """Read what `dataclasses.asdict` gave. Raises ValueError and its like for anything else."""
        images = {text(name): DeviceImage(**image) for name, image in data.pop("images").items()}
        for image in images.values():
            texts([image.target, image.file, *image.toolchain, *image.toolchain.values()])
        lists = {name: tuple(OnDevice(**one) for one in data.pop(name)) for name in tuple(data)}
        for one in (one for found in lists.values() for one in found):
            text(one.symbol)
            if one.device not in images:
                raise ValueError(f"no device {one.device!r}")
        return Offload(images, **lists)
