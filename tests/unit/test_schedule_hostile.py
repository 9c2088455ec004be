# SPDX-License-Identifier: Apache-2.0
"""Invalid values in schedules: a UserError names the operator, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError, shown
from xtc.graph.graph import Graph
from xtc.schedule import NodeSchedule

Call = Callable[[NodeSchedule, Any], object]

LONG = "i" * 100_000
INTEGERS = (0, -4, 1 << 31, 1 << 63, 10**30, 10**5000, -(10**5000))
OTHERS = (True, 1.5, float("nan"), float("inf"), "4", "", LONG, b"i", object(), len, Ellipsis, type)
COLLECTIONS: tuple[Any, ...] = (
    [1],
    [None],
    [["i"]],
    {1: 1},
    {None: 1},
    {"z": None},
    {"z": 2.5},
    set(),
    range(3),
)
SIZES = ({"z": 0}, {"z": -4}, {"z": 1 << 31}, {"z": 1 << 63}, {"z": 10**30}, {"z": 10**5000})
NAMES: tuple[Any, ...] = (
    {LONG: 4},
    {"x y": 4},
    {"": 4},
    {"i": 2.5},
    {"unknown axis": 4},
    {},
    [],
    (),
)
VALUES: tuple[Any, ...] = (*INTEGERS, *OTHERS, *COLLECTIONS, *SIZES, *NAMES)

PRIMITIVES: dict[str, Call] = {
    "set_dims": lambda node, value: node.set_dims(value),
    "strip_mine's axis": lambda node, value: node.strip_mine(value, {"z": 4}),
    "strip_mine's tiles": lambda node, value: node.strip_mine("i", value),
    "strip_mine's size": lambda node, value: node.strip_mine("i", {"z": value}),
    "split's axis": lambda node, value: node.split(value, {"low": 0, "high": 4}),
    "split's segments": lambda node, value: node.split("i", value),
    "split's start": lambda node, value: node.split("i", {"low": 0, "high": value}),
    "interchange": lambda node, value: node.interchange(value),
    "vectorize": lambda node, value: node.vectorize(value),
    "parallelize": lambda node, value: node.parallelize(value),
    "unroll": lambda node, value: node.unroll(value),
    "unroll's factor": lambda node, value: node.unroll({"i": value}),
    "buffer_at": lambda node, value: node.buffer_at(value),
    "pack_at's loop": lambda node, value: node.pack_at(value, 0),
    "pack_at's operand": lambda node, value: node.pack_at("i", value),
    "fuse_producer_at's loop": lambda node, value: node.fuse_producer_at(value, 0),
    "fuse_producer_at's operand": lambda node, value: node.fuse_producer_at("i", value),
}
# Positions of values in data, and the values that are valid there.
DATA: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "a nest": (lambda value: value, ("", {}, [], ())),
    "a loop": (lambda value: {"i": value}, ("", {}, [], ())),
    "a part of a list": (lambda value: [value], ({},)),
    "a factor": (lambda value: {"i": {"unroll": value}}, (True, 0, 1 << 31, 1 << 63)),
    "an operand to pack": (lambda value: {"i": {"pack": value}}, (0, [1])),
    "an operand to fuse": (lambda value: {"i": {"fuse": value}}, (0, [1])),
    "a flag": (lambda value: {"i": {"buffer": value}}, (True,)),
    "a segment": (lambda value: {"i[:4]": value, "i[4:]": {}}, ({}, [], ())),
    "a tile": (lambda value: {f"i#{text(value)}": {}}, ("4",)),
    "a bound": (lambda value: {f"i[0:{text(value)}]": {}, "i[4:]": {}}, ("4",)),
    "a key": (lambda value: {text(value): {}}, ()),
}


def text(value: object) -> str:
    """As it would be written in a key."""
    if isinstance(value, int) and abs(value) > 10**4000:
        return "9" * 5000
    return value if isinstance(value, str) else shown(value)


def matmul_graph() -> Graph:
    """C, which reads a matmul, so that its operand 0 can be fused."""
    a, b = O.tensor((32, 16), name="A"), O.tensor((16, 48), name="B")
    with O.graph(name="f") as gb:
        O.matmul(O.relu(a, name="P"), b, name="Product")
    return gb.graph


def labels(values: Iterable[Any]) -> list[str]:
    return [f"{type(value).__name__}-{text(value)[:20]}" for value in values]


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("value", VALUES, ids=labels(VALUES))
@pytest.mark.timeout(60)
@pytest.mark.slow
def test_a_primitive_refuses_invalid_values(primitive: str, value: Any) -> None:
    node = xtc.Schedule(matmul_graph())["Product"]
    before = str(node)
    if is_degenerate(primitive, value):
        PRIMITIVES[primitive](node, value)
        assert len(str(node)) < 1000
        return
    with pytest.raises(UserError) as caught:
        str(PRIMITIVES[primitive](node, value))  # a missing loop may be defined later
    assert "Product" in caught.value.what
    assert len(str(caught.value)) < 1000
    if "has no loop 'z'" not in caught.value.what:
        assert str(node) == before


def is_degenerate(primitive: str, value: Any) -> bool:
    """Whether a value requests nothing, all iterations, or is valid."""
    if primitive == "unroll's factor" and isinstance(value, bool):
        return True
    if primitive.endswith("operand") and type(value) is int:
        return bool(value == 0)
    if primitive in ("vectorize", "parallelize") and isinstance(value, list | tuple | set):
        return len(value) == 0
    if primitive in ("unroll", "vectorize", "strip_mine's tiles") and isinstance(value, dict):
        return value == {}
    if primitive == "split's segments":
        return bool(value == {"z": 0})
    return primitive == "unroll's factor" and value in (0, 1 << 31)


NAMED = {"strip_mine's size": "'z'", "split's start": "'i[", "unroll's factor": "'i'"}


@pytest.mark.parametrize(("primitive", "name"), NAMED.items())
@pytest.mark.parametrize("value", [0, -4, 1 << 63, True, 2.5, float("nan")])
def test_a_number_is_refused_with_its_loop(primitive: str, name: str, value: object) -> None:
    node = xtc.Schedule(matmul_graph())["Product"]
    if isinstance(value, int) and is_degenerate(primitive, value):
        PRIMITIVES[primitive](node, value)
        return
    with pytest.raises(UserError) as caught:
        PRIMITIVES[primitive](node, value)
    assert name in caught.value.what or "'high'" in caught.value.what


@pytest.mark.parametrize("split", [{}, {"low": 0, "high": 32}, {"low": 1}])
def test_an_empty_split_is_refused(split: dict[str, int]) -> None:
    node = xtc.Schedule(matmul_graph())["Product"]
    with pytest.raises(UserError, match=r"'i(\[.*)?' of Product"):
        node.split("i", split)
    assert node.loops == ("i", "j", "k")


@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("value", VALUES, ids=labels(VALUES))
@pytest.mark.timeout(60)
def test_data_with_invalid_values_is_refused(place: str, value: Any) -> None:
    wrap, fine = DATA[place]
    if any(type(value) is type(good) and value == good for good in fine):
        xtc.Schedule.of(matmul_graph(), {"Product": wrap(value)})
        return
    with pytest.raises(UserError) as caught:
        xtc.Schedule.of(matmul_graph(), {"Product": wrap(value)})
    assert "Product" in caught.value.what
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("value", VALUES, ids=labels(VALUES))
def test_invalid_names_of_operators_and_graphs_are_refused(value: Any) -> None:
    with pytest.raises(UserError):
        xtc.Schedule(matmul_graph())[value]
    with pytest.raises(UserError):
        xtc.Schedule(value)


def nested(depth: int) -> dict[str, Any]:
    """Segments in segments."""
    data: dict[str, Any] = {}
    for _ in range(depth):
        data = {"i[0:16]": data, "i[16:32]": {}}
    return data


def endless() -> dict[str, Any]:
    data: dict[str, Any] = {}
    data["i[0:16]"] = data
    return data


def wide() -> list[Any]:
    """Few lists that contain each other many times."""
    data: list[Any] = ["i"]
    for _ in range(30):
        data = [data] * 10
    return data


BOMBS: dict[str, object] = {
    "thousands of loops": {f"i{n}": {} for n in range(5000)},
    "thousands of tiles": {f"i#{n}": {} for n in range(5000, 0, -1)},
    "thousands of segments": {f"i[{n}:{n + 1}]": {} for n in range(5000)},
    "deep nesting": nested(15),
    "deeper nesting": nested(5000),
    "data inside itself": endless(),
    "lists of lists": wide(),
    "a long text": "{" * 100_000,
    "many tiles that do not divide": {
        f"{axis}#{size}": {} for size in (31, 15, 11, 7, 3) for axis in "ijk" if size < 16
    },
    "huge unrolling": {"i": "unroll", "j": "unroll", "k": "unroll"},
    "a huge vector": {"k": {}, "i": "vectorize", "j": "vectorize", "i#8": {}},
    "aliases": "&a {i: *a}",
    "an object": "!!python/object/apply:os.system [true]",
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.timeout(60)
def test_exponential_data_is_refused_early(bomb: object) -> None:
    with pytest.raises(UserError) as caught:
        xtc.Schedule.of(matmul_graph(), {"Product": bomb})
    assert "Product" in caught.value.what


def test_too_many_tiles_are_refused_in_calls() -> None:
    node = xtc.Schedule(matmul_graph())["Product"]
    with pytest.raises(UserError, match="Product has 1003 loops; at most 64"):
        node.strip_mine("i", {f"i{n}": 2000 - n for n in range(1000)})


def test_integers_of_numpy_are_integers() -> None:
    node = xtc.Schedule(matmul_graph())["Product"]
    node.strip_mine("i", {"i1": np.int64(4)})  # type: ignore[dict-item]
    data = {"Product": {"i": {"unroll": np.int32(4)}}}
    assert "unroll 4" in str(xtc.Schedule.of(matmul_graph(), data)["Product"])
    assert "i1 in 0..4" in str(node)
