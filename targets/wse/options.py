# SPDX-License-Identifier: Apache-2.0
"""The options of a wafer and of its simulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xtc.core.errors import UserError, shown
from xtc.core.value_checks import one_of, positive, whole
from xtc.interfaces.options import of_device, of_machine
from xtc_targets.wse.description import ARCHITECTURES, DEFAULT

SCHEDULES = ("ordered", "shuffled")
MAX_MEMORY_BYTES = 1 << 40


@dataclass(frozen=True)
class WseOptions:
    """Options of a wafer and of code for it.

    Attributes:
        arch: "wse2" or "wse3".
        schedule: "ordered" runs tasks and PEs in numerical order, "shuffled" in a random order,
            which exposes races.
        seed: seed of the random order, and of the initial values of the PEs' cycle counters.
        cycle_limit: limit of a command in modelled cycles; a command that exceeds it is an error.
        timeout_s: time limit of a command, in seconds.
        log, trace: files for the output of programs and for a trace of tasks; None to write none.
        memory_bytes: size of the memory through which the host and the wafer exchange data.
    """

    arch: str = of_machine(DEFAULT.name)
    schedule: Literal["ordered", "shuffled"] = of_device("ordered")
    seed: int = of_device(0)
    cycle_limit: int = of_device(1_000_000_000)
    timeout_s: float = of_device(600.0)
    log: Path | None = of_device(None)
    trace: Path | None = of_device(None)
    memory_bytes: int = of_device(1 << 32)

    def __post_init__(self) -> None:
        if self.arch not in ARCHITECTURES:
            known = " and ".join(ARCHITECTURES)
            raise UserError(
                f"there is no architecture {shown(self.arch)}", hints=[f"{known} are known"]
            )
        one_of("schedule", self.schedule, SCHEDULES)
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("cycle_limit", self.cycle_limit, 1, 2**64 - 1)
        whole("memory_bytes", self.memory_bytes, 1, MAX_MEMORY_BYTES)
        positive("timeout_s", self.timeout_s)
