# SPDX-License-Identifier: Apache-2.0
"""Errors of long sums and functions stay within the values of docs/accuracy.md, with both code
generators."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from benchmarks import accuracy
from xtc.evaluate import MismatchError
from xtc.graph.tensor import Tensor
from xtc_targets.host.passes.block_reductions import BlockReductions

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]
PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
GENERATORS = ("llvm", "c")


def _module(write: Callable[..., Tensor], *shapes: tuple[int, ...], **options: Any) -> xtc.Module:
    with O.graph(name="sums") as gb:
        write(*(O.tensor(shape, name=f"x{n}") for n, shape in enumerate(shapes)))
    return xtc.compile(gb.graph, **options)


@pytest.mark.parametrize("codegen", GENERATORS)
@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (O.reduce_mean, (1 << 25,)),
        (lambda x: O.reduce_mean(x, axes=0), (1 << 25, 1)),
    ],
)
def test_the_mean_of_many_ones_is_one(
    write: Callable[..., Tensor], shape: tuple[int, ...], codegen: str
) -> None:
    with _module(write, shape, codegen=codegen) as module:
        assert np.asarray(module(np.ones(shape, np.float32))).ravel().tolist() == [1.0]


@pytest.mark.parametrize("codegen", GENERATORS)
def test_a_softmax_of_many_elements_sums_to_one(codegen: str) -> None:
    with _module(O.softmax, (1, 1 << 25), codegen=codegen) as module:
        y = np.asarray(module(np.zeros((1, 1 << 25), np.float32)))
    assert np.unique(y).tolist() == [2.0**-25]


@pytest.mark.parametrize("codegen", GENERATORS)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (4, 1), (1, 64), (8, 32), (8, 128)])
def test_long_contractions_use_partial_sums(rows: int, columns: int, codegen: str) -> None:
    length = 1 << 20
    with _module(O.matmul, (rows, length), (length, columns), codegen=codegen) as module:
        tenths = np.full((length, columns), 0.1, np.float32)
        y = np.asarray(module(np.ones((rows, length), np.float32), tenths), np.float64)
    exact = length * float(np.float32(0.1))
    assert np.abs(y / exact - 1).max() < 1e-4, "in order it is 1.3e-3"


def test_check_finds_a_long_sum_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BlockReductions, "run", lambda self, module: None)
    with (
        _module(O.reduce_mean, (1 << 22,), codegen="c", cache=False) as module,
        pytest.raises(MismatchError, match="1 of 1 elements differ"),
    ):
        module.check()


@pytest.mark.parametrize("codegen", GENERATORS)
@pytest.mark.parametrize("ratio", [1e2, 1e4])
def test_layer_norm_of_a_mean_far_from_zero(ratio: float, codegen: str) -> None:
    x = (np.random.default_rng(0).normal(size=(16, 768)) + ratio).astype(np.float32)
    with _module(O.layer_norm, x.shape, codegen=codegen) as module:
        error = np.abs(np.asarray(module(x)) - module.graph.evaluate(x, precise=True)).max()
        assert error < 4e-6
        large = np.full(x.shape, 1e9 + ratio, np.float32)
        assert np.abs(np.asarray(module(large))).max() < 0.01


@pytest.mark.parametrize("codegen", GENERATORS)
def test_gelu_is_accurate_in_its_left_tail(codegen: str) -> None:
    x = np.linspace(-12, -4, 4001, dtype=np.float32)
    with _module(O.gelu, x.shape, codegen=codegen) as module:
        exact = np.asarray(module.graph.evaluate(x, precise=True), np.float64)
        assert np.abs(np.asarray(module(x)) / exact - 1).max() < 3e-5
        ends = np.asarray(
            module(np.resize(np.float32([-np.inf, np.nan, np.inf, -0.0, -1e4]), 4001))
        )
    assert np.isnan(ends[:2]).all()
    assert ends[2] == np.inf
    assert not ends[3:5].any()


def test_masked_scores_become_zero() -> None:
    scores = np.float32([[0, -80, -95, -1e4, -1e9, -np.inf], [-1e9] * 5 + [np.nan]])
    with _module(O.softmax, scores.shape, codegen="llvm") as module:
        shares = np.asarray(module(scores))
    assert shares[0, 0] == 1
    assert shares[0, 1] == pytest.approx(np.exp(-80.0), rel=1e-5)
    assert not shares[0, 2:].any()
    assert np.isnan(shares[1]).all()


def test_small_exponentials_are_rounded_once() -> None:
    x = np.float32([-87, -90, -100, -103, -104, -105, -1e9, -np.inf])
    with _module(O.exp, x.shape, codegen="llvm") as module:
        powers = np.asarray(module(x))
    exact = np.exp(x.astype(np.float64)).astype(np.float32)
    assert np.abs(powers - exact).max() <= 2 * np.finfo(np.float32).smallest_subnormal
    assert not powers[5:].any()


def _table() -> dict[str, tuple[float, float]]:
    """The largest errors of each function, by LLVM and by C."""
    rows = re.findall(
        r"^\| ([\w, ]+) \| [^|]* to [^|]* \| ([\d.]+) \(.*?\) \| ([\d.]+) \(",
        PAGE.read_text(),
        re.M,
    )
    return {name: (float(llvm), float(c)) for name, llvm, c in rows}


def test_the_page_has_every_function() -> None:
    assert list(_table()) == list(accuracy.FUNCTIONS)


@pytest.mark.parametrize("name", accuracy.FUNCTIONS)
def test_errors_of_functions_are_within_the_page(name: str) -> None:
    # Another C library may differ by a unit.
    for codegen, most in zip(GENERATORS, _table()[name], strict=True):
        assert accuracy.function_errors(name, codegen, count=1 << 14)[0] <= most + 1
