# SPDX-License-Identifier: Apache-2.0
"""Contractions of 1 to 15 rows or columns: the tiles of tensor cores, one read of the long operand,
accesses of 16 bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import xtc
from tests.unit.nvgpu_code import gpu, has, machine_code, needs_nvdisasm, ptx_of
from tests.unit.tensor_core_contractions import Shape, bias_and_relu, counted, matmul_graph
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

COUNT = max(3, settings().max_examples // 40)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    few, many = draw(st.integers(1, 15)), draw(st.integers(16, 90))
    m, n = (few, many) if draw(st.booleans()) else (many, few)
    batch = draw(st.sampled_from(((), (3,))))
    k = draw(st.sampled_from((64, 96, 133, 520)))
    return Shape(m, n, k, draw(st.booleans()), draw(st.booleans()), batch, batch)


@settings(max_examples=COUNT, deadline=None)
@given(
    shape=shapes(),
    dtype=st.sampled_from(("float16", "bfloat16", "float32")),
    arch=st.sampled_from(("sm_80", "sm_90a")),
)
@example(shape=Shape(1, 1100, 960, False, True), dtype="float16", arch="sm_90a")
@example(shape=Shape(1100, 1, 960), dtype="bfloat16", arch="sm_90a")
def test_any_shape(shape: Shape, dtype: str, arch: str) -> None:
    options = NvgpuOptions(arch=arch, sim_schedule="shuffled")
    graph = matmul_graph(shape, dtype, bias_and_relu)
    with (
        NvgpuDevice(options) as device,
        xtc.compile(graph, target=device, tf32=True, opt_level=1) as module,
        counted(device) as events,
    ):
        module.check()
    assert events["nvgpu.LAUNCHES"] == 1
    assert any(count for name, count in events.items() if "MMA" in name)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "shape",
    [Shape(1, 512, 1024), Shape(4, 512, 1024, False, True), Shape(512, 1, 1024)],
)
def test_the_long_operand_is_read_once(arch: str, shape: Shape) -> None:
    """And the other one once for each tile of it, without the rows that it lacks."""
    few, many = sorted((shape.m, shape.n))
    with (
        NvgpuDevice(NvgpuOptions(arch=arch)) as device,
        xtc.compile(matmul_graph(shape, "float16"), target=device, opt_level=1) as module,
        counted(device) as events,
    ):
        module.check()
    most = 2 * shape.k * (many + few * many // 32)
    assert events["nvgpu.GLOBAL_READ_BYTES"] <= most
    assert events["nvgpu.LAUNCHES"] == 1


@needs_nvdisasm
@pytest.mark.parametrize(
    ("arch", "dtype", "shape"),
    [
        ("sm_80", "float16", Shape(1, 4096, 4096)),
        ("sm_80", "float32", Shape(4096, 3, 4096, False, True)),
        ("sm_90a", "bfloat16", Shape(1, 4096, 4096, False, True)),
        ("sm_90a", "float16", Shape(4096, 1, 4096)),
    ],
)
def test_copies_have_16_bytes(arch: str, dtype: str, shape: Shape, tmp_path: Path) -> None:
    text = ptx_of(matmul_graph(shape, dtype), gpu(arch), tf32=True)
    made = machine_code(text, arch, tmp_path)
    assert set(made.spilled_bytes.values()) == {0}
    opcodes = made.opcodes()
    copies = [name for name in opcodes if name.startswith("LDGSTS")]
    if dtype != "float32" and arch == "sm_90a":
        assert has(opcodes, "UTMALDG")
        assert not copies
    else:
        assert copies
        assert all(name.endswith(".128") for name in copies)
    assert not has(opcodes, "LDG")
