# SPDX-License-Identifier: Apache-2.0
"""The speed of the simulated GPU on one core: contractions on tensor cores, and other kernels.

A part of `make bench-nvgpu`. Times are the least processor time of the simulator for a launch,
which other programs disturb less than clock time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import xtc
import xtc.ops as O
from benchmarks.console import wide_console
from examples.tile.layer_norm import LayerNorm
from examples.tile.matmul_async import MatmulAsync
from examples.tile.matmul_pipelined import MatmulPipelined
from examples.tile.softmax import Softmax
from examples.tile.vector_add import VectorAdd
from xtc import tile
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

SIZE, ROUNDS = 512, 30
TILES = {
    "sm_80": (
        *((16, 32, 16), (32, 32, 32), (32, 64, 16), (64, 64, 16)),
        *((64, 64, 32), (128, 64, 32), (128, 128, 32)),
    ),
    "sm_90a": ((128, 128, 64),),
}
"""Of blocks of 128 threads. On sm_90a the loop becomes a pipeline of bulk copies and `wgmma`."""
PIPELINED = ((32, 32, 32), (64, 64, 32))
"""Tiles on sm_80 whose copies run ahead of their multiplications."""
ROWS, COLUMNS, ELEMENTS = 512, 1000, 1 << 20

_Matmul: Any = MatmulAsync
_Pipelined: Any = MatmulPipelined
_VectorAdd: Any = VectorAdd
_Softmax: Any = Softmax
_LayerNorm: Any = LayerNorm
say = wide_console().print


def measured() -> None:
    """Print GFLOP/s of products of float16, by the tile of a block, and of a graph's."""
    for arch, tiles in TILES.items():
        with NvgpuDevice(NvgpuOptions(arch=arch, sim_cores=1)) as device, ExitStack() as stack:
            arrays = _arrays(device, stack)
            calls: dict[str, Callable[[], Any]] = {
                f"tile {'x'.join(map(str, sizes))}": partial(_run, device, _Matmul(*sizes), arrays)
                for sizes in tiles
            }
            if arch == "sm_80":
                for sizes in PIPELINED:
                    name = f"pipelined tile {'x'.join(map(str, sizes))}"
                    calls[name] = partial(_run, device, _Pipelined(*sizes), arrays)
            calls["graph"] = _graph(device, stack, arrays)
            for name, seconds in _least(calls).items():
                rate = 2 * SIZE**3 / seconds * 1e-9
                say(f"simulated product of {SIZE} cubed, {arch}, {name}: {rate:.2f} GFLOP/s")
    _measured_rows()


def _measured_rows() -> None:
    """Print how many elements kernels without tensor cores compute in a second."""
    with NvgpuDevice(NvgpuOptions(arch="sm_80", sim_cores=1)) as device, ExitStack() as stack:
        floats = [
            [stack.enter_context(device.zeros((count,), "float32")) for count in counts]
            for counts in ((ELEMENTS,) * 3, (ROWS * COLUMNS, COLUMNS, COLUMNS, ROWS * COLUMNS))
        ]
        x, weight, bias, y = floats[1]
        launches: dict[str, tuple[Any, tuple[Any, ...]]] = {
            "vector add": (_VectorAdd(), (ELEMENTS, *floats[0])),
            "softmax": (_Softmax(), (ROWS, COLUMNS, x, y)),
            "layer_norm": (_LayerNorm(), (ROWS, COLUMNS, 1e-5, x, weight, bias, y)),
        }
        calls: dict[str, Callable[[], Any]] = {
            name: partial(_launch, device, program, arguments)
            for name, (program, arguments) in launches.items()
        }
        for name, seconds in _least(calls).items():
            count = ELEMENTS if name == "vector add" else ROWS * COLUMNS
            say(
                f"simulated {name}, {count} elements: {count / seconds * 1e-6:.1f} million a second"
            )


def _least(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The simulator's processor time for each call, interleaved."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            before = _processor_seconds()
            call()
            found[name].append(_processor_seconds() - before)
    return {name: min(times) for name, times in found.items()}


def _processor_seconds() -> float:
    """The processor time of the only simulator of this process."""
    (process,) = [p for p in psutil.Process().children() if p.name().startswith("nvgpu_sim")]
    return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) * 1e-9


def _arrays(device: NvgpuDevice, stack: ExitStack) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    host = [rng.standard_normal((SIZE, SIZE), np.float32).astype(np.float16) for _ in "ab"]
    a, b = (stack.enter_context(device.array(each)) for each in host)
    return a, b, stack.enter_context(device.zeros((SIZE, SIZE), "float16"))


def _run(device: NvgpuDevice, program: Any, arrays: tuple[Any, Any, Any]) -> None:
    _launch(device, program, (SIZE, SIZE, SIZE, *arrays))


def _launch(device: NvgpuDevice, program: Any, arguments: tuple[Any, ...]) -> None:
    tile.use_device(device)
    try:
        program(*arguments)
        device.queue().wait()
    finally:
        tile.use_device(None)


def _graph(
    device: NvgpuDevice, stack: ExitStack, arrays: tuple[Any, Any, Any]
) -> Callable[[], Any]:
    a, b = (O.tensor((SIZE, SIZE), "float16", name=name, device=device) for name in "AB")
    with O.graph(name="product") as graph:
        O.matmul(a, b, name="C", device=device)
    module = stack.enter_context(xtc.compile(graph.graph, device))
    return partial(module, *arrays[:2], out=arrays[2])
