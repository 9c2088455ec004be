# SPDX-License-Identifier: Apache-2.0
"""Wide accesses of tile kernels whose sizes, row strides and offsets are known at run time only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.unit.nvgpu_code import needs_ptxas
from tests.unit.tile_widths import Doubled, Scaled, Shifted
from xtc import tile
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

TYPES = {
    "float32": np.float32,
    "float16": np.float16,
    "int8": np.int8,
    "int64": np.int64,
}
KEPT = 7  # what an output holds where the kernel writes nothing


def bytes_of(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint8).reshape(-1)


def matrices(rng: np.random.Generator, dtype: Any) -> tuple[tuple[int, ...], Any, Any]:
    """Sizes of which about every second is a multiple of 16, a matrix, and its shifted columns."""
    m, n, ld, skip = (int(rng.integers(*pair)) for pair in ((1, 30), (1, 200), (0, 20), (-9, 30)))
    n = -(-n // 16) * 16 if rng.random() < 0.4 else n
    ld = -(-(n + ld) // 16) * 16 if rng.random() < 0.6 else n + ld
    skip = skip // 16 * 16 if rng.random() < 0.6 else skip
    x = rng.integers(-100, 100, (m, ld)).astype(dtype)
    expected = np.full_like(x, KEPT)
    columns = np.arange(n) + skip
    is_inside = (columns >= 0) & (columns < n)
    expected[:, :n] = np.where(is_inside, x[:, np.clip(columns, 0, n - 1)], 0)
    return (m, n, ld, skip), x, expected


@pytest.mark.parametrize("copies", [False, True], ids=["loaded", "copied"])
@pytest.mark.parametrize("name", TYPES)
def test_rows_of_any_length_stride_and_offset(name: str, copies: bool) -> None:
    rng = np.random.default_rng(0)
    program: Any = Shifted(getattr(tile, name), copies, *(((5, 48), 3) if copies else ((8, 64), 1)))
    for case in range(10):
        sizes, x, expected = matrices(rng, TYPES[name])
        for run in (program, program.check)[: 2 if case < 4 else 1]:
            y = np.full_like(x, KEPT)
            run(*sizes, bytes_of(x), bytes_of(y))
            np.testing.assert_array_equal(y, expected, err_msg=str(sizes))


@pytest.mark.parametrize("block", [256, 96, 1000])
def test_vectors_of_any_length(block: int) -> None:
    program: Any = Doubled(tile.float16, block)
    for n in (1, 3, 95, 96, 97, 256, 1001):
        x = np.arange(n).astype(np.float16)
        y = np.full(n + 8, KEPT, np.float16)
        program(n, bytes_of(x), bytes_of(y))
        np.testing.assert_array_equal(y[:n], x + x)
        assert (y[n:] == KEPT).all()


@pytest.fixture(scope="module")
def device() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_banks=True)) as found:
        yield found


def counted(device: NvgpuDevice, program: Any, numbers: tuple[int, ...], size: int) -> Any:
    """The reads and writes of warps, and the sectors of 32 bytes that they access."""
    arrays = [device.array(np.zeros(size, np.uint8)) for _ in range(2)]
    before = device.counters()
    program(*numbers, *arrays)
    device.queue().wait()
    after = device.counters()
    for array in arrays:
        array.free()
    units = ("READ_REQUESTS", "WRITE_REQUESTS", "READ_SECTORS", "WRITE_SECTORS")
    names = [f"nvgpu.GLOBAL_{unit}" for unit in units]
    return [int(after[name] - before[name]) for name in names]


def test_a_vector_whose_length_is_no_multiple_has_one_divided_access(device: NvgpuDevice) -> None:
    program: Any = Doubled()
    assert counted(device, program, (1024,), 4096) == [8, 8, 128, 128]
    # The last block has three elements, with an access each.
    assert counted(device, program, (8 * 128 + 3,), 4108) == [8 + 3, 8 + 3, 128 + 3, 128 + 3]


def test_run_time_strides_have_wide_accesses_where_rows_are_aligned(device: NvgpuDevice) -> None:
    program: Any = Shifted(tile.float32)
    nbytes = 16 * 128 * 4
    aligned = counted(device, program, (16, 128, 128, 0), nbytes)
    assert aligned == [16, 16, 256, 256]  # 512 bytes each
    single = counted(device, program, (16, 127, 127, 0), nbytes)
    assert single[:2] == [64, 64]
    assert single[2] == single[3] < 64 * 5  # lanes access neighbors: at most 5 sectors at a time


@pytest.mark.parametrize(("copies", "access"), [(False, "ld.global.nc.v4"), (True, "cp.async.cg")])
def test_a_kernel_has_both_widths(copies: bool, access: str) -> None:
    program: Any = Shifted(tile.float32, copies)
    kernel = program.compile(16, 128, 128, 0, None, None)
    assert access in kernel.ptx
    assert ("cp.async.ca" if copies else "ld.global.nc.b32") in kernel.ptx
    assert len(kernel.layouts) == 2


def test_what_is_assumed_needs_one_body() -> None:
    program: Any = Scaled(assumed=4)
    ptx = program.compile(16, 128, None, None).ptx
    accesses = re.findall(r"(?:ld|st)\.global[.\w]*", ptx)
    assert accesses
    assert all(".v4." in access for access in accesses)


@needs_ptxas
def test_two_bodies_fit_into_registers() -> None:
    program: Any = Scaled()
    resources = program.compile(16, 128, None, None).resources
    assert resources.spilled_bytes == 0
    assert resources.registers <= 64
