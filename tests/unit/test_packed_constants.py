# SPDX-License-Identifier: Apache-2.0
"""Weights that a schedule packs are stored once, in the order in which they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.driver import prepare
from xtc.graph.tensor import Tensor
from xtc.ir import mlir
from xtc.ir.attributes import PACKED
from xtc.ir.packed_constants import packed_constants, sizes_of

pytestmark = pytest.mark.slow


def weights(shape: tuple[int, ...], dtype: Any = np.float32) -> Tensor:
    values = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    return O.tensor(shape, np.dtype(dtype).name, const=values)


def dense(rows: int, columns: int, depth: int, dtype: Any = np.float32) -> xtc.Graph:
    """A matmul with weights, and an epilogue."""
    x = O.tensor((rows, depth), np.dtype(dtype).name, name="X")
    with O.graph(name="dense") as builder:
        O.relu(O.matmul(x, weights((depth, columns), dtype), name="C"))
    return builder.graph


def check(graph: xtc.Graph, **options: Any) -> None:
    with xtc.compile(graph, cache=False, **options) as module:
        module.check()


def is_packed(graph: xtc.Graph, schedule: object = None, **options: int) -> bool:
    return PACKED in prepare(graph, schedule=schedule, **options).stage_text("scheduled")


SIZES = st.sampled_from([1, 2, 7, 16, 31, 32, 33, 64, 97])


@settings(max_examples=settings().max_examples // 2)
@given(SIZES, SIZES, SIZES, st.sampled_from([8, 16, 32]), st.booleans(), st.booleans())
def test_packed_panels_of_any_size(
    rows: int, columns: int, depth: int, width: int, in_rows: bool, threads: bool
) -> None:
    graph = dense(rows, columns, depth)
    schedule = None
    if columns > width and rows > 1:
        share = "parallelize," if threads else ""
        outer = [f"i={share}".rstrip("=,"), "j=pack:1"] if in_rows else [f"j={share}pack:1", "i"]
        schedule = {"C": [*outer, "k", f"j#{width}=vectorize"]}
        assert is_packed(graph, schedule)
    check(graph, schedule=schedule)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int8])
def test_every_element_type(dtype: Any) -> None:
    graph = dense(5, 48, 17, dtype)
    check(graph, schedule={"C": ["j=pack:1", "i", "k", "j#16"]})


@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_panels_too_large_for_a_cache_are_packed_by_default(codegen: str) -> None:
    graph = dense(33, 300, 1100)
    assert is_packed(graph)
    check(graph, codegen=codegen)


@pytest.mark.parametrize("rows", [1, 5, 40])
@pytest.mark.parametrize(("columns", "depth"), [(33, 20), (300, 1100)])
def test_transposed_weights_are_stored_in_reading_order(
    rows: int, columns: int, depth: int
) -> None:
    x = O.tensor((rows, depth), name="X")
    with O.graph(name="linear") as builder:
        O.matmul(x, weights((columns, depth)), transpose_b=True)
    assert "linalg.transpose" not in prepare(builder.graph).stage_text("scheduled")
    check(builder.graph)


def test_a_convolution() -> None:
    x = O.tensor((1, 9, 9, 160), name="X")
    with O.graph(name="conv") as builder:
        O.conv2d(x, weights((3, 3, 160, 128)), padding=1)
    assert is_packed(builder.graph, l1_bytes=32 << 10, l2_bytes=512 << 10)
    check(builder.graph)


def test_the_artifact_stores_weights_once(tmp_path: Path) -> None:
    graph = dense(64, 512, 1024)
    with xtc.compile(graph, cache=False) as module:
        module.save(tmp_path / "packed")
    assert (tmp_path / "packed" / "module.so").stat().st_size < 1.1 * 4 * 512 * 1024


def test_the_artifact_stores_transposed_weights_once(tmp_path: Path) -> None:
    x, w = O.tensor((64, 512), name="X"), weights((1024, 512))
    with O.graph(name="transposed") as builder:
        O.matmul(x, w, transpose_b=True)
    with xtc.compile(builder.graph, cache=False) as module:
        module.save(tmp_path / "packed")
    assert (tmp_path / "packed" / "module.so").stat().st_size < 1.1 * 4 * 512 * 1024


def test_weights_with_other_readers_are_also_stored_unpacked() -> None:
    x, w = O.tensor((8, 64), name="X"), weights((64, 64))
    with O.graph(name="shared") as builder:
        O.add(O.matmul(x, w, name="C"), O.reduce_sum(O.relu(w)))
    schedule = {"C": ["j=pack:1", "i", "k", "j#16=vectorize"]}
    assert is_packed(builder.graph, schedule)
    check(builder.graph, schedule=schedule)


def test_the_packed_view_describes_the_copy() -> None:
    data = np.arange(24, dtype=np.float32).reshape(4, 6)
    text = """module attributes {xtc.packed = {
      w.packed0 = [@w, memref<2x4x2xf32, strided<[2, 6, 1], offset: 2>>] }} {
      memref.global constant @w.packed0 : memref<2x4x2xf32>
      memref.global constant @other : memref<2xf32>
    }"""
    given = {"w": data.tobytes(), "other": b"12345678"}
    with mlir.Context():
        made = packed_constants(mlir.Module.parse(text).operation, given)
    assert set(made) == {"other", "w.packed0"}
    assert sizes_of(made) == {"other": 8, "w.packed0": 64}
    panels = np.frombuffer(made["w.packed0"], np.float32).reshape(2, 4, 2)
    assert (panels == np.stack([data[:, 2:4], data[:, 4:6]])).all()


def test_sizes_of_transformed_filters_are_known_in_advance() -> None:
    text = """module attributes {xtc.transformed = {
      w.t = [@w, dense<1.0> : tensor<4x3xf64>, array<i64: 1, 2>] }} {
      memref.global constant @w.t : memref<16x5xf32>
    }"""
    filters = np.zeros((2, 9, 5), np.float32)
    filters[1] = 1
    with mlir.Context():
        made = packed_constants(mlir.Module.parse(text).operation, {"w": filters.tobytes()})
    assert sizes_of(made) == {"w.t": 4 * 16 * 5} == {"w.t": len(made["w.t"])}
    assert (np.frombuffer(made["w.t"], np.float32) == 9).all()
