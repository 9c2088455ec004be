# SPDX-License-Identifier: Apache-2.0
"""Padding to bucket sizes: elements beyond the arguments never affect a result."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")

import onnx.parser

import xtc
from xtc.core.errors import UserError
from xtc.driver.buckets import BucketedModule
from xtc.driver.buckets.extents import leading, regrouped, valid, whole
from xtc.driver.buckets.plan import planned
from xtc.driver.buckets.step import InexactPaddingError
from xtc.graph.graph import Graph

Array = np.ndarray[Any, Any]
HEAD = '<ir_version: 8, opset_import: ["": 17]>'


def model(inputs: str, nodes: str, constants: str = "", **arrays: Array) -> Any:
    """A model with the output y."""
    proto = onnx.parser.parse_model(
        f"{HEAD} g ({inputs}) => (float[r] y) <{constants}> {{ {nodes} }}"
    )
    del proto.graph.output[0].type.tensor_type.shape.dim[:]
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    for name, array in arrays.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return xtc.from_onnx(proto)


def evaluated(graph: Graph, arrays: Mapping[str, Any]) -> list[Array]:
    found = graph.evaluate(**arrays)
    return list(found.values()) if isinstance(found, dict) else [found]


def poisoned(array: Array, shape: Sequence[int]) -> Array:
    """The array in a larger one of NaN, or of the largest number for types without NaN."""
    kind = array.dtype
    beyond = np.nan if kind.kind == "f" else True if kind.kind == "b" else 7
    result = np.full(shape, beyond, kind)
    result[tuple(map(slice, array.shape))] = array
    return result


def same(read: Any, sizes: Mapping[str, int], larger: Mapping[str, int]) -> None:
    """Check that a bucket's graph computes the same with NaN beyond the arguments."""
    small, large = read.bind(sizes), read.bind(larger)
    plan = planned(small, large)
    rng = np.random.default_rng(0)
    given = {
        str(t.name): np.asarray(rng.standard_normal(t.type.sizes) * 2, t.element.numpy)
        for t in small.inputs
    }
    padded = {
        str(t.name): valid(plan.masks[str(t.name)])
        if str(t.name) in plan.masks
        else poisoned(given[str(t.name)], t.type.sizes)
        for t in plan.graph.inputs
    }
    with np.errstate(all="ignore"):
        results = evaluated(plan.graph, padded)
    for wanted, found, extents in zip(evaluated(small, given), results, plan.outputs, strict=True):
        found = found[np.ix_(*(np.flatnonzero(valid(extent)) for extent in extents))]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


WEIGHTS = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32) / 4
KERNEL = np.random.default_rng(2).standard_normal((4, 3, 3, 3)).astype(np.float32) / 4
TAPS = np.random.default_rng(3).standard_normal((6, 8, 3)).astype(np.float32) / 4
ROWS = "float[b, s, 8] x"
IMAGE = "float[1, 3, h, w] x"
EXACT = {
    "rows, flattened and back": (
        ROWS,
        "n = Shape(x) f = Reshape(x, flat) q = MatMul(f, w) y = Reshape(q, n)",
        "int64[2] flat = {-1, 8}",
    ),
    "attention without a mask": (
        ROWS,
        "q = MatMul(x, w) t = Transpose<perm=[0, 2, 1]>(q) s = MatMul(q, t) p = Softmax(s) "
        "y = MatMul(p, x)",
        "",
    ),
    "causal attention": (
        ROWS,
        "t = Transpose<perm=[0, 2, 1]>(x) s = MatMul(x, t) l = Trilu<upper=0>(s) "
        "c = Cast<to=9>(l) m = Where(c, s, low) p = Softmax(m) y = MatMul(p, x)",
        "float low = {-1e9}",
    ),
    "mean, greatest and least over rows": (
        ROWS,
        "a = ReduceMean<axes=[1], keepdims=0>(x) b = ReduceMax<axes=[1], keepdims=0>(x) "
        "c = ReduceMin<axes=[1], keepdims=0>(x) d = ReduceProd<axes=[1], keepdims=0>(x) "
        "e = Add(a, b) f = Add(c, d) y = Add(e, f)",
        "",
    ),
    "mean of everything": (ROWS, "y = ReduceMean<keepdims=0>(x)", ""),
    "first row, layer norm": (
        ROWS,
        "l = LayerNormalization<axis=-1>(x, g) f = Gather<axis=1>(l, zero) y = Add(f, g)",
        "int64 zero = {0}, float[8] g = {1, 2, 3, 4, 5, 6, 7, 8}",
    ),
    "sums up to each row, from both ends": (
        ROWS,
        "a = CumSum(x, axis) b = CumSum<reverse=1>(x, axis) y = Mul(a, b)",
        "int64 axis = {1}",
    ),
    "a token before the rows": (
        "float[1, s, 8] x",
        "o = Concat<axis=1>(first, x) p = Softmax<axis=1>(o) y = Add(o, p)",
        "float[1, 1, 8] first = {1, 2, 3, 4, 5, 6, 7, 8}",
    ),
    "convolution along rows": (
        ROWS,
        "t = Transpose<perm=[0, 2, 1]>(x) c = Conv<pads=[2, 2], dilations=[2]>(t, k) "
        "r = Relu(c) y = Conv<pads=[1, 1], strides=[2]>(r, j)",
        "",
    ),
    "a convolutional network": (
        IMAGE,
        "c = Conv<pads=[1, 1, 1, 1], strides=[2, 2]>(x, i) r = Relu(c) "
        "m = MaxPool<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(r) "
        "a = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(m) y = GlobalAveragePool(a)",
        "",
    ),
    "an image of twice the size": (
        IMAGE,
        'u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", '
        'nearest_mode="floor">(x, none, scales) y = Conv<pads=[1, 1, 1, 1]>(u, i)',
        "float[0] none = {}, float[4] scales = {1, 1, 2, 2}",
    ),
    "the greatest number's position": (ROWS, "y = ArgMax<axis=1>(x)", ""),
    "sums of pairs": (ROWS, 'y = Einsum<equation="bsd,btd->bd">(x, x)', ""),
    "borders": (
        ROWS,
        "p = Pad(x, pads, two) y = ReduceSum<keepdims=0>(p, axis)",
        "int64[6] pads = {0, 1, 0, 0, 2, 0}, float two = {2}, int64[1] axis = {1}",
    ),
}


