# SPDX-License-Identifier: Apache-2.0
"""Placements of tensors and operators, recorded as device names rather than live devices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from xtc.core.errors import UserError

_NAME = re.compile(r"(?P<target>[a-z][a-z_]*)(?P<index>[0-9]*)")


@dataclass(frozen=True)
class Placement:
    """A device by target and name, `mppa0`.

    `device` is the live device if the user gave one; equality ignores it and it is not saved, so
    that a graph can be read back on a machine without the device.
    """

    target: str
    name: str
    device: Any = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


def placement(device: object) -> Placement | None:
    """The placement of a `device=` argument: None (the host), a device, or a name such as "mppa0".

    Raises UserError for anything else.
    """
    if device is None or isinstance(device, Placement):
        return device
    if isinstance(device, str):
        match = _NAME.fullmatch(device)
        if match is None:
            raise UserError(
                f"{device!r} is not a device name", hints=["a target and a number, such as 'null0'"]
            )
        return Placement(match["target"], device if match["index"] else f"{device}0")
    target = getattr(device, "target_name", None)
    name = getattr(device, "device_name", None)
    if not isinstance(target, str) or not isinstance(name, str):
        raise UserError(
            f"device={device!r} is not a device",
            hints=["a device object, or its name, such as 'null0'"],
        )
    return Placement(target, name, device)
