# SPDX-License-Identifier: Apache-2.0
"""Contractions of narrow types: correct with all instructions, integers exactly."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.compiled_batch import results
from tests.unit.ops_support import Array, data
from xtc.codegen.llvm import Machine
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.evaluate import compare, rounding_noise
from xtc.graph.graph import Graph
from xtc_targets.host.description import HostDescription

BATCH, COUNT = (4, 164) if settings().max_examples > 100 else (2, 1)
"""Batches of each type on each processor: 8 products of a type, 2624 in a long run."""
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 33, 47, 64, 67, 97, 128, 131, 200)
DTYPES = ("bfloat16", "float16", "int8", "int16")
IS_X86 = Machine.host().triple.startswith("x86_64")
PROCESSORS: dict[str, dict[str, Any]] = {
    "own": {},
    "panels": {"l2_bytes": 16384, "threads": 2},
    **(
        {"avx2": {"features": "-avx512f,-avxvnni"}, "avxvnni": {"features": "-avx512f"}}
        if IS_X86
        else {}
    ),
}
WIDE = {"bfloat16": "vdpbf16ps", "int8": "vpdpbusd", "int16": "vpdpwssd"}
LARGE = (64, 96, 80)


def matmul_graph(
    m: int, n: int, k: int, dtype: str, flags: tuple[bool, bool] = (False, False)
) -> Graph:
    return batched((), (), (m, n, k), dtype, flags)


def batched(
    lead_a: tuple[int, ...],
    lead_b: tuple[int, ...],
    sizes: tuple[int, int, int],
    dtype: str,
    flags: tuple[bool, bool],
) -> Graph:
    m, n, k = sizes
    a = O.tensor((*lead_a, *((k, m) if flags[0] else (m, k))), dtype, name="A")
    b = O.tensor((*lead_b, *((n, k) if flags[1] else (k, n))), dtype, name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, transpose_a=flags[0], transpose_b=flags[1], name="C")
    return gb.graph


def random_matmul(rng: Random, dtype: str) -> Graph:
    """Of any shape, mostly large enough for dot-product instructions."""
    m, n = rng.choice(SIZES), rng.choice(SIZES)
    k = rng.choice([size for size in SIZES if m * n * size > 16384] or SIZES)
    leads = rng.choice((((), ()), ((), ()), ((2,), (2,)), ((3,), ()), ((), (2,)), ((2, 1), (1, 3))))
    flags = rng.random() < 0.5, rng.random() < 0.5
    lead_a, lead_b = leads
    return batched(lead_a, lead_b, (m, n, k), dtype, flags)


def samples(graph: Graph, seed: int) -> list[Array]:
    """Integers of the whole range, floats around 1."""
    return [
        data(tensor.type.sizes, tensor.element.name, seed + n)
        for n, tensor in enumerate(graph.inputs)
    ]


def check(graph: Graph, arrays: list[Array], actual: Array) -> None:
    expected = graph.evaluate(*arrays, precise=True)
    noise = rounding_noise(graph.evaluate(*arrays, precise=False), expected)
    compare(
        actual, expected, name=str(graph), reduction=graph.reduction_size, noise=noise
    ).raise_if_wrong()


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=COUNT, phases=PHASES)
@given(seed=st.integers(0, (1 << 32) - 1))
def test_random_matmuls(dtype: str, processor: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311  data of a test
    graphs = [random_matmul(rng, dtype) for _ in range(BATCH)]
    batch = [prepare(graph, **PROCESSORS[processor]) for graph in graphs]
    inputs = [samples(graph, rng.randrange(1 << 30)) for graph in graphs]
    for graph, arrays, (actual,) in zip(graphs, inputs, results(batch, inputs), strict=True):
        check(graph, arrays, actual)


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_sums_of_extremes_wrap_around(dtype: str, processor: str) -> None:
    graph = matmul_graph(*LARGE, dtype)
    limits = np.iinfo(dtype)
    with xtc.compile(graph, in_memory=True, **PROCESSORS[processor]) as module:
        for low, high in ((limits.min, limits.min), (limits.min, limits.max), (-1, limits.min)):
            a, b = (
                np.full(tensor.type.sizes, value, dtype)
                for tensor, value in zip(graph.inputs, (low, high), strict=True)
            )
            wide = np.int64(low) * np.int64(high) * LARGE[2]
            np.testing.assert_array_equal(module(a, b), np.full(LARGE[:2], wide).astype(np.int32))


def assembly(options: Mapping[str, str], dtype: str) -> str:
    return prepare(matmul_graph(*LARGE, dtype), **options).stage_text("code")


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "word"), WIDE.items())
@pytest.mark.parametrize("cpu", ["znver4", "sapphirerapids"])
def test_instructions_of_a_processor(dtype: str, word: str, cpu: str) -> None:
    assert word in assembly({"triple": "x86_64-linux-gnu", "cpu": cpu}, dtype)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "dtype", "word"),
    [
        ({"cpu": "alderlake"}, "int8", "{vex}\tvpdpbusd"),
        ({"cpu": "x86-64-v3"}, "int8", "vpmaddwd"),
        ({"cpu": "x86-64-v3"}, "int16", "vpmaddwd"),
        ({"cpu": "skylake-avx512"}, "int16", "vpmaddwd"),
    ],
)
def test_instructions_of_lesser_processors(options: dict[str, str], dtype: str, word: str) -> None:
    assert word in assembly({"triple": "x86_64-linux-gnu", **options}, dtype)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "word"), [("bfloat16", "bfdot"), ("int8", "sdot")])
def test_instructions_of_aarch64(dtype: str, word: str) -> None:
    assert word in assembly({"triple": "aarch64-linux-gnu", "cpu": "neoverse-v1"}, dtype)


@pytest.mark.parametrize(
    ("features", "dots"),
    [
        ("+avx512f,+avx512vl,+avx512bf16", ("avx512bf16",)),
        ("+avx512f,+avx512vl,+avx512bf16,-avx512f,+avx2", ("avx2",)),
        ("+avx2,+avxvnni", ("avxvnni", "avx2")),
        ("+sse2", ()),
    ],
)
def test_features_decide(features: str, dots: tuple[str, ...]) -> None:
    assert HostDescription.of(Machine("x86_64-linux-gnu", "", features)).dots == dots


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_default_schedule_passed_back_gives_the_same_code(dtype: str) -> None:
    graph = matmul_graph(*LARGE, dtype)
    with (
        xtc.compile(graph, in_memory=True) as chosen,
        xtc.compile(graph, schedule=chosen.schedule, in_memory=True) as given,
    ):
        assert given.ir("scheduled") == chosen.ir("scheduled")
        given.check()


def test_a_vectorized_k_without_dot_products_is_refused() -> None:
    schedule = {"C": ["i", "j", "k", "j#16=vectorize", "k#4=vectorize"]}
    with pytest.raises(UserError, match="its target has no instruction that adds 4 such products"):
        xtc.compile(
            matmul_graph(*LARGE, "int8"),
            schedule=schedule,
            triple="x86_64-linux-gnu",
            cpu="x86-64-v3",
        )


def test_vectorizing_all_of_k_is_refused() -> None:
    with pytest.raises(UserError, match="'k' of C cannot be vectorized: 'k' is reduced"):
        xtc.Schedule.of(matmul_graph(8, 8, 2, "bfloat16"), {"C": ["i", "j", "k=vectorize"]})


def test_groups_have_the_size_of_an_instruction() -> None:
    with pytest.raises(UserError, match="'k#3' of C cannot be vectorized: 'k' is reduced"):
        xtc.Schedule.of(matmul_graph(*LARGE, "bfloat16"), {"C": ["i", "j", "k", "k#3=vectorize"]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "nest",
    [
        ["j", "i", "k", "k#8", "i#4=unroll", "j#32=vectorize", "k#2=vectorize"],
        {"j": {"pack": [0, 1]}, "i": {}, "k": {}, "j#16": "vectorize", "k#2": "vectorize"},
        ["i", "k=pack:1", "j", "k#16", "j#6=vectorize", "k#2=vectorize"],
    ],
)
def test_users_schedules_use_dot_products(nest: object) -> None:
    if "avx512bf16" not in HostDescription.of(Machine.host()).dots:
        pytest.skip("this processor has no AVX512-BF16")
    with xtc.compile(matmul_graph(*LARGE, "bfloat16"), schedule={"C": nest}) as module:
        module.check()


def test_tiles_that_split_a_group_are_refused() -> None:
    nest = ["j", "i", "k", "k#7", "j#32=vectorize", "k#2=vectorize"]
    with pytest.raises(UserError, match="'k#2' of C cannot be vectorized"):
        xtc.compile(matmul_graph(*LARGE, "bfloat16"), schedule={"C": nest})


@pytest.mark.slow
def test_a_panel_packed_in_a_loop_that_runs_once_is_converted_before_all_loops() -> None:
    graph = batched((1,), (), (17, 3, 32), "float16", (False, False))
    schedule = {"C": ["b=pack:1", "k", "j", "j#1", "i=vectorize"]}
    with xtc.compile(graph, schedule=schedule, in_memory=True) as module:
        module.check()


@pytest.mark.slow
def test_a_converted_panel_is_packed_again_further_in() -> None:
    graph = batched((), (), (8, 13, 24), "bfloat16", (True, False))
    schedule = {"C": ["i", "j=pack:0", "k=unroll:3 pack:0", "j#6", "j#3=vectorize"]}
    with xtc.compile(graph, schedule=schedule, in_memory=True) as module:
        module.check()
