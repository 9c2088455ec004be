# SPDX-License-Identifier: Apache-2.0
"""Every example of a tile kernel on the GPU and on its simulator, each against NumPy; a part of
`make bench-nvgpu`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.console import wide_console
from xtc import tile
from xtc.tile.config import device_in_use
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "tile"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "show"))
RIGHT = "right"
say = wide_console().print


def rows() -> dict[str, Callable[[NvgpuDevice], None]]:
    """A row for each example."""
    return {f"example {name}": partial(_compared, name) for name in NAMES}


def _compared(name: str, device: NvgpuDevice) -> None:
    """Print whether both results are right, and how much they differ.

    Raises AssertionError if the GPU's is wrong, and what its driver says of an error.
    """
    if name.startswith("hopper") and device.device_arch != "sm_90a":
        say(f"{name}: needs sm_90a")
        return
    case = importlib.import_module(f"examples.tile.{name}").case()
    with NvgpuDevice(NvgpuOptions(arch=device.device_arch)) as simulator:
        simulated, said = _run(case, simulator)
    found, told = _run(case, device)
    apart = np.abs(simulated.astype(np.float64) - found.astype(np.float64)).max()
    equal = np.mean(simulated == found)
    say(
        f"{name}: on the simulator {said}, on the GPU {told}; the largest difference is "
        f"{apart:.2g}, {equal:.1%} of the elements are equal"
    )
    if told != RIGHT:
        raise AssertionError(f"on the GPU it is {told}")


def _run(case: Any, device: NvgpuDevice) -> tuple[np.ndarray[Any, Any], str]:
    """The result of a device, and whether it is right."""
    before = device_in_use()
    tile.use_device(device)
    try:
        case.run(lambda program: program)
        said = RIGHT
    except AssertionError:
        said = "WRONG"
    finally:
        tile.use_device(before)
    return case.result.copy(), said
