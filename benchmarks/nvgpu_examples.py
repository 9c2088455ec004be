# SPDX-License-Identifier: Apache-2.0
"""Every example of a tile kernel on the GPU and on its simulator; a part of `make bench-nvgpu`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.console import wide_console
from xtc import tile
from xtc.core.errors import XtcError
from xtc.tile.config import device_in_use
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "tile"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "show"))
say = wide_console().print


def compared(device: NvgpuDevice) -> None:
    """Print a row per example: whether both results are right, and how much they differ."""
    table = Table(title="examples: the simulator and the GPU, each against NumPy")
    for title in ("example", "simulator", "GPU", "largest difference", "equal elements"):
        table.add_column(title)
    with NvgpuDevice(NvgpuOptions(arch=device.device_arch)) as simulator:
        for name in NAMES:
            case = importlib.import_module(f"examples.tile.{name}").case()
            if name.startswith("hopper") and device.device_arch != "sm_90a":
                table.add_row(name, "needs sm_90a")
                continue
            simulated, said = _run(case, simulator)
            found, told = _run(case, device)
            apart = np.abs(simulated.astype(np.float64) - found.astype(np.float64))
            equal = np.mean(simulated == found)
            table.add_row(name, said, told, f"{apart.max():.2g}", f"{equal:.1%}")
    say(table)


def _run(case: Any, device: NvgpuDevice) -> tuple[np.ndarray[Any, Any], str]:
    """The result of a device, and whether it is right."""
    before = device_in_use()
    tile.use_device(device)
    try:
        case.run(lambda program: program)
        said = "right"
    except AssertionError:
        said = "WRONG"
    except XtcError as error:
        said = error.what
    finally:
        tile.use_device(before)
    return case.result.copy(), said
