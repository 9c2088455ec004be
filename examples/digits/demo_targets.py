# SPDX-License-Identifier: Apache-2.0
"""Where the demo runs the models: one row per target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


def _host() -> None:
    """The host needs no device to be opened."""


@dataclass(frozen=True)
class DemoTarget:
    """One row of the demo.

    Attributes:
        label: its name in the table and for --targets.
        open: makes a fresh device, which the demo closes; None stands for the host itself.
        options: further arguments of `xtc.compile`.
        bytes_moved: bytes copied to and from such a device so far; None where nothing is copied.
        modelled_seconds: time that a simulated device would have taken so far, where it is one.
        weights_there: whether the device keeps the weights, so that they travel once.
    """

    label: str
    open: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    bytes_moved: Callable[[Any], int] | None = None
    modelled_seconds: Callable[[Any], float] | None = None
    weights_there: bool = True


def _mppa() -> Any:
    from xtc_targets.mppa import MppaDevice

    return MppaDevice()


def _mppa_seconds(device: Any) -> float:
    return float(device.counters()["modelled.mppa.SECONDS"])


def _mppa_bytes(device: Any) -> int:
    counters = device.counters()
    return int(counters["mppa.H2D_BYTES"] + counters["mppa.D2H_BYTES"])


_MPPA = DemoTarget("mppa:sim", _mppa, bytes_moved=_mppa_bytes, modelled_seconds=_mppa_seconds)

TARGETS = {
    target.label: target
    for target in (
        DemoTarget("host", _host),
        DemoTarget("host (C)", _host, {"codegen": "c"}),
        _MPPA,
        replace(_MPPA, label="mppa:sim (w)", weights_there=False),
    )
}
