# SPDX-License-Identifier: Apache-2.0
"""A GPU's kernels against its bandwidth and cuBLAS; without a GPU, the cost of the simulator.

`make bench-nvgpu`. Goals on a GPU: elementwise operators and sums at 80 % of the rate of a copy.
Matmuls are compared with those of PyTorch, which calls cuBLAS, if PyTorch is installed. A call
waits for its kernels; matmuls are timed 20 in a row, so that the wait hardly counts.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import xtc
import xtc.ops as O
from benchmarks import nvgpu_examples, nvgpu_rows, nvgpu_simulated, nvgpu_tiles
from benchmarks.console import wide_console
from benchmarks.harness import Report, print_table, run_interleaved, save
from xtc import tile
from xtc.runtime import NativeUnit
from xtc.runtime.native import compile_unit
from xtc_targets.nvgpu import NvgpuDevice
from xtc_targets.nvgpu.hardware import first_gpu, unavailable
from xtc_targets.nvgpu.simulator import OWN_CSRC

ROUNDS = 30
ROWS, COLUMNS = 32768, 8192  # 1 GiB of float32
SIZE, PRODUCTS = 2048, 20
FRACTION_GOAL = 0.8
COPIES = {"4 KiB": 1 << 12, "1 MiB": 1 << 20, "64 MiB": 1 << 26}
KERNELS = """
#include "cuda_sim.h"
static void nothing(const uint64_t *arguments) { (void)arguments; }
static const cuda_shape one = {{1, 1, 1}, {1, 1, 1}, 0, {1, 1, 1}, 0},
                        many = {{64, 1, 1}, {256, 1, 1}, 0, {1, 1, 1}, 0};
void empty(const uint64_t *arguments) { cuda_launch(nothing, arguments, &one); }
void threads(const uint64_t *arguments) { cuda_launch(nothing, arguments, &many); }
"""

Candidates = Mapping[str, Callable[[], Any]]
say = wide_console().print


def run(name: str, candidates: Candidates) -> Report:
    """Measure, print and save one comparison; the first candidate is the baseline."""
    report = run_interleaved(
        name, candidates, rounds=ROUNDS, baseline=next(iter(candidates)), min_repeat_ms=2
    )
    print_table(report)
    save(report, Path(f"out/bench-{name.replace(' ', '-')}.json"))
    return report


def bandwidth(device: NvgpuDevice) -> None:
    """Elementwise operators and sums, compared with a copy of the same number of bytes."""
    x = O.tensor((ROWS, COLUMNS), name="X", device=device)
    with O.graph(name="elementwise") as elementwise:
        O.relu(x, name="Y", device=device)
    with O.graph(name="sums") as sums:
        O.reduce_sum(x, axes=1, name="Y", device=device)
    with ExitStack() as stack:
        there, out = (stack.enter_context(device.zeros((ROWS, COLUMNS), "float32")) for _ in "xy")
        total = stack.enter_context(device.zeros(ROWS, "float32"))
        modules = (xtc.compile(graph, device) for graph in (elementwise, sums))
        relu, rows = map(stack.enter_context, modules)
        queue = device.queue()

        def copy() -> None:
            queue.copy_within(out.address, there.address, there.nbytes)
            queue.wait()

        calls = {
            "copy": copy,
            "relu": lambda: relu(there, out=out),
            "sums of rows": lambda: rows(there, out=total),
        }
        report = run("nvgpu bandwidth", calls)
    moved = {"copy": 2, "relu": 2, "sums of rows": 1}
    rates = {
        name: times * there.nbytes / report.timings[name].median for name, times in moved.items()
    }
    for name, rate in rates.items():
        fraction = rate / rates["copy"]
        met = "met" if fraction >= FRACTION_GOAL else "missed"
        say(f"{name}: {rate / 1e9:.0f} GB/s, {fraction:.0%} of the copy; goal 80%: {met}")


def products(dtype: str, device: Any) -> xtc.Graph:
    """Matmuls of one matrix with several others."""
    a = O.tensor((SIZE, SIZE), dtype, name="A", device=device)
    names = [f"B{number}" for number in range(PRODUCTS)]
    others = [O.tensor((SIZE, SIZE), dtype, name=name, device=device) for name in names]
    with O.graph(name="products") as graph:
        O.outputs(*(O.matmul(a, b, device=device) for b in others))
    return graph.graph


def matmul(dtype: str, device: NvgpuDevice) -> None:
    """Matmuls of this element type compared with cuBLAS, and the difference of the results."""
    if not nvgpu_tiles.has_torch():
        say("PyTorch is not installed, or sees no GPU: there is no cuBLAS to compare with")
        return
    torch: Any = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    kind = getattr(torch, dtype)
    random = [torch.randn(SIZE, SIZE, device="cuda").to(kind) for _ in range(PRODUCTS + 1)]
    expected, results = ([torch.empty_like(tensor) for tensor in random[1:]] for _ in "et")

    def by_torch() -> None:
        for b, c in zip(random[1:], expected, strict=True):
            torch.matmul(random[0], b, out=c)
        torch.cuda.synchronize()

    with xtc.compile(products(dtype, device), device) as module, ExitStack() as stack:
        # PyTorch's memory, used in place.
        arrays: Any = [[device.borrowed(tensor) for tensor in part] for part in (random, results)]
        call = stack.enter_context(module._bound(*arrays))
        report = run(f"nvgpu matmul {dtype} {SIZE}", {"cuBLAS": by_torch, "xtc": call})
    pairs = zip(results, expected, strict=True)
    difference = max(float((c.float() - e.float()).abs().max()) for c, e in pairs)
    flops = 2 * SIZE**3 * PRODUCTS
    for name, timing in report.timings.items():
        say(f"{name}: {flops / timing.median / 1e12:.1f} TFLOP/s")
    say(f"{dtype}: {1 / report.ratio('xtc'):.1%} of cuBLAS; largest difference {difference:.2g}")


def simulator_image() -> bytes:
    """Device code with an empty kernel, on one thread and on 64 blocks of 256."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.c")
        source.write_text(KERNELS)
        flags = ("-fvisibility=default",)
        unit = NativeUnit("kernels.so", "library", (source,), (OWN_CSRC,), flags=flags)
        return compile_unit(unit, Path(folder)).read_bytes()


