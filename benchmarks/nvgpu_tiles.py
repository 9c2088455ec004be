# SPDX-License-Identifier: Apache-2.0
"""Tile kernels beside cuBLAS; without a GPU, what the assembler and the static model say of them.

A part of `make bench-nvgpu`. The kernel is a plain loop of asynchronous copies and a dot; on sm_90a
the compiler makes a pipeline of bulk copies and warpgroups of it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rich.table import Table

from benchmarks.console import wide_console
from benchmarks.harness import Report
from xtc import tile
from xtc.core.errors import ToolError
from xtc.tile import bfloat16, float16, float32, int32, void_p
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

CUBES = (4096, 8192)
ROWS = (16, 64, 256)  # of tall weights' products, 4096 x 4096
SHARE_GOAL = 0.95
INSTRUCTIONS = ("HGMMA", "UTMALDG", "HMMA", "LDSM", "LDGSTS")

Run = Callable[[str, Mapping[str, Callable[[], Any]]], Report]
say = wide_console().print


@tile.autotune(
    "block_m, block_n, block_k, num_warps",
    [(128, 256, 64, 8), (128, 128, 64, 8), (64, 256, 64, 4), (64, 128, 64, 4), (64, 64, 64, 4)],
)
class Matmul(tile.Script):
    """c = a b, as it is written for any GPU."""

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
    """Rows, columns and the extent of the sum of what is measured."""
    return [(m, 4096, 4096) for m in ROWS] + [(size, size, size) for size in CUBES]


def static(arch: str = "sm_90a") -> None:
    """What is known without a GPU: instructions, resources, and the static model's bound."""
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


def measured(device: NvgpuDevice, run: Run) -> None:
    """The same kernels on a GPU, in turns with cuBLAS on the same arrays."""
    if importlib.util.find_spec("torch") is None:
        say("PyTorch is not installed: there is no cuBLAS to compare with")
        return
    torch: Any = importlib.import_module("torch")
    for name, dtype in (("float16", float16), ("bfloat16", bfloat16)):
        program = Matmul(dtype)
        for m, n, k in shapes():
            kind = getattr(torch, name)
            a = torch.randn(m, k, device="cuda").to(kind)
            b = torch.randn(k, n, device="cuda").to(kind)
            expected, found = (torch.empty(m, n, device="cuda", dtype=kind) for _ in "ef")
            arrays = [device.borrowed(each) for each in (a, b, found)]

            def by_torch(a: Any = a, b: Any = b, out: Any = expected) -> None:
                torch.matmul(a, b, out=out)
                torch.cuda.synchronize()

            calls = {"cuBLAS": by_torch, "xtc": partial(program, m, n, k, *arrays)}
            report = run(f"tile matmul {name} {m}x{n}x{k}", calls)
            torch.testing.assert_close(found, expected, atol=2e-1, rtol=2e-2)
            _tell(report, name, m, n, k)


def _tell(report: Report, name: str, m: int, n: int, k: int) -> None:
    share = 1 / report.ratio("xtc")
    rate = 2 * m * n * k / report.timings["xtc"].median / 1e12
    goal = f"; goal {SHARE_GOAL:.0%}" if m in CUBES else ""
    say(f"{name} {m} x {n} x {k}: {rate:.0f} TFLOP/s, {share:.1%} of cuBLAS{goal}")
