# SPDX-License-Identifier: Apache-2.0
"""Where the demo runs the models: one row per target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    """

    label: str
    open: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    bytes_moved: Callable[[Any], int] | None = None


TARGETS = {
    target.label: target
    for target in (DemoTarget("host", _host), DemoTarget("host (C)", _host, {"codegen": "c"}))
}
