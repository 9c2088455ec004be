# SPDX-License-Identifier: Apache-2.0
"""Float arithmetic on cores without an FPU follows IEEE 754, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph

pytest.importorskip("unicorn", reason="the simulator of boards needs the package unicorn")

_WORDS = """0 1 2 7FFFFF 800000 800001 3F800000 3F7FFFFF 3F000000 3F000001 7F7FFFFF 7F800000
    7FC00000 4B000000 4B000001 4B7FFFFF 3FC00000 40200000 4A800001 34000000 00400000 7F000000
    3EFFFFFF"""
SPECIAL = np.array([int(word, 16) for word in _WORDS.split()], np.uint32)
COUNT = 1536


def numbers(seed: int) -> np.ndarray:
    """Bit patterns of all kinds: all pairs of special numbers of both signs, and random ones."""
    rng = np.random.default_rng(seed)
    special = np.concatenate([SPECIAL, SPECIAL | np.uint32(1 << 31)])
    pairs = np.repeat(SPECIAL, len(special)) if seed else np.tile(special, len(SPECIAL))
    near = rng.integers(0x3E000000, 0x41000000, COUNT - len(pairs), dtype=np.uint32)
    wild = rng.integers(0, 1 << 32, len(near), dtype=np.uint32)
    return np.concatenate([pairs, np.where(rng.random(len(near)) < 0.5, near, wild)])


def arithmetic() -> Graph:
    x, y = O.tensor((COUNT,), name="x"), O.tensor((COUNT,), name="y")
    with O.graph(name="floats") as gb:
        for op in (O.add, O.sub, O.mul, O.div, O.maximum, O.minimum):
            op(x, y, name=op.__name__)
        for function in (O.sqrt, O.floor, O.ceil, O.trunc, O.round):
            function(x, name=function.__name__)
        O.cast(O.less(x, y), "int32", name="less")
        O.cast(O.less_equal(x, y), "int32", name="less_equal")
        O.cast(O.equal(x, y), "int32", name="equal")
        O.cast(x, "int32", name="whole")
        O.cast(O.bit_cast(x, "int32"), "float32", name="real")
    return gb.graph


@pytest.mark.slow
@pytest.mark.parametrize("board", ["nucleo-g0b1", "nucleo-l4r5zi"])
def test_float32_is_exact(board: str) -> None:
    x, y = (numbers(seed).view(np.float32) for seed in range(2))
    graph = arithmetic()
    with xtc.compile(graph, "embedded", board=board) as module, np.errstate(all="ignore"):
        results = dict(zip([t.name for t in graph.outputs], module(x, y), strict=True))
        expected = {
            **{n: getattr(np, n)(x, y) for n in ("maximum", "minimum", "less", "less_equal")},
            **{n: getattr(np, n)(x) for n in ("sqrt", "floor", "ceil", "trunc")},
            "add": x + y, "sub": x - y, "mul": x * y, "div": x / y,
            "round": np.rint(x), "equal": x == y, "real": x.view(np.int32).astype(np.float32),
        }  # fmt: skip
    for name, wanted in expected.items():
        got = np.asarray(results[name])
        if name in ("maximum", "minimum"):  # either zero
            got, wanted = got + np.float32(0), wanted + np.float32(0)
        assert_same(got, wanted.astype(got.dtype), name)


def assert_same(got: np.ndarray, wanted: np.ndarray, name: str) -> None:
    """Check for equal bits; all NaNs are equal."""
    if got.dtype != np.float32:
        np.testing.assert_array_equal(got, wanted, name)
        return
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), nan, name)
    np.testing.assert_array_equal(got.view(np.int32)[~nan], wanted.view(np.int32)[~nan], name)


@pytest.mark.slow
@pytest.mark.parametrize("board", ["nucleo-g0b1", "nucleo-l4r5zi"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_exact(board: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, 256, dtype=dtype) >> rng.integers(
        0, info.bits - 1, 256, dtype=dtype
    )
    b = rng.integers(info.min, info.max, 256, dtype=dtype) >> rng.integers(
        0, info.bits - 1, 256, dtype=dtype
    )
    b[b == 0] = 7
    shifts = rng.integers(0, info.bits, 256).astype(dtype)
    x, y, s = (O.tensor((256,), dtype, name=name) for name in "xys")
    with O.graph(name="whole") as gb:
        O.mul(x, y, name="mul")
        O.trunc_div(x, y, name="div")
        O.fmod(x, y, name="mod")
        O.shift_left(x, s, name="left")
        O.shift_right(x, s, name="right")
    with xtc.compile(gb.graph, "embedded", board=board) as module:
        module.check(a, b, shifts)
