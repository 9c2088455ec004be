# SPDX-License-Identifier: Apache-2.0
"""float32 contractions of graphs that may round to TF32: by warpgroups and bulk copies on sm_90a if
both operands are contiguous along K, else by warps."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xtc
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
Epilogue = Callable[[Tensor], Tensor] | None


def events_of(shape: Shape, then: Epilogue = None, **options: bool) -> dict[str, int]:
    """The counters of a checked call."""
    with (
        NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device,
        xtc.compile(
            matmul_graph(shape, "float32", then), target=device, tf32=True, **options
        ) as module,
        counted(device) as events,
    ):
        module.check()
    return events


@pytest.mark.parametrize(
    ("shape", "then", "sms"),
    [
        (Shape(256, 128, 192, False, True), None, 1),
        (Shape(200, 136, 84, False, True), bias_and_relu, 1),
        (Shape(264, 72, 132, False, True), residual, 1),
        (Shape(136, 72, 64, False, True, (2,), (2,)), bias_and_relu, 2),
        (Shape(40, 1024, 1024, False, True), None, 132),
    ],
)
def test_warpgroups_multiply_operands_along_k(
    monkeypatch: pytest.MonkeyPatch, shape: Shape, then: Epilogue, sms: int
) -> None:
    with_sms(monkeypatch, sms)
    events = events_of(shape, then)
    assert events["nvgpu.WGMMA_TF32"] > 0
    assert events["nvgpu.TMA_LOADS"] > 0
    assert events["nvgpu.MMA_TF32"] == 0


@pytest.mark.parametrize(
    ("shape", "bulk", "why"),
    [
        (Shape(64, 64, 64), True, "no warpgroups: operand b of tf32 is not contiguous along k"),
        (
            Shape(64, 64, 64, True, True),
            True,
            "no warpgroups: operand a of tf32 is not contiguous along k",
        ),
        (
            Shape(64, 64, 66, False, True),
            True,
            "no bulk copies: a stride of the tensor, 264 bytes, is not a multiple of 16 bytes",
        ),
        (
            Shape(64, 64, 64, False, True),
            False,
            "no warpgroups: operands of tf32, which only bulk copies round",
        ),
    ],
)
def test_warps_multiply_others(
    monkeypatch: pytest.MonkeyPatch, shape: Shape, bulk: bool, why: str
) -> None:
    with_sms(monkeypatch, 1)
    events = events_of(shape, bulk_pipelines=bulk)
    assert events["nvgpu.MMA_TF32"] > 0
    assert events["nvgpu.WGMMA_TF32"] == 0
    prepared = prepare(
        matmul_graph(shape, "float32"), target=gpu("sm_90a"), tf32=True, bulk_pipelines=bulk
    )
    assert f": {why}" in prepared.stage_text("offloaded")


def test_copies_round_to_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 + 2^-11 is halfway between 1 and the next TF32 number; wgmma alone would round to zero."""
    with_sms(monkeypatch, 1)
    a = np.full((64, 64), 1 + 2**-11 + 2**-20, np.float32)
    largest = np.finfo(np.float32).max
    graph = matmul_graph(Shape(64, 64, 64, False, True), "float32")
    with (
        NvgpuDevice() as device,
        xtc.compile(graph, target=device, tf32=True) as module,
        counted(device) as events,
    ):
        up = module(a, np.eye(64, dtype=np.float32))
        down = module(a - np.float32(2**-19), np.eye(64, dtype=np.float32))
        huge = module(np.diag(np.float32([largest, np.nan] + [0] * 62)), a)
    assert events["nvgpu.WGMMA_TF32"] > 0
    assert (up == 1 + 2**-10).all()
    assert (down == 1).all()
    assert np.isinf(huge[0]).all()
    assert np.isnan(huge[1]).all()


def test_the_driver_gets_maps_that_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the operands; the result's map does not."""
    library = stand_in(tmp_path, monkeypatch)
    options = NvgpuOptions(platform="hw", driver_library=library, cubins="none")
    graph = matmul_graph(Shape(2048, 1024, 512, False, True), "float32")
    a, b = np.zeros((2048, 512), np.float32), np.zeros((1024, 512), np.float32)
    with (
        NvgpuDevice(options) as device,
        xtc.compile(graph, target=device, tf32=True) as module,
    ):
        module(a, b)
    maps = [line.split()[2] for line in log(library) if line.startswith("map")]
    assert maps == ["11", "11", "7"]


def test_float32_without_the_option_is_multiplied_by_threads() -> None:
    text = ptx_of(matmul_graph(Shape(512, 512, 512, False, True), "float32"), gpu("sm_90a"))
    assert "fma.rn.f32" in text
    assert "mma" not in text


@needs_ptxas
@needs_nvdisasm
@pytest.mark.parametrize(
    ("shape", "then"),
    [
        (Shape(4096, 4096, 4096, False, True), bias_and_relu),
        (Shape(512, 512, 2048, False, True), None),
        (Shape(2048, 2048, 1024, False, True), residual),
        (Shape(16, 4096, 4096, False, True), None),
    ],
)
def test_nothing_spills(shape: Shape, then: Epilogue, tmp_path: Path) -> None:
    text = ptx_of(matmul_graph(shape, "float32", then), gpu("sm_90a"), tf32=True)
    made = machine_code(text, "sm_90a", tmp_path)
    assert set(made.spilled_bytes.values()) == {0}
    assert "C75" not in made.said
    opcodes = made.opcodes()
    found = [each for each in opcodes if re.fullmatch(r"HGMMA\.64x\d+x8\.F32\.TF32", each)]
    assert sum(opcodes[each] for each in found) >= 4
    assert not any(each.startswith(("LDL", "STL", "LDGSTS", "HMMA")) for each in opcodes)
