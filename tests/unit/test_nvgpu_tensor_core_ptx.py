# SPDX-License-Identifier: Apache-2.0
"""PTX of matmuls on tensor cores: ptxas keeps all accumulators of a thread in registers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import xtc
from tests.unit.nvgpu_code import ARCHITECTURES, gpu, machine_code, needs_ptxas
from tests.unit.tensor_core_contractions import Shape, bias_and_relu, matmul_graph
from xtc.driver import prepare
from xtc_targets.nvgpu.description import MACHINES

pytestmark = pytest.mark.slow

PRODUCTS = [
    ("float16", Shape(4096, 4096, 4096), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("bfloat16", Shape(4091, 4093, 4095), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("float32", Shape(4096, 4096, 512), "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("float16", Shape(1000, 1000, 300, True, True), "ldmatrix.sync.aligned.m8n8.x4.trans"),
    ("bfloat16", Shape(2048, 2048, 512, False, True), "ldmatrix.sync.aligned.m8n8.x4.shared"),
]


def ptx(dtype: str, shape: Shape, arch: str) -> str:
    graph: xtc.Graph = matmul_graph(shape, dtype, bias_and_relu)
    text = prepare(graph, target=gpu(arch), tf32=True).stage_text("code")
    return text[text.index(".version") :]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("size", [2048, 4096])
def test_blocks_share_the_memory_of_an_sm(arch: str, size: int) -> None:
    """Two blocks per SM; one if two warpgroups compute a tile."""
    text = ptx("float16", Shape(size, size, size), arch)
    words = re.search(r"_launch\[\d+\] = \{(.*)\};", text)
    assert words is not None
    numbers = bytes(int(number) for number in words[1].split(","))
    threads, nbytes = (int.from_bytes(numbers[at : at + 4], "little") for at in (12, 24))
    machine, blocks = MACHINES[arch], 2 if threads < 256 else 1
    # A block takes 1 KiB in addition to its request.
    assert 48 << 10 < nbytes <= machine.shared_bytes_block
    assert blocks * (nbytes + 1024) <= machine.shared_bytes_sm
    assert (".maxnreg 168" if blocks == 1 else ".minnctapersm 2") in text


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("dtype", "shape", "instruction"), PRODUCTS)
def test_nothing_is_spilled(
    arch: str, dtype: str, shape: Shape, instruction: str, tmp_path: Path
) -> None:
    text = ptx(dtype, shape, arch)
    by_warpgroups = arch == "sm_90a" and dtype != "float32"
    is_divided = by_warpgroups and text.count("cp.async.bulk.tensor") > 0
    assert is_divided is (by_warpgroups and shape.k % 8 == 0 and shape.n % 8 == 0)
    assert ("wgmma.mma_async" if by_warpgroups else instruction) in text
    assert ("mma.sync" in text) is not by_warpgroups
    told = machine_code(text, arch, tmp_path).said
    assert re.findall(r"(\d+) bytes stack frame", told) == ["0"]
    assert re.findall(r"(\d+) bytes spill", told) == ["0", "0"]
    assert "C75" not in told