def simulator() -> None:
    """Launches and copies of the simulated GPU; these are not times of a real GPU."""
    with NvgpuDevice() as device:
        module = device.load_module(simulator_image())
        empty, threads = (device.get_module_function(module, name) for name in ("empty", "threads"))
        launches = {
            "question to the driver": lambda: device.memory_info(),
            "empty kernel": lambda: device.launch(empty),
            "16384 threads": lambda: device.launch(threads),
        }
        run("nvgpu_sim launch", launches)
        for size, nbytes in COPIES.items():
            data, other = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
            address = device.memory_allocate(nbytes)
            copies = {
                "NumPy": lambda other=other, data=data: np.copyto(other, data),
                "to the device": lambda a=address, data=data: device.memory_copy_to(a, data.data),
                "from the device": lambda a=address, to=other: device.memory_copy_from(to.data, a),
            }
            run(f"nvgpu_sim copy {size}", copies)


def main() -> None:
    """Print the tables, compare medians with goals, and save the reports."""
    if reason := unavailable():
        say(f"no GPU: {reason}", highlight=False, soft_wrap=True)
        say("What follows are static figures of tile kernels, and times of the simulator.")
        nvgpu_tiles.static()
        simulator()
        nvgpu_simulated.measured()
        return
    with NvgpuDevice(first_gpu()) as device:
        number, arch = device.options.device_index, device.device_arch
        say(f"GPU {number}, {device.device_chip}, code for {arch}")
        tile.use_device(device)
        try:
            nvgpu_tiles.measured(device)
            nvgpu_rows.measured(device)
            nvgpu_examples.compared(device)
            bandwidth(device)
            for dtype in ("float32", "float16"):
                matmul(dtype, device)
        finally:
            tile.use_device(None)


if __name__ == "__main__":
    main()
