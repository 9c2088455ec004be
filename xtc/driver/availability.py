# SPDX-License-Identifier: Apache-2.0
"""The targets available on this machine, and why others are not."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.core import discover


@dataclass(frozen=True)
class DeviceStatus:
    """The availability of a target on this machine.

    Attributes:
        target: its name.
        missing: None if its code can run here, else the reason why not.
    """

    target: str
    missing: str | None

    def __str__(self) -> str:
        return f"{self.target}: {'ready' if self.missing is None else self.missing}"


def devices() -> tuple[DeviceStatus, ...]:
    """Every installed target, with the reason where its code cannot run on this machine."""
    return tuple(
        DeviceStatus(name, discover.target(name).unavailable()) for name in discover.targets()
    )
