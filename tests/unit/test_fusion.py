# SPDX-License-Identifier: Apache-2.0
"""Fused, tiled and reordered operations agree with NumPy, and compute nothing twice."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.random_graphs import graphs, inputs_of
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.ir import mlir
from xtc.ir.analysis.structured import is_id, structured
from xtc.ir.mlir import all_operations
from xtc.ir.pipeline import Pipeline, Stage, Step, run_steps
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.unroll_reductions import UnrollReductions
from xtc_targets.host import pipeline as host
from xtc_targets.host.passes import _row_groups
from xtc_targets.host.passes import add_default_schedules as add_default_schedules
from xtc_targets.host.passes.fuse_rows import FuseRows


@contextmanager
def small_tiles(rows: int, bytes: int, factor: int = 8) -> Iterator[None]:
    """Tile and unroll graphs that are normally too small for it."""

    def smaller(step: Step) -> Step:
        if isinstance(step, FuseRows):
            return FuseRows(rows=rows, bytes=bytes)
        return UnrollReductions(factor) if isinstance(step, UnrollReductions) else step

    def pipeline(*arguments: Any, **options: Any) -> Pipeline:
        stages = whole(*arguments, **options).stages
        return Pipeline(tuple(Stage(s.name, tuple(map(smaller, s.steps))) for s in stages))

    whole = host.host_pipeline
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "host_pipeline", pipeline)
        patch.setattr(_row_groups, "_TILE_WORK", 1)
        patch.setattr(_row_groups, "SMALL_BYTES", 0)
        yield


@pytest.fixture(autouse=True)
def _left_to_fusion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give matmuls no schedule, so that they are fused and tiled by rows."""
    monkeypatch.setattr(add_default_schedules, "_RULES", ())


def scheduled(graph: Graph) -> str:
    return prepare(graph).stage_text("scheduled")


def check(graph: Graph) -> None:
    with xtc.compile(graph, in_memory=True) as module:
        module.check()


def tensors(*shapes: tuple[int, ...], dtype: str = "float32") -> list[Tensor]:
    return [O.tensor(shape, dtype, name=f"x{n}") for n, shape in enumerate(shapes)]


def loops(text: str) -> int:
    return text.count("scf.for ") + text.count("scf.forall ")


@pytest.mark.slow
@given(
    graphs(),
    st.integers(0, 1000),
    st.integers(1, 9),
    st.sampled_from([1, 64, 256, 4096]),
    st.integers(1, 8),
)
def test_tiled_graphs_agree_with_numpy(
    graph: Graph, seed: int, rows: int, bytes: int, factor: int
) -> None:
    with small_tiles(rows, bytes, factor), xtc.compile(graph, in_memory=True) as module:
        module.check(*inputs_of(graph, seed))


@pytest.mark.slow
@given(graphs(), st.integers(1, 9), st.sampled_from([1, 64, 256, 4096]))
def test_nothing_is_computed_twice(graph: Graph, rows: int, bytes: int) -> None:
    """Over all tiles, no operation runs more iterations than on whole tensors."""
    before = iterations(prepare(graph).stage_text("source"))
    with small_tiles(rows, bytes):
        after = iterations(scheduled(graph))
    assert {name: after[name] for name in before if after[name] > before[name]} == {}


def iterations(text: str) -> Counter[str]:
    """The number of runs of the bodies of linalg operations, by node id."""
    found: Counter[str] = Counter()
    with mlir.Context():
        module = mlir.Module.parse(text).operation
        for op in all_operations(module):
            nest = structured(op)
            if nest is not None:
                times = math.prod(nest.extents) * trips_around(op)
                found.update({name: times for name in op.attributes if is_id(name)})
    return found


def trips_around(op: Any) -> int:
    """The number of runs of an operation in the surrounding loops."""
    total = 1
    while (op := op.parent) is not None:
        if op.name == "scf.for":
            bounds = [bound.owner.attributes["value"] for bound in list(op.operands)[:3]]
            total *= len(range(*(mlir.IntegerAttr(bound).value for bound in bounds)))
    return total


def matmul_relu(m: int, n: int, k: int, dtype: str = "float32") -> Graph:
    a, b = tensors((m, k), (k, n), dtype=dtype)
    with O.graph(name="f") as gb:
        O.relu(O.matmul(a, b, name="product"), name="clipped")
    return gb.graph


def test_a_matmul_and_its_epilogue_share_a_row_loop_and_the_result() -> None:
    text = scheduled(matmul_relu(64, 48, 32))
    assert loops(text) == 1
    assert re.findall(r"tensor.empty\(\) : (\S+)", text) == ["tensor<64x48xf32>"]
    assert "ins(%extracted_slice_0, %1 : tensor<8x32xf32>, tensor<32x48xf32>)" in text


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_wider_accumulator_is_a_tile(dtype: str) -> None:
    text = scheduled(matmul_relu(64, 48, 32, dtype))
    assert set(re.findall(r"tensor.empty\(\) : tensor<(\S+)xf32>", text)) == {"8x48"}
    assert "64x48xf32" not in text


def test_the_tile_is_allocated_once() -> None:
    text = prepare(matmul_relu(64, 48, 32, "float16")).stage_text("bufferized")
    assert text.count("memref.alloc") == 1
    assert text.index("memref.alloc") < text.index("scf.for")
    assert "memref.copy" not in text


