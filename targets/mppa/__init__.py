# SPDX-License-Identifier: Apache-2.0
"""Kalray's MPPA, simulated unless configured otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xtc_targets.mppa.config import MppaConfig
    from xtc_targets.mppa.device import MppaDevice

__all__ = ["MppaConfig", "MppaDevice"]


def __getattr__(name: str) -> Any:
    """The runtime's names are imported when they are asked for."""
    if name == "MppaConfig":
        from xtc_targets.mppa.config import MppaConfig

        return MppaConfig
    if name == "MppaDevice":
        from xtc_targets.mppa.device import MppaDevice

        return MppaDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
