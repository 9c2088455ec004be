# SPDX-License-Identifier: Apache-2.0
"""Reads graphs in the YAML format of xtc-tools: typed inputs, named operators, tensors by `uid`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xtc.ops as O
from xtc.core.errors import UserError, did_you_mean, shown
from xtc.core.location import SourceLocation
from xtc.core.yaml_tree import Leaf, Limits, List, Map, Tree, read_tree
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.ops.border import Border

LIMITS = Limits(text=16 << 20, depth=32, values=1 << 18, scalar=1 << 10)
_VERSION = "ops_version:"
"""The key that distinguishes this format."""


def graph_of(path: Path) -> Graph:
    """The graph in a file of either format. Raises UserError."""
    try:
        text = path.read_text()
    except (OSError, ValueError):
        text = ""  # the other reader reports the error
    if not text.startswith(_VERSION) and f"\n{_VERSION}" not in text:
        return Graph.load(path)
    tree = read_tree(text, SourceLocation(str(path), 1, 1), LIMITS)
    if tree is None:
        raise UserError(f"{path} is empty")
    return _graph(tree)


def _graph(tree: Tree) -> Graph:
    top = _fields(tree, "a graph", ("inputs", "nodes", "outputs"))
    name = str(_plain(top["name"])) if "name" in top else "graph"
    reader = _Reader()
    with O.graph(name=name) as builder:
        O.inputs(*[reader.input(item) for item in _list(top["inputs"], "inputs")])
        for item in _list(top["nodes"], "nodes"):
            reader.node(item)
        O.outputs(*[reader.output(item) for item in _list(top["outputs"], "outputs")])
    return builder.graph


@dataclass
class _Reader:
    """The tensors read so far, by uid."""

    tensors: dict[str, Tensor] = field(default_factory=dict)

    def input(self, tree: Tree) -> Tensor:
        """An input or a constant's declaration; shape and type may be omitted."""
        data = _fields(tree, "an input", ("uid", "expr"))
        type = _fields(_fields(data["expr"], "an input", ("type",))["type"], "a type", ())
        shape, dtype = (_plain(type[key]) if key in type else None for key in ("shape", "dtype"))
        with _at(tree.where):
            tensor = O.tensor(shape, dtype)
        self.tensors[str(_plain(data["uid"]))] = tensor
        return tensor

    def node(self, tree: Tree) -> None:
        """An operator on tensors defined before it."""
        data = _fields(tree, "a node", ("uid", "expr"))
        expr = _fields(data["expr"], "a node", ("op", "args"))
        op = _fields(expr["op"], "an operator", ("name",))
        kind = str(_plain(op["name"]))
        with _at(op["name"].where):
            if kind not in OPERATORS:
                hints = did_you_mean(kind, OPERATORS)
                raise UserError(f"no operator is called {shown(kind)} here", hints=hints)
            args = [self.tensor(item) for item in _list(expr["args"], "args")]
            attributes = _plain(op["attrs"]) if "attrs" in op else None
            name = str(_plain(data["name"])) if "name" in data else None
            result = _applied(kind, args, dict(attributes or {}), name)
        self.tensors[str(_plain(data["uid"]))] = result

    def output(self, tree: Tree) -> Tensor:
        """An output tensor of the graph."""
        return self.tensor(_fields(tree, "an output", ("uid",))["uid"])

    def tensor(self, tree: Tree) -> Tensor:
        """The tensor of a uid. Raises UserError if it is not defined yet."""
        uid = str(_plain(tree))
        if uid not in self.tensors:
            raise UserError(f"no earlier tensor is called {shown(uid)}", where=tree.where)
        return self.tensors[uid]


@contextmanager
def _at(where: SourceLocation) -> Iterator[None]:
    """Relocate errors to the position in the file."""
    try:
        yield
    except UserError as error:
        if not (isinstance(error.where, SourceLocation) and error.where.file == where.file):
            error.where = where
        raise


def _applied(kind: str, args: list[Tensor], attributes: dict[str, Any], name: str | None) -> Tensor:
    try:
        return OPERATORS[kind](*args, name=name, **attributes)
    except TypeError as error:
        raise UserError(f"invalid arguments of {kind}: {error}") from None


def _pad(x: Tensor, *, padding: Any, constant_value: float = 0, name: str | None) -> Tensor:
    return O.pad(x, _border(padding, x), value=constant_value, name=name)


def _unpad(x: Tensor, *, padding: Any, name: str | None) -> Tensor:
    return O.unpad(x, _border(padding, x), name=name)


def _pad2d(
    x: Tensor, *, padding: Any, axes: Any = (-3, -2), constant_value: float = 0, name: str | None
) -> Tensor:
    """Pad two dimensions, by a number, a pair for both, two pairs, or four numbers."""
    if isinstance(padding, list):
        flat = len(padding) == 4
        padding = [padding[:2], padding[2:]] if flat else padding
        both = len(padding) < 2 or not isinstance(padding[0], list)
        pairs = [padding, padding] if both else padding
        padding = dict(zip(axes, map(_pair, pairs), strict=True))
    elif not isinstance(padding, Mapping):
        padding = dict.fromkeys(axes, padding)
    return _pad(x, padding=padding, constant_value=constant_value, name=name)


def _border(padding: Any, x: Tensor) -> Border | Mapping[int, Any]:
    """Convert a number, a pair, an entry per dimension, or a mapping to the form of `O.pad`."""
    if isinstance(padding, Mapping):
        return {int(axis): _pair(entry) for axis, entry in padding.items()}
    if isinstance(padding, list) and len(padding) == 2 and all(isinstance(n, int) for n in padding):
        return (_pair(padding),) * x.type.rank
    entries = padding if isinstance(padding, list) else [padding] * x.type.rank
    return tuple(_pair(entry) for entry in entries)


def _pair(entry: Any) -> Any:
    numbers = list(entry) if isinstance(entry, list | tuple) else [entry]
    return tuple(numbers * 2) if len(numbers) == 1 else tuple(numbers)


OPERATORS: dict[str, Callable[..., Tensor]] = {
    "matmul": O.matmul,
    "conv2d": O.conv2d,
    "relu": O.relu,
    "reshape": O.reshape,
    "transpose": O.transpose,
    "pad": _pad,
    "pad2d": _pad2d,
    "unpad": _unpad,
}
"""The function that writes each operator of the format; all accept `name`."""


def _fields(tree: Tree, what: str, needed: tuple[str, ...]) -> dict[str, Tree]:
    if not isinstance(tree, Map):
        raise UserError(f"{what} must be a mapping", where=tree.where)
    missing = [name for name in needed if name not in tree.items]
    if missing:
        raise UserError(f"{what} has no '{missing[0]}'", where=tree.where)
    return tree.items


def _list(tree: Tree, what: str) -> list[Tree]:
    if not isinstance(tree, List):
        raise UserError(f"{what} must be a list", where=tree.where)
    return tree.items


def _plain(tree: Tree) -> Any:
    """The tree without locations."""
    if isinstance(tree, Leaf):
        return tree.value
    if isinstance(tree, List):
        return [_plain(item) for item in tree.items]
    return {key: _plain(item) for key, item in tree.items.items()}
