# SPDX-License-Identifier: Apache-2.0
"""The machine that kernels are compiled for, by the names of Tilus 0.2: `nvgpu_sm90a`, ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xtc.core.errors import UserError
from xtc.tile.config import device_for, device_kept, opened, support_of, tile_target, use_device

_CHIP = re.compile(r"(\w+)_sm(\d+)(\d)([af]?)")


@dataclass(frozen=True)
class TargetProperties:
    """Properties of a machine.

    Attributes:
        compute_capability: its major and minor number.
        feature_suffix: "a" for code that runs on this machine only, "f" for code that runs on
            this one and later ones of its major number, else None.
        shared_memory_per_block: in bytes; 0 if unknown.
    """

    compute_capability: tuple[int, int] = (0, 0)
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

    def __getattr__(self, name: str) -> Callable[[], bool]:
        """`is_nvgpu` and the like: whether the machine is of this kind."""
        if not name.startswith("is_"):
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(what, name=name, obj=self)
        return lambda: self.kind == name.removeprefix("is_")

    def supports(self, target: Target) -> bool:
        """Whether code for `target` runs on this machine."""
        own, other = self.properties, target.properties
        if target == gpgpu_any:
            return True
        if self.kind != target.kind:
            return False
        is_later = own.compute_capability >= other.compute_capability
        if other.feature_suffix is None:
            return is_later
        if own.feature_suffix is None or (own.feature_suffix, other.feature_suffix) == ("f", "a"):
            return False
        if other.feature_suffix == "a":
            return own.compute_capability == other.compute_capability
        return is_later and own.compute_capability[0] == other.compute_capability[0]


gpgpu_any = Target("gpgpu", "any", TargetProperties())
"""Any GPU."""


def get_current_target() -> Target:
    """The default machine for kernels, simulated or real."""
    device = device_for(())
    shared = support_of(device)[2].shared_bytes
    return _named(f"{device.target_name}_{device.device_arch.replace('_', '')}", shared)


def get_default_target() -> Target:
    """The same as `get_current_target`."""
    return get_current_target()


def set_current_target(target: Target) -> None:
    """Compile kernels for this machine, and run them on a simulator of it.

    No effect if it is the current machine. Raises UserError for an unsupported machine.
    """
    current = get_current_target()
    if current.supports(target) and current.properties.compute_capability == (
        target.properties.compute_capability
    ):
        return
    machine = tile_target()
    if target.kind != machine.name:
        raise UserError(
            f"set_current_target: there is no machine {target}",
            hints=["tile.target.nvgpu_sm80, nvgpu_sm90a, ..."],
        )
    use_device(opened(machine, machine.options(arch=target.arch.replace("sm", "sm_"))))


@contextmanager
def scope(target: Target) -> Iterator[Target]:
    """Compile kernels for a machine until the end of the block, as `set_current_target` does."""
    with device_kept():
        set_current_target(target)
        yield target


def match_target(target: Target, target_templates: Sequence[Target]) -> Target | None:
    """The most capable of several machines whose code runs on `target`, or None."""
    fitting = [each for each in target_templates if target.supports(each)]
    return max(fitting, key=lambda each: each.properties.compute_capability, default=None)


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
