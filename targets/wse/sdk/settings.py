# SPDX-License-Identifier: Apache-2.0
"""The settings of a run's wafer, from the options of `cs_python`."""

from __future__ import annotations

from pathlib import Path

from xtc_targets.wse.options import WseOptions

debugging = False
"""Whether the debugger is imported, which reads the memory of PEs after a run."""
_given: dict[str, object] = {}


def give(**settings: object) -> None:
    """Set values of WseOptions for every runtime of this process."""
    _given.update(settings)


def configured() -> WseOptions:
    """The options of a runtime."""
    return WseOptions(**{"log": Path("sim.log"), **_given})  # type: ignore[arg-type]
