# SPDX-License-Identifier: Apache-2.0
"""Tile kernels compared with cuBLAS; without a GPU, figures of the assembler and a static model.

Part of `make bench-nvgpu`. The kernel is a plain loop of asynchronous copies and a dot; on sm_90a
the compiler turns it into a pipeline of bulk copies and warpgroups.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.console import wide_console
from benchmarks.harness import Report
from benchmarks.nvgpu_clock import compare
from xtc import tile
from xtc.core.errors import ToolError
from xtc.tile import bfloat16, float16, float32, int32, void_p
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

CUBES = (4096, 8192)
ROWS, WIDTH = (16, 32, 64, 128, 256), 4096  # of a matmul with square weights
SHARE_GOAL = 0.95
INSTRUCTIONS = ("HGMMA", "UTMALDG", "HMMA", "LDSM", "LDGSTS")

say = wide_console().print


@tile.autotune(
    "block_m, block_n, block_k, num_warps",
    [
        *((128, 256, 64, 8), (128, 128, 64, 8), (128, 64, 64, 8)),
        *((64, 256, 64, 4), (64, 128, 64, 4), (64, 64, 64, 4), (64, 32, 64, 4)),
    ],
)
class Matmul(tile.Script):
    """c = a b, written for any GPU."""

    def __init__(self, dtype, block_m, block_n, block_k, num_warps):
        super().__init__()
        self.dtype, self.num_warps = dtype, num_warps
        self.block_m, self.block_n, self.block_k = block_m, block_n, block_k

    def __call__(self, m: int32, n: int, k: int, a_ptr: void_p, b_ptr: void_p, c_ptr: void_p):
        bm, bn, bk = self.block_m, self.block_n, self.block_k
        self.attrs.blocks = [self.utils.cdiv(m, bm), self.utils.cdiv(n, bn)]
        self.attrs.warps = self.num_warps
        row, column = bm * self.blockIdx.x, bn * self.blockIdx.y
        ga = self.global_view(a_ptr, dtype=self.dtype, shape=[m, k])
        gb = self.global_view(b_ptr, dtype=self.dtype, shape=[k, n])
        gc = self.global_view(c_ptr, dtype=self.dtype, shape=[m, n])
        sa = self.shared_tensor(dtype=self.dtype, shape=[bm, bk])
        sb = self.shared_tensor(dtype=self.dtype, shape=[bk, bn])
        acc = self.register_tensor(dtype=float32, shape=[bm, bn], init=0.0)
        for at in range(0, k, bk):
            self.copy_async(ga, sa, offsets=[row, at])
            self.copy_async(gb, sb, offsets=[at, column])
            self.copy_async_wait_all()
            self.sync()
            self.dot(self.load_shared(sa), self.load_shared(sb), acc, out=acc)
            self.sync()
        self.free_shared(sa)
        self.free_shared(sb)
        self.store_global(gc, self.cast(acc, dtype=self.dtype), offsets=[row, column])


def shapes() -> list[tuple[int, int, int]]:
    """Rows, columns and K extent of the measured matmuls."""
    return [(m, WIDTH, WIDTH) for m in ROWS] + [(size, size, size) for size in CUBES]


def static(arch: str = "sm_90a") -> None:
    """Print the figures without a GPU: instructions, resources, and the static model's bound."""
    table = Table(title=f"tile matmul, float16, {arch}: static and modelled, not measured")
    for title in (
        "m x n x k",
        "tile",
        "registers",
        "spills",
        "shared",
        *INSTRUCTIONS,
        "model without caches",
    ):
        table.add_column(title, justify="right")
    program = Matmul(float16)
    with NvgpuDevice(NvgpuOptions(arch=arch)) as device:
        tile.use_device(device)
        try:
            for m, n, k in shapes():
                table.add_row(*_row(program, m, n, k))
        except ToolError as missing:
            say(f"no instructions to count: {missing.what}")
            return
        finally:
            tile.use_device(None)
    say(table)