@pytest.mark.parametrize("case", EXACT)
def test_nan_beyond_the_arguments_affects_no_result(case: str) -> None:
    inputs, nodes, constants = EXACT[case]
    proto = model(inputs, nodes, constants, w=WEIGHTS, k=TAPS, j=TAPS[:, :6], i=KERNEL)
    symbols = [name for name in ("b", "s", "h", "w") if name in proto.symbols]
    for size in (5, 6):
        sizes = {name: size + n for n, name in enumerate(symbols)}
        same(proto, sizes, dict.fromkeys(symbols, 8))
    if "s" in symbols:
        equal = dict.fromkeys(symbols, 3)
        same(proto, equal, {**equal, "s": 11})


INEXACT = {
    "the last row": (
        ROWS,
        "y = Gather<axis=1>(x, last)",
        "int64 last = {-1}",
        "indices into a padded",
    ),
    "rows after padding": (
        "float[1, s, 8] x",
        "y = Concat<axis=1>(x, x)",
        "",
        "elements follow the padding",
    ),
    "sorted": (ROWS, "v, y = TopK<axis=1>(x, three)", "int64[1] three = {3}", "no rule"),
    "a size as a number": (
        ROWS,
        "n = Shape(x) f = Cast<to=1>(n) g = Gather(f, one) y = Div(x, g)",
        "int64 one = {1}",
        "a constant depends on the size",
    ),
}


@pytest.mark.parametrize("case", INEXACT)
def test_padding_that_would_change_results_is_refused_by_name(case: str) -> None:
    inputs, nodes, constants, why = INEXACT[case]
    read = model(inputs, nodes, constants)
    sizes = dict.fromkeys(read.symbols, 5)
    with pytest.raises(InexactPaddingError, match=why):
        planned(read.bind(sizes), read.bind({**sizes, "s": 8}))


def test_reshapes_keep_track_of_padding_inside_and_outside() -> None:
    rows = [whole(2), leading(5, 8), whole(6)]
    (flat, columns) = regrouped(rows, (10, 6), (16, 6))
    assert valid(flat).sum() == 10
    assert list(np.flatnonzero(valid(flat))) == [*range(5), *range(8, 13)]
    assert regrouped([flat, columns], (2, 5, 3, 2), (2, 8, 3, 2)) == [
        whole(2),
        leading(5, 8),
        whole(3),
        whole(2),
    ]
    assert regrouped([leading(6, 9)], (3, 2), (3, 3)) is None


@pytest.fixture(scope="module")
def bucketed() -> Iterator[BucketedModule]:
    inputs, nodes, constants = EXACT["attention without a mask"]
    read = model(inputs, nodes, constants, w=WEIGHTS)
    with xtc.compile(read, buckets={"s": [8, 4]}, dims={}) as module:
        assert isinstance(module, BucketedModule)
        yield module


@pytest.mark.slow
def test_calls_of_several_sizes_share_a_module(bucketed: BucketedModule) -> None:
    rng = np.random.default_rng(0)
    graphs = set()
    for rows in (5, 7, 6):
        x = rng.standard_normal((2, rows, 8)).astype(np.float32)
        q = x @ WEIGHTS
        scores = q @ q.swapaxes(1, 2)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        expected = powers / powers.sum(-1, keepdims=True) @ x
        np.testing.assert_allclose(bucketed(x), expected, rtol=1e-4, atol=1e-5)
        graphs.add(id(bucketed.graph))
    assert len(graphs) == 1
    assert bucketed.graph.inputs[0].shape == (2, 8, 8)


@pytest.mark.slow
def test_sizes_that_cannot_be_padded_are_compiled_with_a_warning() -> None:
    inputs, nodes, constants, _ = INEXACT["a size as a number"]
    x = np.ones((1, 3, 8), np.float32)
    with xtc.compile(model(inputs, nodes, constants), buckets={"s": [4]}) as module:
        with pytest.warns(
            UserWarning, match="'g' is compiled for b=1, s=3 without padding: .*'y', div"
        ):
            assert np.allclose(module(x), x / 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module(x)


@pytest.mark.parametrize(
    ("buckets", "text"),
    [
        ({"t": [4]}, "buckets: model 'g' has no dynamic dimension 't'"),
        ({"s": []}, r"buckets of dimension 's' cannot be \[\]"),
        ({"s": [0, 4]}, r"buckets of dimension 's' cannot be \[0, 4\]"),
    ],
)
def test_invalid_buckets_are_refused(buckets: Any, text: str) -> None:
    with pytest.raises(UserError, match=text):
        xtc.compile(model(ROWS, "y = Relu(x)"), buckets=buckets)


def test_buckets_for_a_graph_are_refused() -> None:
    graph = model("float[4] x", "y = Relu(x)").graph
    with pytest.raises(UserError, match="buckets are for models with dynamic dimensions"):
        xtc.compile(graph, buckets={"s": [4]})
