# SPDX-License-Identifier: Apache-2.0
"""Runs an example on the simulator, in the interpreter, and through the assembler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.errors import ToolError
from xtc.tile import Program
from xtc.tile.config import device_for

COUNTS = ("GLOBAL_READ_BYTES", "GLOBAL_WRITE_BYTES", "ASYNC_COPY_BYTES", "BARRIERS", "MMA_F16")


@dataclass(frozen=True)
class Launch:
    """A kernel and its arguments."""

    program: Program
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """Consecutive launches and their expected result.

    Attributes:
        result: the array that the last launch writes.
        expected: the result in NumPy.
        atol, rtol: tolerances of elements.
    """

    launches: tuple[Launch, ...]
    result: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]
    atol: float = 0.0
    rtol: float = 1e-5

    def run(self, how: Callable[[Program], Callable[..., Any]]) -> list[Any]:
        """Run every launch through `how`. Raises AssertionError if the result is wrong."""
        self.result[...] = np.zeros((), self.result.dtype)
        reports = [how(launch.program)(*launch.arguments) for launch in self.launches]
        found, wanted = (np.asarray(x, np.float64) for x in (self.result, self.expected))
        np.testing.assert_allclose(found, wanted, atol=self.atol, rtol=self.rtol)
        return reports


def show(case: Case) -> None:
    """Print the check, the counts, the resources and the race report."""
    device = device_for(())
    before = dict(device.counters())
    case.run(lambda program: program)
    after = device.counters()
    print(f"check      agrees with NumPy on {device.device_name}")
    changes = {name: after[f"nvgpu.{name}"] - before.get(f"nvgpu.{name}", 0) for name in COUNTS}
    print("counts    ", ", ".join(f"{name} {count:.0f}" for name, count in changes.items()))
    for launch in case.launches:
        kernel = launch.program.compile(*launch.arguments)
        print(f"resources  {kernel.name}: {_resources(kernel)}")
        for note in kernel.notes:
            print(f"note       {note}")
    for report in case.run(lambda program: program.check):
        print(f"races      {report}")


def _resources(kernel: Any) -> str:
    try:
        return str(kernel.resources)
    except ToolError as error:
        return f"not known: {error.what}"


def halves(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Random float16 numbers centered at 0."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) / 4).astype(np.float16)
