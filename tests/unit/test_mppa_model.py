# SPDX-License-Identifier: Apache-2.0
"""Exact counts and modelled cycles of device code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.mppa_code_support import KERNELS, Array, Run, run, stage_text
from xtc_targets.mppa import MppaDevice
from xtc_targets.mppa.description import COOLIDGE_V2

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


def launch(name: str, kernel: str, shapes: list[tuple[int, ...]], **how: Any) -> Run:
    """Run a kernel on random numbers; all arguments but the last are inputs."""
    random = np.random.default_rng(1)
    arrays: list[Array] = [random.standard_normal(shape, np.float32) for shape in shapes]
    return run((KERNELS / f"{name}.mlir").read_text(), kernel, arrays, **how)


def count(found: Run, event: str, place: str = "cluster.sum.pe.sum") -> float:
    return float(found.counters[f"{event}.{place}"])


def of_peak(found: Run, macs: int) -> float:
    """Multiply-adds per modelled cycle, as a fraction of the peak of all PEs."""
    peak = COOLIDGE_V2.rate("float32") * COOLIDGE_V2.clusters * COOLIDGE_V2.pes
    assert count(found, "mppa.MACS_F32") == macs
    return macs / peak / float(found.counters["modelled.mppa.CYCLES"])


MATMUL = ("matmul_k_loop", "mm_mppa0_0", [(96, 64), (64, 64), (96, 64)])


@pytest.mark.parametrize("double_buffer", [True, False])
def test_the_dma_copies_exactly_the_tiles(double_buffer: bool) -> None:
    found = launch(*MATMUL, double_buffer=double_buffer)
    tiles, steps, size = 6, 4, 4
    assert count(found, "mppa.DMA_GET_OPS") == tiles * steps * 2
    assert count(found, "mppa.DMA_GET_BYTES") == tiles * steps * (16 * 16 + 16 * 64) * size
    assert count(found, "mppa.DMA_PUT_OPS") == tiles
    assert count(found, "mppa.DMA_PUT_BYTES") == tiles * 16 * 64 * size
    assert count(found, "mppa.MACS_F32") == 96 * 64 * 64
    assert count(found, "mppa.FORKS") == tiles * (1 + steps)
    assert count(found, "mppa.PE_RUNS") == tiles * (1 + steps) * 16
    assert count(found, "mppa.MACS_OTHER") == 96 * 64 * size / COOLIDGE_V2.load_bytes_per_cycle


def test_transfers_overlap_with_computation() -> None:
    both = [launch(*MATMUL, double_buffer=choice) for choice in (True, False)]
    cycles = [found.counters["modelled.mppa.CYCLES"] for found in both]
    stalls = [count(found, "modelled.mppa.DMA_STALL") for found in both]
    busy = [count(found, "modelled.mppa.DMA_BUSY") for found in both]
    assert busy[0] == busy[1]
    assert cycles[0] < 0.75 * cycles[1]
    assert stalls[0] < 0.6 * stalls[1]


def test_a_matmul_in_smem_reaches_80_percent_of_peak() -> None:
    shape = (5, 256, 256)
    found = launch("resident_matmul", "resident", [shape] * 3)
    a, b = np.random.default_rng(1).standard_normal((2, *shape), np.float32)
    assert np.allclose(found.arrays[2], 4 * (a @ b), rtol=0, atol=1e-3)
    assert of_peak(found, 4 * 5 * 256**3) >= 0.8


def test_a_matmul_streamed_from_ddr_reaches_80_percent_of_peak() -> None:
    found = launch("streamed_matmul", "streamed", [(512, 512)] * 3)
    a, b = np.random.default_rng(1).standard_normal((2, 512, 512), np.float32)
    assert np.allclose(found.arrays[2], a @ b, rtol=0, atol=1e-3)
    assert of_peak(found, 512**3) >= 0.8


def test_a_kernel_records_its_memory() -> None:
    text = (KERNELS / "matmul_k_loop.mlir").read_text()
    slots = 2 * (16 * 64 + 16 * 16 + 16 * 64) * 4
    assert f"xtc.local_bytes = {slots} : i64" in stage_text(text)
    # One slot each. C is used from the first loop over PEs to its transfer, so nothing is shared.
    single = stage_text(text, double_buffer=False)
    assert f"xtc.local_bytes = {slots // 2} : i64" in single


@pytest.mark.parametrize("vectorized", [False, True])
def test_vectors_of_a_schedule_count_the_same_operations(vectorized: bool) -> None:
    with MppaDevice() as device:
        a = O.tensor((16, 24), "float32", name="a", device=device)
        b = O.tensor((24, 32), "float32", name="b", device=device)
        with O.graph(name="g") as gb:
            O.matmul(a, b, name="c", device=device)
        loops = {"i": None, "k": None, "j": None, "i#4": "unroll", "j#16": "vectorize"}
        schedule = {"c": loops} if vectorized else None
        with xtc.compile(gb.graph, target=device, schedule=schedule) as module:
            module.check()
            assert ("vector<" in module.ir("offloaded")) == vectorized
        assert device.counters()["mppa.MACS_F32.cluster.sum.pe.sum"] == 16 * 24 * 32
