# SPDX-License-Identifier: Apache-2.0
"""Bank conflicts in the simulator, compared with figures computed by hand; waits at mbarriers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_support import Kernels, image, opened
from xtc.core.errors import UserError
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

MEMORY = 64 << 20
LANES = range(32)
EVENTS = {
    "reads": "SHARED_READ_CONFLICTS",
    "writes": "SHARED_WRITE_CONFLICTS",
    "copies": "ASYNC_COPY_CONFLICTS",
    "loads": "LOADED_MATRIX_CONFLICTS",
    "stores": "STORED_MATRIX_CONFLICTS",
}
UNGROUPED = "nvgpu.UNGROUPED_ACCESSES"
NONE = -1


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    with opened(image("nvgpu_banks"), memory_bytes=MEMORY, sim_banks=True) as found:
        yield found


def counted(kernels: Kernels, kernel: str, offsets: Sequence[int], *others: Any) -> dict[str, int]:
    """The nonzero sums of counters when a warp, or two, access these offsets."""
    device = kernels.device
    places = np.full(64, NONE, np.int32)
    places[: len(offsets)] = offsets
    before = device.counters()
    device.launch(getattr(kernels, kernel), [device.array(places), *others])
    device.queue().wait()
    after = device.counters()
    return {
        name[6:]: int(after[name] - before[name]) for name in after if after[name] > before[name]
    }


def conflicts(kernels: Kernels, kernel: str, offsets: Sequence[int], *others: int) -> int:
    """The conflicts of the kernel's kind; there are none of other kinds."""
    found = counted(kernels, kernel, offsets, *others)
    assert not set(found) & {*EVENTS.values(), UNGROUPED} - {EVENTS[kernel]}
    return found.get(EVENTS[kernel], 0)


def strided(nbytes: int) -> list[int]:
    return [lane * nbytes for lane in LANES]


def swizzled(row: int = 128) -> list[int]:
    """The first chunk of 16 bytes of each row, exclusive or with the row."""
    return [lane * row + (lane % 8) * 16 for lane in LANES]


ACCESSES = {
    "a row of floats": (4, strided(4), 0),
    "a row of bytes": (1, strided(1), 0),
    "one word": (4, [64] * 32, 0),
    "bytes of one word": (1, [lane % 4 for lane in LANES], 0),
    "every second word": (4, strided(8), 1),
    "a column of 32 floats": (4, strided(128), 31),
    "a column of 33 floats": (4, strided(132), 0),
    "two words of a bank, each for half of the lanes": (4, [lane % 2 * 128 for lane in LANES], 1),
    "pairs of words in a row": (8, strided(8), 0),
    "one pair": (8, [0] * 32, 0),
    "a column of pairs: 16 lanes at a time": (8, strided(128), 2 * 15),
    "chunks in a row": (16, strided(16), 0),
    "every second chunk: 8 lanes at a time": (16, strided(32), 4 * 1),
    "a column of chunks": (16, strided(128), 4 * 7),
    "a column of swizzled chunks": (16, swizzled(), 0),
    "a half of the lanes": (4, [lane * 128 if lane < 16 else NONE for lane in LANES], 15),
    "one lane": (16, [0, *[NONE] * 31], 0),
}


@pytest.mark.parametrize("kernel", ["reads", "writes"])
@pytest.mark.parametrize("case", ACCESSES)
def test_an_access_of_a_warp(kernels: Kernels, kernel: str, case: str) -> None:
    nbytes, offsets, expected = ACCESSES[case]
    assert conflicts(kernels, kernel, offsets, nbytes, 1) == expected


def test_each_iteration_counts_as_an_instruction(kernels: Kernels) -> None:
    assert conflicts(kernels, "reads", strided(128), 4, 5) == 5 * 31


def test_each_warp_has_separate_conflicts(kernels: Kernels) -> None:
    assert conflicts(kernels, "reads", [*strided(128), *strided(8)], 4, 3) == 3 * (31 + 1)


@pytest.mark.parametrize(
    ("offsets", "expected"), [(strided(128), 28), (swizzled(), 0), (strided(16), 0)]
)
def test_asynchronous_copies(kernels: Kernels, offsets: list[int], expected: int) -> None:
    assert conflicts(kernels, "copies", offsets) == expected


SECTORS = {
    "a row of floats": (4, strided(4), 4),
    "a row of bytes": (1, strided(1), 1),
    "one word": (4, [64] * 32, 1),
    "a row that begins within a sector": (4, [4 + offset for offset in strided(4)], 5),
    "every fourth word": (4, strided(16), 16),
    "chunks in a row": (16, strided(16), 16),
    "a column": (4, strided(128), 32),
    "a half of the lanes": (4, [lane * 4 if lane < 16 else NONE for lane in LANES], 2),
}


