# SPDX-License-Identifier: Apache-2.0
"""The machine for which kernels are compiled, by the names of Tilus 0.2: `nvgpu_sm90a`, ..."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xtc.tile.config import device_for, support_of

_CHIP = re.compile(r"(\w+)_sm(\d+)(\d)([af]?)")


@dataclass(frozen=True)
class TargetProperties:
    """What programs ask of a machine.

    Attributes:
        compute_capability: its major and minor number.
        feature_suffix: "a" where code runs on this machine alone, else None.
        shared_memory_per_block: in bytes; 0 where it is not known.
    """

    compute_capability: tuple[int, int]
    feature_suffix: str | None = None
    shared_memory_per_block: int = 0


@dataclass(frozen=True)
class Target:
    """A machine, as `nvgpu/sm90a`."""

    kind: str
    arch: str
    properties: TargetProperties

    def __str__(self) -> str:
        return f"{self.kind}/{self.arch}"

    def supports(self, target: Target) -> bool:
        """Whether code for `target` runs here."""
        own, other = self.properties, target.properties
        if self.kind != target.kind:
            return False
        if other.feature_suffix == "a":
            return own.feature_suffix == "a" and own.compute_capability == other.compute_capability
        return own.compute_capability >= other.compute_capability


def get_current_target() -> Target:
    """The machine on which kernels run where no argument says it, simulated or not."""
    device = device_for(())
    shared = support_of(device)[2].shared_bytes
    return _named(f"{device.target_name}_{device.device_arch.replace('_', '')}", shared)


def __getattr__(name: str) -> Target:
    if _CHIP.fullmatch(name) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _named(name)


def _named(name: str, shared_bytes: int = 0) -> Target:
    found = _CHIP.fullmatch(name)
    assert found is not None  # noqa: S101
    kind, major, minor, suffix = found.groups()
    return Target(
        kind,
        f"sm{major}{minor}{suffix}",
        TargetProperties((int(major), int(minor)), suffix or None, shared_bytes),
    )
