# SPDX-License-Identifier: Apache-2.0
"""A GPU's kernels against its bandwidth and cuBLAS; without a GPU, the cost of the simulator.

`make bench-nvgpu`; `ARGS="example 'tile softmax'"` for rows that begin with these words. Each row
is printed when it is measured. One that fails is named at the end, with its cause, and the others
are measured in another process. Goals on a GPU: elementwise operators and sums at 80 % of the rate
of a copy. Matmuls are compared with those of PyTorch, which calls cuBLAS, if PyTorch is installed.
Graphs wait for their kernels; their matmuls are timed 20 in a row, so that the wait hardly counts.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import xtc
import xtc.ops as O
from benchmarks import (
    nvgpu_examples,
    nvgpu_process,
    nvgpu_rows,
    nvgpu_simulated,
    nvgpu_tiles,
)
from benchmarks.console import wide_console
from benchmarks.harness import Report, print_table, run_interleaved, save
from xtc import tile
from xtc.runtime import NativeUnit
from xtc.runtime.native import compile_unit
from xtc_targets.nvgpu import NvgpuDevice
from xtc_targets.nvgpu.hardware import chip_name, first_gpu, unavailable
from xtc_targets.nvgpu.simulator import OWN_CSRC

ROUNDS = 30
ROWS, COLUMNS = 32768, 8192  # 1 GiB of float32
PRODUCTS = 20
SHAPES = {
    "2048": (2048, 2048, 2048),
    "few rows": (16, 4096, 4096),
    "one row": (1, 4096, 4096),
    "few tiles": (64, 1024, 8192),
    "weight gradient": (512, 512, 16384),
}
"""Rows, columns and K extent of the matmuls of graphs; float32 has the first."""
FRACTION_GOAL = 0.8
SECONDS = 540.0
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
    """Operators on rows, compared with a copy of the same number of bytes."""
    x = O.tensor((ROWS, COLUMNS), name="X", device=device)
    with O.graph(name="elementwise") as elementwise:
        O.relu(x, name="Y", device=device)
    with O.graph(name="sums") as sums:
        O.reduce_sum(x, axes=1, name="Y", device=device)
    with O.graph(name="softmax") as softmax:
        O.softmax(x, name="Y", device=device)
    with O.graph(name="layer_norm") as layer_norm:
        O.layer_norm(x, name="Y", device=device)
    with ExitStack() as stack:
        there, out = (stack.enter_context(device.zeros((ROWS, COLUMNS), "float32")) for _ in "xy")
        total = stack.enter_context(device.zeros(ROWS, "float32"))
        graphs = (elementwise, sums, softmax, layer_norm)
        relu, rows, shares, normalized = (
            stack.enter_context(xtc.compile(graph, device)) for graph in graphs
        )
        queue = device.queue()

        def copy() -> None:
            queue.copy_within(out.address, there.address, there.nbytes)
            queue.wait()

        calls = {
            "copy": copy,
            "relu": lambda: relu(there, out=out),
            "sums of rows": lambda: rows(there, out=total),
            "softmax": lambda: shares(there, out=out),
            "layer_norm": lambda: normalized(there, out=out),
        }
        report = run("nvgpu bandwidth", calls)
    moved = {"copy": 2, "relu": 2, "sums of rows": 1, "softmax": 2, "layer_norm": 2}
    rates = {
        name: times * there.nbytes / report.timings[name].median for name, times in moved.items()
    }
    for name, rate in rates.items():
        fraction = rate / rates["copy"]
        met = "met" if fraction >= FRACTION_GOAL else "missed"
        say(f"{name}: {rate / 1e9:.0f} GB/s, {fraction:.0%} of the copy; goal 80%: {met}")


def products(dtype: str, shape: tuple[int, int, int], device: Any) -> xtc.Graph:
    """Matmuls of one matrix with several others."""
    m, n, k = shape
    a = O.tensor((m, k), dtype, name="A", device=device)
    names = [f"B{number}" for number in range(PRODUCTS)]
    others = [O.tensor((k, n), dtype, name=name, device=device) for name in names]
    with O.graph(name="products") as graph:
        O.outputs(*(O.matmul(a, b, device=device) for b in others))
    return graph.graph


def matmul(dtype: str, name: str, device: NvgpuDevice) -> None:
    """Matmuls of these sizes compared with cuBLAS, and the difference of the results."""
    if not nvgpu_tiles.has_torch():
        say("PyTorch is not installed, or sees no GPU: there is no cuBLAS to compare with")
        return
    torch: Any = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    m, n, k = SHAPES[name]
    sizes = [(m, k), *[(k, n)] * PRODUCTS, *[(m, n)] * (2 * PRODUCTS)]
    kind = getattr(torch, dtype)
    made = [torch.randn(*size, device="cuda").to(kind) for size in sizes]
    random, made = made[: PRODUCTS + 1], made[PRODUCTS + 1 :]
    expected, results = made[:PRODUCTS], made[PRODUCTS:]

    def by_torch() -> None:
        for b, c in zip(random[1:], expected, strict=True):
            torch.matmul(random[0], b, out=c)
        torch.cuda.synchronize()

    with xtc.compile(products(dtype, (m, n, k), device), device) as module, ExitStack() as stack:
        # PyTorch's memory, used in place.
        arrays: Any = [[device.borrowed(tensor) for tensor in part] for part in (random, results)]
        call = stack.enter_context(module._bound(*arrays))
        report = run(f"nvgpu matmul {dtype} {name}", {"cuBLAS": by_torch, "xtc": call})
    pairs = zip(results, expected, strict=True)
    difference = max(float((c.float() - e.float()).abs().max()) for c, e in pairs)
    for by, timing in report.timings.items():
        flops, nbytes = 2 * m * n * k, (m * k + k * n + m * n) * random[0].element_size()
        rates = f"{PRODUCTS * flops / timing.median / 1e12:.1f} TFLOP/s"
        say(f"{by}: {rates}, {PRODUCTS * nbytes / timing.median / 1e9:.0f} GB/s")
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


def rows() -> dict[str, Callable[[NvgpuDevice], None]]:
    """All that is measured on a GPU, what matters most first."""
    return {
        **nvgpu_tiles.rows(),
        **nvgpu_rows.rows(),
        **nvgpu_examples.rows(),
        "bandwidth": bandwidth,
        **{f"matmul float16 {name}": partial(matmul, "float16", name) for name in SHAPES},
        "matmul float32 2048": partial(matmul, "float32", "2048"),
    }


def measure(names: Sequence[str], file: Path) -> None:
    """Run rows on the first GPU until one fails."""
    with NvgpuDevice(first_gpu()) as device:
        tile.use_device(device)
        try:
            found = {name: partial(row, device) for name, row in rows().items()}
            nvgpu_process.run_rows(found, names, file)
        finally:
            tile.use_device(None)


def without_gpu() -> None:
    """Print static figures, and what the simulator costs."""
    say("What follows are static figures of tile kernels, and times of the simulator.")
    nvgpu_tiles.static()
    simulator()
    nvgpu_simulated.measured()


def main() -> int:
    """Print the tables, compare medians with goals, and save the reports.

    Returns the exit status: 1 if rows failed, which are listed with their causes.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="rows that begin with these words; all by default")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all rows")
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rows:
        measure(given.names, given.rows)
        return 0
    if reason := unavailable():
        say(f"no GPU: {reason}", highlight=False, soft_wrap=True)
        without_gpu()
        return 0
    options = first_gpu()
    chip = chip_name(options.device_index, options.driver_library)
    say(f"GPU {options.device_index}, {chip}, code for {options.arch}")
    wanted = tuple(given.names) or ("",)
    names = [name for name in rows() if name.startswith(wanted)]
    failed = nvgpu_process.conduct(nvgpu_process.this_script(__file__), names, given.seconds)
    say(f"{len(names) - len(failed)} of {len(names)} rows are measured")
    for name, cause in failed.items():
        say(f"FAILED {name}: {cause}", highlight=False, markup=False)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