@pytest.mark.parametrize("kind", ["READ", "WRITE"])
@pytest.mark.parametrize("case", SECTORS)
def test_sectors_of_an_access_to_global_memory(kernels: Kernels, kind: str, case: str) -> None:
    nbytes, offsets, expected = SECTORS[case]
    array = kernels.device.array(np.zeros(8192, np.uint8))
    found = counted(kernels, f"global_{kind.lower()}s", offsets, nbytes, array)
    assert found[f"GLOBAL_{kind}_REQUESTS"] == 1
    assert found[f"GLOBAL_{kind}_SECTORS"] == expected


@pytest.mark.parametrize("kernel", ["loads", "stores"])
@pytest.mark.parametrize(
    ("matrices", "offsets", "expected"),
    [
        (1, strided(128), 7),
        (2, strided(128), 14),
        (4, strided(128), 28),
        (4, swizzled(), 0),
        (4, strided(16), 0),
        (4, strided(64), 4 * 3),
        (4, strided(144), 0),
    ],
)
def test_ldmatrix_accesses_eight_rows_at_a_time(
    kernels: Kernels, kernel: str, matrices: int, offsets: list[int], expected: int
) -> None:
    both = [*offsets, *offsets]
    assert conflicts(kernels, kernel, both, matrices) == 2 * expected


def test_lanes_that_skip_an_access_are_not_confused_with_others(kernels: Kernels) -> None:
    """16 even lanes of each of two warps first, then all 32."""
    both = [*strided(128), *strided(128)]
    assert counted(kernels, "branches", both)["SHARED_READ_CONFLICTS"] == 2 * (15 + 31)


def test_random_order_counts_the_same() -> None:
    options = {"memory_bytes": MEMORY, "sim_banks": True, "sim_schedule": "shuffled", "seed": 5}
    with opened(image("nvgpu_banks"), **options) as kernels:
        both = [*strided(128), *strided(8)]
        assert conflicts(kernels, "reads", both, 4, 7) == 7 * (31 + 1)
        assert counted(kernels, "branches", both)["SHARED_READ_CONFLICTS"] == 15 + 1 + 31 + 1


def test_accesses_that_cannot_be_combined_are_counted(kernels: Kernels) -> None:
    most, more = 1 << 16, 3
    both = [*strided(128), *strided(4)]
    found = counted(kernels, "many", both, most + more)
    assert found["UNGROUPED_ACCESSES"] == 64 * more
    assert found["SHARED_READ_CONFLICTS"] == most * 31


def test_without_the_option_there_are_no_such_counters() -> None:
    with opened(image("nvgpu_banks"), memory_bytes=MEMORY) as kernels:
        found = counted(kernels, "reads", strided(128), 4, 1)
        assert found["SHARED_READS"] == 32
        names = [*EVENTS.values(), "UNGROUPED_ACCESSES"]
        assert not {f"nvgpu.{name}" for name in names} & set(kernels.device.counters())


@pytest.mark.parametrize(("thread", "stalls"), [(0, 1), (40, 41), (63, 0)])
def test_waits_at_incomplete_phases_are_counted(kernels: Kernels, thread: int, stalls: int) -> None:
    """The last thread at the barrier continues first, then the others by number."""
    found = counted(kernels, "waits", [], thread)
    assert found["MBARRIER_WAITS"] == 64
    assert found.get("MBARRIER_STALLS", 0) == stalls


def matmul_graph() -> xtc.Graph:
    a, b = (O.tensor((64, 64), "float16", name=name) for name in "AB")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def measured(name: str, **options: object) -> float:
    made = NvgpuOptions(arch="sm_80", **options)  # type: ignore[arg-type]
    with NvgpuDevice(made) as gpu, xtc.compile(matmul_graph(), target=gpu) as module:
        return float(module.measure(repeat=1, counters=[name]).counters[name])


def test_tiles_on_tensor_cores_have_no_conflicts() -> None:
    for event in ("LOADED_MATRIX_CONFLICTS", "ASYNC_COPY_CONFLICTS"):
        assert measured(f"nvgpu.{event}", sim_banks=True) == 0


def test_a_disabled_counter_names_its_option() -> None:
    name = "nvgpu.SHARED_READ_CONFLICTS"
    with pytest.raises(UserError, match="has no counter") as error:
        measured(name)
    assert any("sim_banks=True" in hint for hint in error.value.hints)
    with (
        opened(image("nvgpu_banks"), memory_bytes=MEMORY) as kernels,
        pytest.raises(UserError, match="there is no counter") as error,
    ):
        kernels.device.counters().get_checked(name)
    assert any("sim_banks=True" in hint for hint in error.value.hints)


def test_the_option_is_a_flag_of_the_simulator() -> None:
    with pytest.raises(UserError, match="sim_banks='yes' is neither True nor False"):
        NvgpuOptions(sim_banks="yes")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="sim_banks"):
        NvgpuOptions(platform="hw", sim_banks=True)
