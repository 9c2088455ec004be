# SPDX-License-Identifier: Apache-2.0
"""Memory of results: reused after their release, and never before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.driver.result_memory import SMALLEST, ResultMemory
from xtc.interfaces.artifact import Argument, Manifest

LARGE = (SMALLEST // 4,)


def memory(*shapes: tuple[int, ...], dtype: str = "float32") -> ResultMemory:
    arguments = tuple(Argument(f"y{n}", dtype, shape, "output") for n, shape in enumerate(shapes))
    return ResultMemory(Manifest("f", "host", arguments, {}))


def address(array: object) -> int:
    assert isinstance(array, np.ndarray)
    return int(array.ctypes.data)


@pytest.fixture(scope="module")
def doubled() -> Iterator[xtc.Module]:
    x = O.tensor((128, 128), name="x")
    with O.graph(name="doubled") as gb:
        O.add(x, x)
    with xtc.compile(gb.graph, threads=1, in_memory=True) as module:
        yield module


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_arrays_are_aligned_writable_and_of_their_type(dtype: str) -> None:
    results = memory((256, 256), dtype=dtype)
    array = results.empty((256, 256), dtype)
    array[...] = 1
    assert (array.shape, array.dtype.name, address(array) % 64) == ((256, 256), dtype, 0)
    assert array.all()


def test_the_memory_of_a_dead_array_is_reused() -> None:
    results = memory(LARGE)
    first = results.empty(LARGE, "float32")
    where = address(first)
    second = results.empty(LARGE, "float32")
    assert not np.shares_memory(first, second)
    del first
    assert address(results.empty(LARGE, "float32")) == where


def test_views_keep_memory() -> None:
    results = memory(LARGE)
    array = results.empty(LARGE, "float32")
    array[...] = 7
    kept = [array[10:20].reshape(2, 5).T, array.reshape(2, -1)[:, ::2], np.from_dlpack(array)[5:]]
    del array
    while kept:
        other = results.empty(LARGE, "float32")
        other[...] = 8
        assert all(np.all(np.asarray(view) == 7) for view in kept)
        kept.pop()
    gc.collect()


def test_at_most_the_results_of_two_calls_are_kept() -> None:
    results = memory(LARGE, LARGE)
    arrays = [results.empty(LARGE, "float32") for _ in range(7)]
    places = set(map(address, arrays))
    arrays.clear()
    again = [results.empty(LARGE, "float32") for _ in range(4)]
    assert set(map(address, again)) <= places
    assert [len(free) for free in results._free.values()] == [0]


def test_small_arrays_and_other_sizes_are_left_to_the_allocator() -> None:
    results = memory((4,), LARGE)
    assert set(results._free) == {SMALLEST}
    assert results.empty((4,), "float32").shape == (4,)


def test_arrays_outlive_their_allocator() -> None:
    results = memory(LARGE)
    array = results.empty(LARGE, "float32")
    array[...] = 3
    results.close()
    other = results.empty(LARGE, "float32")
    other[...] = 4
    assert np.all(array == 3)
    del array, other
    assert not results._free


@pytest.mark.slow
def test_results_of_calls(doubled: xtc.Module) -> None:
    x = np.ones((128, 128), np.float32)
    first = doubled(x)
    second = doubled(first)
    assert not np.shares_memory(first, second)
    where = address(first)
    del first
    third = doubled(second)
    assert address(third) == where
    assert np.all(second == 4)
    assert np.all(third == 8)


@pytest.mark.slow
def test_a_failed_call_returns_memory(doubled: xtc.Module) -> None:
    x = np.ones((128, 128), np.float32)
    where = address(doubled(x))
    with pytest.raises(xtc.UserError):
        doubled(x, out=np.empty((2, 2), np.float32))
    assert address(doubled(x)) == where
