# SPDX-License-Identifier: Apache-2.0
"""Arguments that a call uses directly, and those that the general path converts or refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.driver import module as module_file

Array = np.ndarray[Any, Any]
SHAPE = (4, 6)


@pytest.fixture(scope="module")
def module() -> Iterator[xtc.Module]:
    a, b = (O.tensor(SHAPE, "float32", name=name) for name in "ab")
    with O.graph(name="two") as gb:
        O.add(a, b, name="sum")
        O.mul(a, b, name="product")
    with xtc.compile(gb.graph) as compiled:
        yield compiled


@pytest.fixture
def arrays() -> tuple[Array, Array]:
    first = np.arange(24, dtype=np.float32).reshape(SHAPE)
    return first, np.full(SHAPE, 3, np.float32)


@pytest.fixture
def direct_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that takes the general path fails."""

    def refuse(*_arguments: object) -> None:
        raise AssertionError("the general path")

    monkeypatch.setattr(module_file, "bind_arguments", refuse)


@pytest.mark.usefixtures("direct_only")
def test_plain_arrays_are_used_directly(module: xtc.Module, arrays: tuple[Array, Array]) -> None:
    a, b = arrays
    for total, product in (module(a, b), module(a, b, out=(np.empty_like(a), np.empty_like(a)))):
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(product, a * b)


@pytest.mark.usefixtures("direct_only")
def test_results_are_written_to_the_given_arrays(
    module: xtc.Module, arrays: tuple[Array, Array]
) -> None:
    out = [np.empty(SHAPE, np.float32) for _ in range(2)]
    assert module(*arrays, out=out) is out
    np.testing.assert_array_equal(out[1], arrays[0] * arrays[1])


def test_one_array_may_be_several_inputs(module: xtc.Module, arrays: tuple[Array, Array]) -> None:
    total, _ = module(arrays[0], arrays[0])
    np.testing.assert_array_equal(total, 2 * arrays[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda a: np.asfortranarray(a),
        lambda a: np.concatenate([a, a], axis=1)[:, :6],
        lambda a: a.tolist() and np.array(a).view(np.memmap),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(SHAPE),
    ],
    ids=["columns first", "a part of rows", "a subclass", "not aligned"],
)
def test_other_arrays_are_converted(
    module: xtc.Module, arrays: tuple[Array, Array], change: Any
) -> None:
    a, b = arrays
    total, _ = module(change(a), b)
    np.testing.assert_array_equal(total, a + b)


def test_arguments_by_name_and_by_position_are_equivalent(
    module: xtc.Module, arrays: tuple[Array, Array]
) -> None:
    a, b = arrays
    np.testing.assert_array_equal(module(b=b, a=a)[0], module(a, b)[0])


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda a: (a, np.empty_like(a)), "overlaps another argument"),
        (lambda a: (np.empty_like(a), np.zeros(30, np.float32)[:24]), "has shape"),
        (lambda a: (np.empty_like(a),), "out= has 1"),
        (lambda a: (np.broadcast_to(np.float32(0), SHAPE), np.empty_like(a)), "is read-only"),
        (lambda a: (same := np.empty_like(a), same), "overlaps another argument"),
    ],
    ids=["an input", "shape", "too few", "read-only", "twice"],
)
def test_invalid_result_arrays_are_refused(
    module: xtc.Module, arrays: tuple[Array, Array], out: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        module(*arrays, out=out(arrays[0]))


def test_neighboring_parts_of_an_array_do_not_overlap(
    module: xtc.Module, arrays: tuple[Array, Array]
) -> None:
    both = np.empty((2, *SHAPE), np.float32)
    module(*arrays, out=(both[0], both[1]))
    np.testing.assert_array_equal(both[0], arrays[0] + arrays[1])
    np.testing.assert_array_equal(both[1], arrays[0] * arrays[1])
