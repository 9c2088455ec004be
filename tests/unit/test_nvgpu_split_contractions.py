# SPDX-License-Identifier: Apache-2.0
"""Contractions whose K extent is divided among blocks: right, the same in each run, without races,
and divided only where the model finds it faster."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.nvgpu_code import gpu, machine_code, needs_ptxas, ptx_of
from tests.unit.tensor_core_contractions import (
    Shape,
    bias_and_relu,
    counted,
    matmul_graph,
    residual,
    with_sms,
)
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.description import A100, H100, GpuDescription
from xtc_targets.nvgpu.passes import split_contractions
from xtc_targets.nvgpu.passes._contractions.k_parts import k_parts
from xtc_targets.nvgpu.passes._contractions.mma_tiling import Sizes, tiling_of

COUNT = max(3, settings().max_examples // 40)
pytestmark = pytest.mark.slow
LONG = Shape(24, 40, 1024)
LARGE = Shape(128, 128, 1024)


@pytest.mark.parametrize(
    ("machine", "m", "n", "k", "batch", "nbytes", "parts"),
    [
        (H100, 64, 1024, 8192, 1, 2, 4),
        (H100, 16, 512, 16384, 1, 2, 8),
        (H100, 512, 512, 8192, 1, 2, 8),
        (H100, 512, 512, 8192, 32, 2, 1),
        (H100, 16, 4096, 4096, 1, 2, 1),
        (H100, 2048, 2048, 2048, 1, 2, 1),
        (H100, 64, 1024, 8191, 1, 2, 1),
        (H100, 64, 64, 512, 1, 2, 1),
        (H100, 64, 512, 16384, 1, 4, 8),
        (A100, 512, 512, 8192, 1, 2, 16),
        (A100, 4096, 4096, 4096, 1, 2, 1),
    ],
)
def test_k_is_divided_if_the_result_has_few_tiles(
    machine: GpuDescription, m: int, n: int, k: int, batch: int, nbytes: int, parts: int
) -> None:
    sizes = Sizes(m, n, k, batch, nbytes)
    assert k_parts(sizes, machine, bulk_copies=machine is H100) == parts


@pytest.mark.parametrize("machine", [A100, H100])
@pytest.mark.parametrize("nbytes", [2, 4])
@pytest.mark.parametrize(("m", "n"), [(1, 4096), (16, 4096), (256, 512), (4096, 8), (64, 64)])
def test_slots_hide_the_latency_of_memory(
    machine: GpuDescription, m: int, n: int, nbytes: int
) -> None:
    """40 KiB in flight, with the blocks of an SM that run at the same time."""
    sizes = Sizes(m, n, 4096, 1, nbytes)
    tiling = tiling_of(sizes, machine.sms, machine.shared_bytes_sm)
    rounds = -(-tiling.blocks(m, n) // machine.sms)
    resident = min(rounds, machine.shared_bytes_sm // (tiling.shared_bytes + 1024))
    assert resident * (tiling.slots - 1) * tiling.copied_bytes(sizes) >= 40 << 10
    assert tiling.shared_bytes <= machine.shared_bytes_block


def divided(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """Each contraction has this number of parts, as a large one has."""
    monkeypatch.setattr(split_contractions, "k_parts", lambda *_, **__: parts)


@settings(max_examples=COUNT, deadline=None)
@given(
    dtype=st.sampled_from(("float16", "bfloat16", "float32")),
    machine=st.sampled_from((("sm_80", 132), ("sm_90a", 132), ("sm_90a", 1))),
    parts=st.sampled_from((2, 3)),
    shape=st.builds(
        lambda m, n, a, b, batch: Shape(m, n, 240, a, b, batch, batch),
        st.integers(1, 70),
        st.integers(16, 70),
        st.booleans(),
        st.booleans(),
        st.sampled_from(((), (2,))),
    ),
    then=st.sampled_from((None, bias_and_relu, residual)),
)
def test_any_shape(
    dtype: str,
    machine: tuple[str, int],
    parts: int,
    shape: Shape,
    then: Callable[[Tensor], Tensor] | None,
) -> None:
    """The contraction of the parts, and one kernel for their sum and the epilogue.

    For a single SM, tiles are large, and warpgroups multiply.
    """
    arch, sms = machine
    options = NvgpuOptions(arch=arch, sim_schedule="shuffled", tf32=True)
    with pytest.MonkeyPatch.context() as patch:
        with_sms(patch, sms)
        divided(patch, parts)
        with (
            NvgpuDevice(options) as device,
            xtc.compile(matmul_graph(shape, dtype, then), target=device, opt_level=1) as module,
            counted(device) as events,
        ):
            module.check()
    assert events["nvgpu.LAUNCHES"] == 2
    assert any(count for name, count in events.items() if "MMA" in name)


@pytest.mark.parametrize(("arch", "shape"), [("sm_80", LONG), ("sm_90a", LARGE)])
def test_any_order_of_blocks_gives_the_same_bits(
    arch: str, shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sms(monkeypatch, 4)
    divided(monkeypatch, 8)
    random = np.random.default_rng(0)
    a = random.standard_normal((shape.m, shape.k)).astype(np.float16)
    b = random.standard_normal((shape.k, shape.n)).astype(np.float16)
    orders = [{"sim_schedule": "shuffled", "seed": seed} for seed in (1, 2)]
    found = []
    for order in [{}, *orders]:
        options = NvgpuOptions(arch=arch, **order)
        with (
            NvgpuDevice(options) as device,
            xtc.compile(matmul_graph(shape, "float16"), target=device, opt_level=1) as module,
        ):
            with counted(device) as events:
                found.append(module(a, b))
            assert (events["nvgpu.TMA_LOADS"] > 0) is (arch == "sm_90a")
    np.testing.assert_array_equal(found[0].view(np.uint16), found[1].view(np.uint16))
    np.testing.assert_array_equal(found[0].view(np.uint16), found[2].view(np.uint16))


@pytest.mark.parametrize(("arch", "shape"), [("sm_80", LONG), ("sm_90a", LARGE)])
def test_no_races(arch: str, shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    with_sms(monkeypatch, 4)
    divided(monkeypatch, 4)
    with (
        NvgpuDevice(NvgpuOptions(arch=arch, sim_races=True)) as device,
        xtc.compile(matmul_graph(shape, "float16", bias_and_relu), target=device) as module,
    ):
        module.check()


def test_a_schedule_of_the_users_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    divided(monkeypatch, 4)
    graph = matmul_graph(LONG, "float16")
    schedule = xtc.Schedule(graph)
    schedule["C"].parallelize("i")
    with NvgpuDevice() as device:
        text = xtc.driver.prepare(graph, target=device, schedule=schedule).stage_text("scheduled")
    assert "expand_shape" not in text


@needs_ptxas
@pytest.mark.parametrize(
    ("arch", "dtype", "shape"),
    [
        ("sm_80", "float16", Shape(512, 512, 8192, True)),
        ("sm_80", "float32", Shape(64, 512, 16384)),
        ("sm_90a", "float16", Shape(64, 1024, 8192)),
        ("sm_90a", "bfloat16", Shape(512, 512, 8192, True)),
    ],
)
def test_nothing_is_spilled(arch: str, dtype: str, shape: Shape, tmp_path: Path) -> None:
    text = ptx_of(matmul_graph(shape, dtype, bias_and_relu), gpu(arch), tf32=True)
    assert text.count(".visible .entry") == 2
    made = machine_code(text, arch, tmp_path)
    assert set(made.spilled_bytes.values()) == {0}
    assert "C75" not in made.said
    assert set(re.findall(r"(\d+) bytes stack frame", made.said)) == {"0"}
