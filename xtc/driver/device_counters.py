# SPDX-License-Identifier: Apache-2.0
"""Counters of devices, counted over calls like the processor's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xtc.core.errors import UserError, did_you_mean
from xtc.interfaces.runtime import AcceleratorDevice

_MODELLED = "modelled."


def device_of(name: str, devices: Iterable[AcceleratorDevice]) -> AcceleratorDevice | None:
    """The device of a counter such as `mppa.DMA_GET_BYTES`; None for the processor's."""
    kind = name.removeprefix(_MODELLED).partition(".")[0]
    return next((device for device in devices if device.target_name == kind), None)


def count(
    call: Callable[[], None], names: Sequence[str], devices: Sequence[AcceleratorDevice]
) -> dict[str, float]:
    """The increments of device counters in one call. Raises UserError for unknown names."""
    if not names:
        return {}
    call()  # excludes one-time work of the first call
    before = _read(names, devices)
    call()
    after = _read(names, devices)
    return {name: after[name] - before[name] for name in names}


def _read(names: Sequence[str], devices: Sequence[AcceleratorDevice]) -> dict[str, float]:
    found: dict[int, Mapping[str, float]] = {}
    values = {}
    for name in names:
        device = device_of(name, devices)
        if device is None:
            raise UserError(f"no device of the program has a counter '{name}'")
        counters = found.setdefault(id(device), device.counters())
        try:
            values[name] = float(counters[name])
        except KeyError:
            own = getattr(counters, "hints", None)  # of a target that knows more than names
            hints = own(name) if own else did_you_mean(name, list(counters))
            raise UserError(f"{device.device_name} has no counter '{name}'", hints=hints) from None
    return values
