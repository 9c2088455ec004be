# SPDX-License-Identifier: Apache-2.0
"""Functions of NVIDIA's device library in PTX: inlined, or called if a kernel has many."""

from __future__ import annotations

import re
from typing import Any

import pytest

from xtc import tile
from xtc.tile import float32

pytestmark = pytest.mark.slow


class Sines(tile.Script):
    """A thread of the only warp computes 32 sines of each tile."""

    def __init__(self, tiles: int) -> None:
        super().__init__()
        self.tiles = tiles

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32) -> None:  # type: ignore[valid-type]
        self.attrs.blocks = (1,)
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[1024 * self.tiles])
        y = self.global_view(y_ptr, dtype=float32, shape=[1024 * self.tiles])
        for number in self.range(self.tiles, unroll="all"):
            a = self.load_global(x, offsets=[1024 * number], shape=[1024])
            self.store_global(y, self.sin(a), offsets=[1024 * number])


@pytest.mark.parametrize(("tiles", "calls"), [(1, 0), (2, 64)])
def test_many_sines_are_calls_of_one_function(tiles: int, calls: int) -> None:
    script: Any = Sines(tiles)
    ptx = script.compile(None, None).ptx
    assert ptx.count("call.uni") == calls
    # Payne and Hanek's reduction reads the digits of 2 / pi, once in each inlined sine.
    reductions = ptx.count("__cudart_i2opi_f;")
    assert reductions == (1 if calls else 32)


EXACT = ("sqrt.rn.f32", "div.rn.f32")
APPROXIMATE = ("ex2.approx.ftz.f32", "rcp.approx.ftz.f32", "rsqrt.approx.f32")
"""Instructions of functions, as docs/tile.md says."""


class EachFunction(tile.Script):
    def __call__(self, x_ptr: ~float32, y_ptr: ~float32) -> None:  # type: ignore[valid-type]
        self.attrs.blocks = (1,)
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[32])
        y = self.global_view(y_ptr, dtype=float32, shape=[32])
        a = self.load_global(x, offsets=[0], shape=[32])
        self.store_global(y, self.sqrt(self.tanh(a) / self.rsqrt(self.exp(a))), offsets=[0])


def test_functions_become_the_documented_instructions() -> None:
    script: Any = EachFunction()
    ptx = script.compile(None, None).ptx
    found = set(re.findall(r"\b(?:(?:ex2|rcp|rsqrt|tanh|sqrt|div)\.[a-z0-9.]+)", ptx))
    assert found == {*EXACT, *APPROXIMATE}
