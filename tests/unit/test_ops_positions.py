# SPDX-License-Identifier: Apache-2.0
"""Operators that read or write at computed positions, against NumPy's functions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import xtc.ops as O
from tests.unit.ops_support import Array, Write, agree, data, exactly, results
from xtc.core.errors import UserError
from xtc.core.types import TensorType

pytestmark = pytest.mark.slow


def indices(shape: tuple[int, ...], size: int, dtype: str = "int64", seed: int = 3) -> Array:
    low = 0 if dtype.startswith("u") else -size
    return np.random.default_rng(seed).integers(low, size, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_gathers(dtype: str) -> None:
    x, i = data((5, 7), "float32"), indices((3, 2), 5, dtype)
    j = indices((4, 7), 5, dtype)
    (taken,) = results([lambda x, i: O.gather(x, i, axis=0)], x, i)
    exactly(taken, np.take(x, i.astype(np.int64), axis=0))
    (along,) = results([lambda x, j: O.gather_elements(x, j, axis=0)], x, j)
    exactly(along, np.take_along_axis(x, j.astype(np.int64), 0))


def test_gathers_stay_inside() -> None:
    x, i = data((5, 7), "float32"), np.array([-100, 100, -5, 4])
    (taken,) = results([O.gather], x, i)
    exactly(taken, x[[0, 4, 0, 4]])


def test_gather_nd_supports_batches() -> None:
    x, rows = data((3, 4, 5, 2), "int32"), indices((3, 6, 2), 4)
    whole, batched = results(
        [lambda x, r: O.gather_nd(x, r), lambda x, r: O.gather_nd(x, r, batch=1)],
        x,
        np.clip(rows, -3, 2),
    )
    r = np.clip(rows, -3, 2)
    exactly(whole, x[r[..., 0], r[..., 1]])
    exactly(batched, x[np.arange(3)[:, None], r[..., 0], r[..., 1]])


@pytest.mark.parametrize(
    ("reduction", "ufunc"),
    [("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)],
)
def test_scatters_combine_in_order(reduction: str, ufunc: np.ufunc) -> None:
    x, u = data((4, 6), "float32"), data((3, 6), "float32", 1)
    i = indices((3, 6), 4)
    rows = indices((5, 1), 4)
    slices = data((5, 6), "float32", 2)
    (found,) = results(
        [lambda x, i, u: O.scatter_elements(x, i, u, axis=0, reduction=reduction)], x, i, u
    )
    expected = x.copy()
    ufunc.at(expected, (i, np.arange(6)), u)
    agree(found, expected)
    (found,) = results(
        [lambda x, r, s: O.scatter_nd(x, r, s, reduction=reduction)], x, rows, slices
    )
    expected = x.copy()
    ufunc.at(expected, rows[:, 0], slices)
    agree(found, expected)


def test_scatters_out_of_range_change_nothing() -> None:
    x = np.zeros((3, 2), np.float32)
    i = np.array([[-4, 3], [2, -3]])
    (found,) = results(
        [lambda x, i, u: O.scatter_elements(x, i, u, axis=0)], x, i, np.ones((2, 2), np.float32)
    )
    exactly(found, np.array([[0, 1], [0, 0], [1, 0]], np.float32))


REARRANGEMENTS: dict[str, tuple[Write, Any]] = {
    "flip": (lambda x: O.flip(x, axes=(0, 2)), lambda x: x[::-1, :, ::-1]),
    "tile": (lambda x: O.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "expand": (lambda x: O.expand(x, (2, 3, 4, 5)), lambda x: np.broadcast_to(x, (2, 3, 4, 5))),
    "upper": (lambda x: O.trilu(x, diagonal=1), lambda x: np.triu(x, 1)),
    "lower": (lambda x: O.trilu(x, upper=False), np.tril),
    "edge": (
        lambda x: O.pad_mirrored(x, (1, (0, 9), 0), mode="edge"),
        lambda x: np.pad(x, ((1, 1), (0, 9), (0, 0)), mode="edge"),
    ),
    "reflect": (
        lambda x: O.pad_mirrored(x, (7, (2, 9), 0)),
        lambda x: np.pad(x, ((7, 7), (2, 9), (0, 0)), mode="reflect"),
    ),
    "wrap": (
        lambda x: O.pad_mirrored(x, (7, (2, 9), 0), mode="wrap"),
        lambda x: np.pad(x, ((7, 7), (2, 9), (0, 0)), mode="wrap"),
    ),
    "dilate": (lambda x: O.dilate(x, (1, 2, 1)), lambda x: _dilated(x)),
}


def _dilated(x: Array) -> Array:
    result = np.zeros((x.shape[0], 2 * x.shape[1] - 1, x.shape[2]), x.dtype)
    result[:, ::2] = x
    return result


@pytest.mark.parametrize("dtype", ["float32", "uint16"])
def test_rearrangements(dtype: str) -> None:
    x = data((3, 4, 5), dtype)
    found = results([write for write, _ in REARRANGEMENTS.values()], x)
    for actual, (name, (_, formula)) in zip(found, REARRANGEMENTS.items(), strict=True):
        np.testing.assert_array_equal(actual, formula(x), err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_positions_of_extremes(dtype: str) -> None:
    x = np.round(data((5, 9), dtype) % 4).astype(dtype)
    largest, last, least, order = results(
        [
            lambda x: O.argmax(x, axis=1),
            lambda x: O.argmax(x, axis=0, last=True, keepdims=True),
            lambda x: O.argmin(x, axis=1),
            lambda x: O.topk(x, 4, axis=1),
        ],
        x,
    )
    exactly(largest, np.argmax(x, 1))
    exactly(last, 4 - np.argmax(x[::-1], 0)[None])
    exactly(least, np.argmin(x, 1))
    exactly(order, np.argsort(-x.astype(np.float64), axis=1, kind="stable")[:, :4])


def test_nan_is_an_extreme() -> None:
    x = np.array([1, np.nan, 5, np.nan], np.float32)
    first, last, order = results(
        [O.argmax, lambda x: O.argmin(x, last=True), lambda x: O.topk(x, 4)], x
    )
    assert (int(first), int(last), order.tolist()) == (1, 3, [1, 3, 2, 0])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("size", [1, 2, 7, 16])
def test_prefixes(dtype: str, size: int) -> None:
    x = (data((3, size), dtype) % 3).astype(dtype)
    total, product, exclusive, reverse = results(
        [
            lambda x: O.cumsum(x, axis=1),
            lambda x: O.cumprod(x, axis=1),
            lambda x: O.cumsum(x, axis=1, exclusive=True),
            lambda x: O.cumsum(x, axis=1, reverse=True),
        ],
        x,
    )
    sums = np.cumsum(x, 1, dtype=dtype)
    agree(total, sums)
    agree(product, np.cumprod(x, 1, dtype=dtype))
    agree(exclusive, sums - x)
    agree(reverse, np.cumsum(x[:, ::-1], 1, dtype=dtype)[:, ::-1])


def test_einsum_and_resample() -> None:
    a, b = data((2, 3, 4), "float32"), data((4, 2, 5), "float32", 1)
    (product,) = results([lambda a, b: O.einsum("bij, jbk -> bik", a, b)], a, b)
    agree(product, np.einsum("bij,jbk->bik", a, b), 4)
    rows = np.array([[0, 1, 2], [1, 2, 2]])
    weights = np.array([[0.5, 0.25, 1], [0.5, 0.75, 0]], np.float32)
    (found,) = results([lambda a, r, w: O.resample(a, r, w, axis=1)], a, rows, weights)
    agree(found, sum(a[:, rows[t]] * weights[t][:, None] for t in range(2)))


@pytest.mark.parametrize("groups", [1, 2])
def test_conv3d(groups: int) -> None:
    x, w = data((1, 5, 6, 7, 4), "float32"), data((2, 3, 2, 4 // groups, 6), "float32", 1)
    (found,) = results(
        [
            lambda x, w: O.conv3d(
                x, w, stride=(1, 2, 1), padding=((1, 0), (0, 1), (1, 1)), groups=groups
            )
        ],
        x,
        w,
    )
    padded = np.pad(x, ((0, 0), (1, 0), (0, 1), (1, 1), (0, 0)))
    expected = np.zeros(found.shape)
    each = 6 // groups
    for f in range(6):
        group = f // each
        part = padded[..., group * 4 // groups : (group + 1) * 4 // groups].astype(np.float64)
        for q, r, s in np.ndindex(2, 3, 2):
            window = part[:, q : q + 5, r : r + 2 * found.shape[2] - 1 : 2, s : s + found.shape[3]]
            expected[..., f] += window @ w[q, r, s, :, f].astype(np.float64)
    agree(found, expected, 24)


def conv3d(**attributes: Any) -> TensorType:
    """The type of a convolution of volumes, whose number is symbolic."""
    x, w = O.tensor(("n", 5, 6, 7, 4), name="x"), O.tensor((2, 3, 2, 4, 6), name="w")
    with O.graph():
        return O.conv3d(x, w, **attributes).type


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"stride": 2, "padding": 1}, {"stride": (2, 2, 2), "padding": ((1, 1),) * 3}),
        ({"padding": (1, 0, 2)}, {"padding": ((1, 1), (0, 0), (2, 2))}),
        ({"padding": "valid", "dilation": 2}, {"dilation": (2, 2, 2)}),
        ({"padding": "same"}, {"padding": ((0, 1), (1, 1), (0, 1))}),
    ],
)
def test_attributes_of_conv3d_may_be_short(short: dict[str, Any], long: dict[str, Any]) -> None:
    assert conv3d(**short) == conv3d(**long)
    assert conv3d(padding="same").shape == ("n", 5, 6, 7, 6)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"padding": ((1, 1), (1, 1))}, "not ((front, back), (top, bottom), (left, right))"),
        ({"padding": (1, 1)}, "padding of conv3d is (1, 1): 2 integers, not 3"),
        ({"padding": -1}, "padding of conv3d is -1, less than 0"),
        ({"padding": "some"}, "padding of conv3d is 'some', which is unknown"),
        ({"stride": 0}, "stride of conv3d is 0, less than 1"),
        ({"dilation": 1.5}, "dilation of conv3d is 1.5"),
    ],
)
def test_wrong_attributes_of_conv3d_are_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        conv3d(**attributes)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda x: O.gather(x, x), "the indices of gather are float32"),
        (lambda x: O.einsum("ij,jk", x, x), "equation of einsum is 'ij,jk'"),
        (lambda x: O.topk(x, 9), "count of topk is 9"),
    ],
)
def test_wrong_operands_are_named(write: Write, message: str) -> None:
    with pytest.raises(UserError, match=message), O.graph():
        write(O.tensor((3, 4)))
