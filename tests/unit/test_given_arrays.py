# SPDX-License-Identifier: Apache-2.0
"""Arrays with invalid contents: odd booleans, masks, objects that fail to convert."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.cli.common import read_graph
from xtc.core.errors import UserError
from xtc_targets.null import NullDevice

ODD = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
PLAIN = [False, True, True, True]
MASKED = np.ma.masked_array(np.ones(4, np.bool_), [False, True, False, False])


class _Failing:
    """An object whose conversion raises an exception."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise LookupError("the file is gone")


@pytest.fixture(scope="module")
def chosen() -> Iterator[xtc.Module]:
    """1 where C is true, 2 elsewhere, and the number of true elements."""
    c = O.tensor((4,), "bool", name="C")
    first, second = (O.tensor((4,), "int32", const=np.full(4, n, np.int32)) for n in (1, 2))
    with O.graph(name="chosen") as gb:
        O.outputs(O.where(c, first, second), O.reduce_sum(O.cast(c, "int32"), axes=[0]))
    with xtc.compile(gb.graph) as module:
        yield module


def test_every_nonzero_byte_is_true(chosen: xtc.Module) -> None:
    numbers, count = chosen(ODD)
    assert numbers.tolist() == [2, 1, 1, 1]
    assert count == 3


def test_odd_booleans_in_a_constant_are_true() -> None:
    with O.graph(name="odd") as gb:
        O.cast(O.tensor((4,), "bool", const=ODD), "int32")
    with xtc.compile(gb.graph) as module:
        assert module().tolist() == [0, 1, 1, 1]


@pytest.mark.slow
def test_odd_booleans_on_a_device_are_true() -> None:
    with NullDevice() as device:
        bytes_there = device.array(ODD).numpy().view(np.uint8)
    assert bytes_there.tolist() == [0, 1, 1, 1]


def _as_input(value: object, module: xtc.Module) -> object:
    return module(value)


def _as_constant(value: object, _: xtc.Module) -> object:
    return O.tensor((4,), "bool", const=value)


def _on_a_device(value: object, _: xtc.Module) -> object:
    with NullDevice() as device:
        return device.array(value)


@pytest.mark.parametrize("give", [_as_input, _as_constant, _on_a_device])
def test_a_masked_array_is_refused(give: Callable[..., object], chosen: xtc.Module) -> None:
    with pytest.raises(UserError, match="is a masked array, whose mask would be lost") as error:
        give(MASKED, chosen)
    assert error.value.hints == ("fill masked elements: array.filled(0)",)


@pytest.mark.parametrize("give", [_as_input, _as_constant, _on_a_device])
def test_a_failing_conversion_is_reported(give: Callable[..., object], chosen: xtc.Module) -> None:
    with pytest.raises(UserError, match="of type _Failing cannot be read as an array") as error:
        give(_Failing(), chosen)
    assert error.value.notes == ("LookupError: the file is gone",)
    assert isinstance(error.value.__cause__, LookupError)


def test_invalid_threads_are_reported_without_parallel_loops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with O.graph(name="small") as gb:
        O.relu(O.tensor((4,), name="X"))
    monkeypatch.setenv("XTC_THREADS", "abc")
    with pytest.raises(UserError, match="XTC_THREADS has the unusable value 'abc'"):
        xtc.compile(gb.graph, in_memory=True)


def test_a_graph_file_imports_modules_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "sizes_beside.py").write_text("N = 5\n")
    (tmp_path / "graph.py").write_text(
        "import sizes_beside\nimport xtc.ops as O\n"
        "with O.graph(name='beside') as graph:\n    O.relu(O.tensor((sizes_beside.N,)))\n"
    )
    assert read_graph(tmp_path / "graph.py", {}).inputs[0].shape == (5,)
