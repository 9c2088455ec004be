# SPDX-License-Identifier: Apache-2.0
"""UPMEM's processing-in-memory modules: thousands of small processors beside their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xtc_targets.upmem.device import UpmemDevice
    from xtc_targets.upmem.options import UpmemOptions
    from xtc_targets.upmem.target import TARGET, UpmemTarget

__all__ = ["TARGET", "UpmemDevice", "UpmemOptions", "UpmemTarget"]


def __getattr__(name: str) -> Any:
    """Import on first use: the compiler of DPU programs, which Makefiles call often, stays fast."""
    if name == "UpmemDevice":
        from xtc_targets.upmem.device import UpmemDevice

        return UpmemDevice
    if name == "UpmemOptions":
        from xtc_targets.upmem.options import UpmemOptions

        return UpmemOptions
    if name in ("TARGET", "UpmemTarget"):
        from xtc_targets.upmem import target

        return getattr(target, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
