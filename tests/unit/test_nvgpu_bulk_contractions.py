# SPDX-License-Identifier: Apache-2.0
"""Contractions of graphs with bulk copies by a warp: correct in every form, and no counter
increases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import gpu, machine_code, needs_nvdisasm, needs_ptxas, ptx_of
from tests.unit.nvgpu_stand_in import log, stand_in
from tests.unit.tensor_core_contractions import (
    Shape,
    bias_and_relu,
    counted,
    matmul_graph,
    residual,
    with_sms,
)
from xtc.driver import prepare
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow


def factors(c: Tensor) -> Tensor:
    return O.mul(c, O.tensor((c.shape[-2], 1), str(c.dtype), name="factors"), name="E")


def wide(c: Tensor) -> Tensor:
    return O.cast(c, "float32", name="E")


def bias_and_gelu(c: Tensor) -> Tensor:
    bias = O.tensor(c.shape[-1:], str(c.dtype), name="bias")
    return O.gelu(O.add(c, bias, name="D"), name="E")


CASES = [
    ("float16", Shape(256, 128, 192), None, 1),
    ("float16", Shape(512, 256, 64), bias_and_relu, 2),
    ("bfloat16", Shape(200, 136, 80, True, False), bias_and_relu, 1),
    ("float16", Shape(264, 72, 136, False, True), factors, 1),
    ("float16", Shape(136, 136, 200), residual, 1),
    ("float16", Shape(136, 72, 64), bias_and_gelu, 1),
    ("bfloat16", Shape(128, 128, 96), wide, 1),
    ("float16", Shape(72, 72, 168, True, True, (2,), (2,)), bias_and_relu, 5),
    ("bfloat16", Shape(72, 64, 72, False, False, (2, 1), (3,)), None, 2),
]
MEASURES = re.compile(
    r"(GLOBAL|ASYNC_COPY)_?(READ|WRITE)?_?BYTES|GLOBAL_(READS|WRITES)|ASYNC_COPIES|SHARED_.*_BYTES"
    r"|LAUNCHES|BLOCKS|PROXY_FENCES|LOADED_MATRICES|W?G?MMA_.*"
)
"""What a kernel does to memory and computes. Others count what only one of both has: mbarriers,
bulk copies, and the threads that begin them."""


def counts(
    shape: Shape, dtype: str, then: Callable[[Tensor], Tensor] | None
) -> list[dict[str, int]]:
    """The counters without bulk copies and with them, of correct results."""
    found = []
    for bulk in (False, True):
        graph = matmul_graph(shape, dtype, then)
        with (
            NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device,
            xtc.compile(graph, target=device, bulk_pipelines=bulk, opt_level=1) as module,
            counted(device) as events,
        ):
            module.check()
        found.append({name.removeprefix("nvgpu."): count for name, count in events.items()})
    return found


@pytest.mark.parametrize(("dtype", "shape", "then", "sms"), CASES)
def test_no_counter_increases(
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    shape: Shape,
    then: Callable[[Tensor], Tensor] | None,
    sms: int,
) -> None:
    with_sms(monkeypatch, sms)
    before, after = counts(shape, dtype, then)
    assert not before["TMA_LOADS"]
    assert after["TMA_LOADS"] > 0
    worse = {
        name: (before[name], after[name])
        for name in before
        if MEASURES.fullmatch(name) and after[name] > before[name]
    }
    assert worse == {}
    assert after["BARRIERS"] <= before["BARRIERS"]


def test_a_slice_may_be_an_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets and strides are multiples of 16 bytes."""
    with_sms(monkeypatch, 1)
    x, w = O.tensor((160, 256), "float16"), O.tensor((96, 128), "float16")
    with O.graph(name="f") as graph:
        O.matmul(O.slice(x, (3, 8), (131, 104)), w)
    with (
        NvgpuDevice() as device,
        xtc.compile(graph, target=device) as module,
        counted(device) as events,
    ):
        module.check()
    assert events["nvgpu.TMA_LOADS"] > 0


def test_a_launch_encodes_the_tensor_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The maps of both operands, of which blocks load halves of B, and of the result.

    The driver is a stand-in that computes nothing.
    """
    library = stand_in(tmp_path, monkeypatch)
    options = NvgpuOptions(platform="hw", driver_library=library, cubins="none")
    a, b = np.zeros((2048, 512), np.float16), np.zeros((512, 1024), np.float16)
    with (
        NvgpuDevice(options) as device,
        xtc.compile(matmul_graph(Shape(2048, 1024, 512), "float16"), target=device) as module,
    ):
        module(a, b)
    noted = [line for line in log(library) if line.startswith("map")]
    assert noted == [
        "map type 6 rank 2 size 512,2048 box 64,128 swizzle 3",
        "map type 6 rank 2 size 1024,512 box 64,32 swizzle 3",
        "map type 6 rank 2 size 1024,2048 box 64,128 swizzle 3",
    ]


GATES = {
    "two warpgroups": (Shape(4096, 4096, 4096), bias_and_relu),
    "a long sum, transposed": (Shape(2048, 1024, 4096, True, True), None),
    "a residual": (Shape(2048, 2048, 1024), residual),
    "a function of more registers": (Shape(4096, 4096, 512, False, True), bias_and_gelu),
    "one warpgroup, two blocks": (Shape(128, 128 * 132, 512), bias_and_gelu),
    "as many iterations as slots": (Shape(4096, 4096, 192), None),
    "few tiles": (Shape(512, 512, 2048), bias_and_relu),
    "batches": (Shape(1000, 1000, 1000, False, True, (4,), (4,)), factors),
    "float32": (Shape(1024, 2048, 512), wide),
}


def test_pairs_on_an_odd_number_of_multiprocessors(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them is idle; the others run a block each."""
    with_sms(monkeypatch, 5)
    text = ptx_of(matmul_graph(Shape(448, 128, 256, True), "bfloat16"), gpu("sm_90a"))
    assert ".reqnctapercluster 2" in text
    assert ".minnctapersm 1\n" in text


@needs_ptxas
@needs_nvdisasm
@pytest.mark.parametrize(
    ("name", "dtype"),
    list(zip(GATES, itertools.cycle(("float16", "bfloat16")), strict=False)),
)
def test_nothing_is_spilled_or_serialized(name: str, dtype: str, tmp_path: Path) -> None:
    shape, then = GATES[name]
    text = prepare(matmul_graph(shape, dtype, then), target=gpu("sm_90a")).stage_text("code")
    made = machine_code(text[text.index(".version") :], "sm_90a", tmp_path)
    assert set(made.spilled_bytes.values()) == {0}
    assert re.findall(r"(\d+) bytes stack frame", made.said) == ["0"]
    assert "C75" not in made.said
    opcodes = made.opcodes()
    loads = sum(count for opcode, count in opcodes.items() if opcode.startswith("UTMALDG"))
    multiplications = sum(count for opcode, count in opcodes.items() if opcode.startswith("HGMMA"))
    assert loads >= 2
    assert multiplications >= 4
    assert multiplications % 4 == 0  # four for each 64 elements of K
    assert not any(opcode.startswith(("LDL", "STL", "LDGSTS", "HMMA")) for opcode in opcodes)
    in_bulk = then in (None, bias_and_relu, factors)
    stored = [opcode for opcode in opcodes if opcode.startswith("STSM")]
    assert bool(stored) is in_bulk