def _row(program: Any, m: int, n: int, k: int) -> list[str]:
    arguments = (m, n, k, None, None, None)
    best = program.candidates(*arguments)[0]
    kernel = program.compile(*arguments)
    needs, sass = kernel.resources, kernel.sass
    chosen = "x".join(str(best.parameters[f"block_{dim}"]) for dim in "mnk")
    counts = [str(sass.count(f"{name}.")) for name in INSTRUCTIONS]
    resources = [str(needs.registers), str(needs.spilled_bytes), str(needs.shared_bytes)]
    rate = 2 * m * n * k / best.seconds / 1e12
    return [f"{m} x {n} x {k}", chosen, *resources, *counts, f"{rate:.0f} TFLOP/s"]


def rows() -> dict[str, Callable[[NvgpuDevice], None]]:
    """What is measured on a GPU, the largest matmuls first."""
    return {
        f"tile matmul {dtype} {'x'.join(map(str, sizes))}": partial(_measured, dtype, sizes)
        for sizes in reversed(shapes())
        for dtype in (float16, bfloat16)
    }


def _measured(dtype: Any, sizes: tuple[int, int, int], device: NvgpuDevice) -> None:
    """The kernel on a GPU, alternately with cuBLAS on the same arrays if there is PyTorch."""
    m, n, k = sizes
    program = Matmul(dtype)
    with ExitStack() as stack:
        if has_torch():
            runs = _beside(importlib.import_module("torch"), dtype, program, sizes)
        else:
            say("PyTorch is not installed, or sees no GPU: there is no cuBLAS to compare with")
            runs = _alone(device, dtype, program, sizes, stack)
        _tell(compare(device, f"tile matmul {dtype} {m}x{n}x{k}", runs), dtype, m, n, k)


def has_torch() -> bool:
    """Whether PyTorch is installed and sees a GPU."""
    if importlib.util.find_spec("torch") is None:
        return False
    return bool(importlib.import_module("torch").cuda.is_available())


def _beside(torch: Any, dtype: Any, program: Any, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """cuBLAS and the kernel on arrays of PyTorch, in its stream."""
    m, n, k = sizes
    kind = getattr(torch, dtype.name)
    a, b = (torch.randn(*shape, device="cuda").to(kind) for shape in ((m, k), (k, n)))
    expected, found = (torch.empty(m, n, device="cuda", dtype=kind) for _ in "ef")
    runs = {
        "cuBLAS": partial(torch.matmul, a, b, out=expected),
        "xtc": partial(program, *sizes, a, b, found),
    }
    for run in runs.values():
        run()
    torch.testing.assert_close(found, expected, atol=2e-1, rtol=2e-2)
    return runs


def _alone(
    device: NvgpuDevice, dtype: Any, program: Any, sizes: tuple[int, int, int], stack: ExitStack
) -> dict[str, Any]:
    """The kernel on arrays of the device; some rows of the result are checked with NumPy."""
    m, n, k = sizes
    rng = np.random.default_rng(0)
    stack.enter_context(tile.use_stream())
    host = [rng.standard_normal(s, np.float32).astype(dtype.numpy) for s in ((m, k), (k, n))]
    a, b = (stack.enter_context(device.array(each)) for each in host)
    c = stack.enter_context(device.zeros((m, n), dtype.numpy))
    run = partial(program, *sizes, a, b, c)
    run()
    streams: Any = device.streams
    streams.wait(0)
    check(c.numpy()[:4], host[0][:4].astype(np.float32) @ host[1].astype(np.float32))
    return {"xtc": run}


def check(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    """Raise AssertionError if a result is wrong."""
    np.testing.assert_allclose(found.astype(np.float32), expected, atol=2e-1, rtol=2e-2)


def _tell(report: Report, dtype: Any, m: int, n: int, k: int) -> None:
    rate = 2 * m * n * k / report.timings["xtc"].median / 1e12
    said = f"{dtype} {m} x {n} x {k}: {rate:.0f} TFLOP/s"
    if "cuBLAS" in report.timings:
        share = 1 / report.ratio("xtc")
        goal = f"; goal {SHARE_GOAL:.0%}" if m in CUBES else ""
        said += f", {share:.1%} of cuBLAS{goal}"
    say(said)
