# SPDX-License-Identifier: Apache-2.0
"""Layout changes that a model undoes later are removed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc.ops as O
from tests.unit.test_model_recognition import names, simplified
from xtc.graph.tensor import Tensor


def _filters(*shape: int) -> Tensor:
    return O.tensor(shape, const=np.random.default_rng(0).standard_normal(shape, np.float32))


def _channels_first(x: Tensor, weights: Tensor) -> Tensor:
    """A depthwise convolution as in files with channels first."""
    last = O.transpose(x, axes=(0, 2, 3, 1))
    result = O.conv2d(last, weights, padding=(1, 1), groups=x.type.sizes[1])
    return O.transpose(result, axes=(0, 3, 1, 2))


def test_tokens_become_an_image_and_tokens_again() -> None:
    def layer(tokens: Tensor) -> Tensor:
        image = O.reshape(O.transpose(O.relu(tokens), axes=(0, 2, 1)), (1, 8, 4, 6))
        joined = O.reshape(_channels_first(image, _filters(3, 3, 1, 8)), (1, 8, 24))
        return O.relu(O.transpose(joined, axes=(0, 2, 1)))

    _, simple = simplified(layer, (1, 24, 8))
    assert names(simple).count("transpose") == 0
    assert names(simple)[0] == "relu"


def test_heads_are_merged_where_they_are_split() -> None:
    def heads(x: Tensor) -> Tensor:
        return O.relu(O.reshape(O.transpose(x, axes=(0, 2, 1, 3)), (1, 5, 12)))

    _, simple = simplified(heads, (1, 3, 5, 4))
    assert names(simple) == ["transpose", "reshape", "relu"]


@pytest.mark.parametrize(
    ("shape", "axes", "new"),
    [
        ((2, 6, 5), (0, 2, 1), (2, 5, 2, 3)),
        ((2, 6, 5), (0, 2, 1), (2, 5, 1, 2, 3, 1)),
        ((2, 3, 4, 5), (0, 3, 1, 2), (2, 5, 12)),
        ((2, 3, 4, 5), (0, 3, 1, 2), (2, 5, 2, 6)),
        ((2, 3, 4, 5), (3, 0, 1, 2), (5, 24)),
        ((1, 3, 1, 5), (3, 0, 1, 2), (1, 5, 3)),
    ],
)
def test_a_transpose_moves_behind_a_reshape(
    shape: tuple[int, ...], axes: tuple[int, ...], new: tuple[int, ...]
) -> None:
    _, simple = simplified(lambda x: O.reshape(O.transpose(O.relu(x), axes=axes), new), shape)
    assert names(simple) == ["relu", "reshape", "transpose"]


@st.composite
def _splits(draw: st.DrawFn) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """A shape, a permutation of its dimensions, and another shape for the result."""
    shape = draw(st.lists(st.sampled_from((1, 2, 3, 4, 6)), min_size=1, max_size=4))
    axes = draw(st.permutations(range(len(shape))))
    new, left = [], math.prod(shape)
    while left > 1:
        new.append(draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= new[-1]
    return shape, axes, new[:6] if math.prod(new[:6]) == math.prod(shape) else [math.prod(shape)]


@given(_splits())
def test_any_reshape_of_any_transpose_gives_the_same(
    case: tuple[Sequence[int], Sequence[int], Sequence[int]],
) -> None:
    shape, axes, new = case
    simplified(
        lambda x: O.relu(O.reshape(O.transpose(O.relu(x), axes=tuple(axes)), tuple(new or (1,)))),
        tuple(shape),
    )