@pytest.mark.slow
def test_consecutive_layers_share_one_loop() -> None:
    x, w1, b1, w2 = tensors((64, 32), (32, 48), (48,), (48, 16))
    with O.graph(name="f") as gb:
        O.softmax(O.matmul(O.relu(O.add(O.matmul(x, w1), b1)), w2))
    text = scheduled(gb.graph)
    assert loops(text) == 1
    assert "tensor<64x48xf32>" not in text
    assert text.count("math.exp") == 1
    check(gb.graph)


def test_layers_whose_weights_fill_a_cache_have_separate_loops() -> None:
    x, w1, w2 = tensors((64, 512), (512, 512), (512, 512))
    with O.graph(name="f") as gb:
        O.relu(O.matmul(O.relu(O.matmul(x, w1)), w2))
    assert loops(scheduled(gb.graph)) == 2


@pytest.mark.slow
def test_a_softmax_in_single_operators_is_one_loop() -> None:
    (x,) = tensors((64, 256))
    with O.graph(name="f") as gb:
        powers = O.exp(O.sub(x, O.reduce_max(x, axes=1, keepdims=True)))
        O.div(powers, O.reduce_sum(powers, axes=1, keepdims=True))
    text = scheduled(gb.graph)
    assert loops(text) == 1
    whole, row = re.findall(r"tensor.empty\(\) : (\S+)", text)
    assert whole == "tensor<64x256xf32>"
    assert row in ("tensor<8xf32>", "tensor<16xf32>")  # 16 if a vector has that many lanes
    check(gb.graph)


@pytest.mark.slow
def test_a_users_schedule_is_kept() -> None:
    graph = matmul_relu(64, 48, 32)
    nest = "{product: {i: {}, k: {}, j: {}}}"
    text = prepare(graph, schedule=nest).stage_text("scheduled")
    assert re.findall(r'{"\./(\w)"}', text) == ["j", "k", "i"]
    assert loops(text) == 3
    assert 'loop.dims = ["i", "j", "k"]' in text
    with xtc.compile(graph, schedule=nest, in_memory=True) as module:
        assert module.ir("lowered").count("llvm.fmul") == 1
        module.check()


@pytest.mark.slow
def test_a_result_that_is_also_read_is_computed_once() -> None:
    a, b = tensors((64, 32), (32, 48))
    with O.graph(name="f") as gb:
        product = O.matmul(a, b, name="product")
        O.outputs(product, O.relu(product))
    text = prepare(gb.graph).stage_text("bufferized")
    assert text.count("__xtc_id_product_") == 1
    assert "memref.alloc" not in text
    assert "memref.copy" not in text
    check(gb.graph)


def test_two_readers_in_the_group_share_a_tile() -> None:
    a, b, c = tensors((64, 32), (32, 32), (32, 32))
    with O.graph(name="f") as gb:
        hidden = O.exp(O.matmul(a, b))
        O.add(O.tanh(hidden), O.matmul(hidden, c))
    text = scheduled(gb.graph)
    assert loops(text) == 1
    assert text.count("math.exp") == 1


@pytest.mark.slow
def test_rows_behind_a_window_are_not_fused() -> None:
    x, w = tensors((1, 34, 34, 16), (3, 3, 16, 16))
    with O.graph(name="f") as gb:
        O.conv2d(O.exp(x), w)
    text = scheduled(gb.graph)
    assert text.index("math.exp") < text.index("scf.for")
    check(gb.graph)


@pytest.mark.slow
def test_a_convolution_and_its_epilogue_share_rows_of_the_image() -> None:
    x, w, b = tensors((2, 58, 58, 16), (3, 3, 16, 32), (32,))
    with O.graph(name="f") as gb:
        O.relu(O.add(O.conv2d(x, w), b))
    text = scheduled(gb.graph)
    assert "scf.forall (%arg4) in (14)" in text  # threads share eight rows of one image at a time
    assert loops(text) == 1
    assert 'loop.dims = ["n", "h", "r", "s", "c", "w", "f"]' in text
    assert "tensor<1x8x56x32xf32>" in text or "tensor<1x7x56x32xf32>" in text
    check(gb.graph)


def test_operators_of_two_devices_are_not_fused() -> None:
    text = prepare(matmul_relu(64, 48, 32)).stage_text("source")
    apart = text.replace("{__xtc_id_product_", '{xtc.device = "d0", __xtc_id_product_')
    with mlir.Context():
        module = mlir.Module.parse(apart).operation
        run_steps(module, [FuseElementwise(), FuseRows(), "canonicalize"])
    product, relu = str(module).index("linalg.matmul"), str(module).index("arith.maximumf")
    assert "scf.yield" in str(module)[product:relu]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "n", "k"), [(13, 17, 1), (1, 17, 13), (13, 1, 17), (1, 1, 1), (67, 40, 23), (9, 130, 50)]
)
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
def test_odd_sizes_are_correct(m: int, n: int, k: int, transpose_b: bool, dtype: str) -> None:
    a, b = tensors((m, k), (n, k) if transpose_b else (k, n), dtype=dtype)
    with O.graph(name="f") as gb:
        O.relu(O.matmul(a, b, transpose_b=transpose_b))
    with small_tiles(rows=4, bytes=4096, factor=4):
        check(gb.graph)


@pytest.mark.slow
def test_sums_keep_their_order() -> None:
    """Loop order, tiles and unrolled bodies change no bits, because no sum is reassociated."""
    a, b = tensors((37, 53), (53, 41))
    with O.graph(name="f") as gb:
        O.matmul(a, b)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(t.type.sizes).astype("float32") for t in (a, b)]
    results = []
    for rows, factor in ((1, 1), (8, 8), (5, 3)):
        with small_tiles(rows, 1 << 20, factor), xtc.compile(gb, in_memory=True) as module:
            results.append(module(*arrays))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
