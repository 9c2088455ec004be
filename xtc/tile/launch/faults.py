# SPDX-License-Identifier: Apache-2.0
"""Faults of kernels, with the user's line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xtc.core.errors import DeviceFault, DeviceTimeout
from xtc.tile.values.errors import KernelFault, KernelTimeout
from xtc.tile.values.promises import broken, numbered

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel

_PROMISE = re.compile(r"promise (\d+) does not hold")


def explained(kernel: Kernel, error: DeviceFault | DeviceTimeout) -> KernelFault | KernelTimeout:
    """The error of a launch with the user's line, if the device has reported its number."""
    what, notes, hints = error.what, list(error.notes), list(error.hints)
    if promise := _PROMISE.search(what):
        told = broken(numbered(kernel.function, promise[1]))
        what = _PROMISE.sub(told.what, what)
        notes, hints = [*notes, *told.notes], [*hints, *told.hints]
    elif isinstance(error, DeviceFault):
        hints.append(f"check of {kernel.name} with the same arguments finds races and deadlocks")
    where = kernel.line(error.line) if error.line else ""
    kind = KernelTimeout if isinstance(error, DeviceTimeout) else KernelFault
    return kind(what, where=where or error.where, notes=notes, hints=hints)
