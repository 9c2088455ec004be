# SPDX-License-Identifier: Apache-2.0
"""Operations without sums: a thread of a GPU accesses 16 bytes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import xtc
import xtc.ops as O
from tests.unit.test_nvgpu_tiles import counted
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64")


@pytest.fixture(scope="module")
def simulator() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device:
        yield device


def graph(
    operator: Callable[[Tensor], Tensor], shape: tuple[int, ...], dtype: str = "float32"
) -> xtc.Graph:
    x = O.tensor(shape, dtype, name="X")
    with O.graph(name="f") as made:
        operator(x)
    return made.graph


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_is_accessed_by_16_bytes(simulator: NvgpuDevice, dtype: str) -> None:
    size = {"int8": 1024}.get(dtype, 512)  # enough vectors for all multiprocessors
    alone = graph(lambda x: O.maximum(x, x, name="Y"), (size, 1024), dtype)
    events = counted(simulator, alone)
    assert events["GLOBAL_WRITES"] == events["GLOBAL_WRITE_BYTES"] // 16
    assert events["GLOBAL_READS"] == events["GLOBAL_READ_BYTES"] // 16


@pytest.mark.parametrize(
    "operator",
    [
        lambda x: O.relu(O.add(x, x), name="Y"),
        lambda x: O.gelu(x, name="Y"),
        lambda x: O.cast(x, "float16", name="Y"),
        lambda x: O.softmax(x, name="Y"),
    ],
)
def test_chains_agree_with_numpy(
    simulator: NvgpuDevice, operator: Callable[[Tensor], Tensor]
) -> None:
    events = counted(simulator, graph(operator, (256, 1024)))
    assert events["GLOBAL_WRITES"] < 256 * 1024


def test_small_operators_have_a_thread_per_element(simulator: NvgpuDevice) -> None:
    events = counted(simulator, graph(lambda x: O.relu(x, name="Y"), (64, 64)))
    assert events["GLOBAL_WRITES"] == 64 * 64
