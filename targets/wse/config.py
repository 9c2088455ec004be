# SPDX-License-Identifier: Apache-2.0
"""How a simulated wafer behaves, apart from the machine that it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xtc.core.errors import UserError


@dataclass(frozen=True)
class WseConfig:
    """Settings of a simulated wafer.

    Attributes:
        schedule: tasks and PEs in order of their numbers, or shuffled to expose races.
        seed: of the shuffled order, and of the origins of the PEs' cycle counters.
        cycle_limit: modelled cycles after which a command is taken for endless.
        timeout_s: seconds after which it is.
        log, trace: files for what programs print, and for a trace of tasks; None for none.
        memory_bytes: room for what the host and the wafer exchange.
    """

    schedule: Literal["ordered", "shuffled"] = "ordered"
    seed: int = 0
    cycle_limit: int = 1_000_000_000
    timeout_s: float = 600.0
    log: Path | None = None
    trace: Path | None = None
    memory_bytes: int = 1 << 32

    def __post_init__(self) -> None:
        if self.schedule not in ("ordered", "shuffled"):
            raise UserError(f"schedule={self.schedule!r} is neither ordered nor shuffled")
        if not 0 <= self.seed < 1 << 64:
            raise UserError(f"seed={self.seed} does not fit in 64 bits")
        if self.cycle_limit < 1 or self.timeout_s <= 0 or self.memory_bytes < 1:
            raise UserError("the limits of a simulated wafer are more than 0")
