# SPDX-License-Identifier: Apache-2.0
"""A YAML tree becomes a checked graph; every mistake is an error with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xtc.core import discover
from xtc.core.errors import UserError, did_you_mean, located
from xtc.core.location import SourceLocation
from xtc.core.types import TensorType, tensor_type
from xtc.graph.array_text import Array, from_base64, from_list
from xtc.graph.attributes import attribute_names, check_attribute, missing_attributes
from xtc.graph.constants_file import check_file_name, read_constants
from xtc.graph.finish import finish_graph
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.operator import Operator
from xtc.graph.order import CyclicError, topological
from xtc.graph.placement import Placement
from xtc.graph.tensor import Tensor
from xtc.graph.yaml_fields import checked_name, fields, items, scalar, text
from xtc.graph.yaml_tree import Leaf, List, Map, Tree
from xtc.graph.yaml_write import FORMAT_KEY, FORMAT_VERSION

MAX_OPERANDS = 64
_TARGET_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DEVICE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,79}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_graph(tree: Tree, folder: Path | None) -> Graph:
    """The graph `tree` describes; its constants file, if any, lies in `folder`."""
    top = fields(
        tree,
        "a graph file",
        (FORMAT_KEY, "name", "nodes", "outputs"),
        ("inputs", "constants", "constants_file"),
    )
    _check_version(top[FORMAT_KEY])
    reader = _Reader()
    inputs = [reader.declare(item, "an input") for item in items(top.get("inputs"), "inputs")]
    constants = reader.constants(top.get("constants"), top.get("constants_file"), folder)
    nodes = reader.nodes(items(top["nodes"], "nodes"))
    outputs = [reader.result(item) for item in items(top["outputs"], "outputs")]
    graph_name = checked_name(top["name"], "a graph")
    with located(top["outputs"].where if not outputs else None):
        return finish_graph(
            graph_name, top["name"].where, nodes, [*inputs, *constants], inputs, outputs
        )


def _check_version(tree: Tree) -> None:
    version = scalar(tree, "the format version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise UserError(
            f"format version {version!r} is unknown",
            where=tree.where,
            notes=[f"this program reads version {FORMAT_VERSION}"],
        )


@dataclass(frozen=True)
class _Entry:
    """A node as written: names instead of tensors."""

    name: str
    op: Operator
    inputs: tuple[tuple[str, SourceLocation], ...]
    placement: Placement | None
    where: SourceLocation


@dataclass
class _Reader:
    """Collects tensors by name."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    places: dict[str, SourceLocation] = field(default_factory=dict)

    def take_name(self, tree: Tree, of_what: str) -> str:
        taken = checked_name(tree, of_what)
        if taken in self.places:
            raise UserError(
                f"two tensors are called '{taken}'",
                where=tree.where,
                notes=[f"the other one: {self.places[taken]}"],
            )
        self.places[taken] = tree.where
        return taken

    def declare(self, tree: Tree, what: str, optional: tuple[str, ...] = ()) -> Tensor:
        data = fields(tree, what, ("name", "shape", "dtype"), ("device", *optional))
        tensor = Tensor(
            self.take_name(data["name"], "a tensor"),
            _type(data["shape"], data["dtype"]),
            _placement(data.get("device")),
            where=tree.where,
        )
        self.tensors[str(tensor.name)] = tensor
        return tensor

    def constants(self, tree: Tree | None, file: Tree | None, folder: Path | None) -> list[Tensor]:
        trees = items(tree, "constants")
        tensors = [self.declare(item, "a constant", ("data",)) for item in trees]
        stored = {}
        for item, tensor in zip(trees, tensors, strict=True):
            with located(item.where):
                _ = tensor.type.sizes
            if isinstance(item, Map) and "data" in item.items:
                _set_const(tensor, _data(item.items["data"], tensor.type))
            else:
                stored[str(tensor.name)] = tensor
        self.stored_constants(stored, file, folder)
        return tensors

    def stored_constants(
        self, stored: Mapping[str, Tensor], file: Tree | None, folder: Path | None
    ) -> None:
        if file is None:
            for tensor in stored.values():
                raise UserError(f"constant '{tensor.name}' has no data", where=tensor.where)
            return
        types = {name: tensor.type for name, tensor in stored.items()}
        for name, array in _constants_file(file, folder, types).items():
            _set_const(stored[name], array)

    def nodes(self, trees: list[Tree]) -> list[Node]:
        entries = {entry.name: entry for entry in map(self.entry, trees)}
        needs = {name: [need for need, _ in entry.inputs] for name, entry in entries.items()}
        try:
            order = topological(needs)
        except CyclicError as error:
            error.where = entries[error.cycle[0]].where
            raise
        return [self.node(entries[name]) for name in order]

    def entry(self, tree: Tree) -> _Entry:
        data = fields(tree, "a node", ("name", "op", "inputs"), ("attributes", "device"))
        operands = items(data["inputs"], "inputs")
        if len(operands) > MAX_OPERANDS:
            raise UserError(f"a node has at most {MAX_OPERANDS} inputs", where=tree.where)
        return _Entry(
            self.take_name(data["name"], "a tensor"),
            _operator(data["op"], data.get("attributes")),
            tuple((text(item, "the name of an input"), item.where) for item in operands),
            _placement(data.get("device")),
            tree.where,
        )

    def node(self, entry: _Entry) -> Node:
        inputs = tuple(self.tensor(name, where) for name, where in entry.inputs)
        type = _infer(entry, tuple(tensor.type for tensor in inputs))
        output = Tensor(entry.name, type, entry.placement, where=entry.where)
        output.producer = Node(entry.op, inputs, output, entry.placement, entry.where)
        self.tensors[entry.name] = output
        return output.producer

    def result(self, tree: Tree) -> Tensor:
        return self.tensor(text(tree, "the name of an output"), tree.where)

    def tensor(self, name: str, where: SourceLocation) -> Tensor:
        if name not in self.tensors:
            raise UserError(
                f"there is no tensor '{name}'", where=where, hints=did_you_mean(name, self.places)
            )
        return self.tensors[name]


def _set_const(tensor: Tensor, array: Array) -> None:
    array.flags.writeable = False
    tensor.const = array


def _type(shape: Tree, dtype: Tree) -> TensorType:
    dims = tuple(scalar(item, "a dimension") for item in items(shape, "shape"))
    with located(dtype.where):
        tensor_type((), text(dtype, "dtype"))
    with located(shape.where):
        return tensor_type(dims, text(dtype, "dtype"))


def _placement(tree: Tree | None) -> Placement | None:
    if tree is None:
        return None
    data = fields(tree, "device", ("target", "name"))
    for key, allowed in (("target", _TARGET_NAME), ("name", _DEVICE_NAME)):
        if allowed.fullmatch(text(data[key], key)) is None:
            raise UserError(
                f"{text(data[key], key)!r} is not the {key} of a device", where=data[key].where
            )
    return Placement(text(data["target"], "target"), text(data["name"], "name"))


def _data(tree: Tree, type: TensorType) -> Array:
    with located(tree.where):
        if isinstance(tree, Leaf) and isinstance(tree.value, str):
            return from_base64(tree.value, type)
        return from_list(tree, type)


def _constants_file(
    tree: Tree, folder: Path | None, types: Mapping[str, TensorType]
) -> dict[str, Array]:
    data = fields(tree, "constants_file", ("name", "sha256"))
    with located(data["name"].where):
        file = check_file_name(text(data["name"], "the name of the constants file"))
        sha256 = text(data["sha256"], "sha256")
        if _SHA256.fullmatch(sha256) is None:
            raise UserError("sha256 is 64 hexadecimal digits", where=data["sha256"].where)
        if folder is None:
            raise UserError(
                f"the constants are in another file, '{file}'",
                hints=["load the graph from its file"],
            )
        return read_constants(folder / file, sha256, types)


def _operator(op: Tree, attributes: Tree | None) -> Operator:
    with located(op.where):
        op_class: type[Operator] = discover.operator(text(op, "op"))
    if attributes is None:
        values: dict[str, Any] = {}
    else:
        trees = fields(attributes, op_class.name, (), attribute_names(op_class))
        values = {key: _attribute(op_class, key, value) for key, value in trees.items()}
    for missing in missing_attributes(op_class, values):
        raise UserError(f"{op_class.name} lacks the attribute '{missing}'", where=op.where)
    return op_class(**values)


def _attribute(op_class: type[Operator], key: str, tree: Tree) -> Any:
    value = _plain(tree)
    with located(tree.where):
        check_attribute(op_class, key, value)
    return value


def _plain(tree: Tree) -> Any:
    if isinstance(tree, List):
        return tuple(_plain(item) for item in tree.items)
    return scalar(tree, "an attribute")


def _infer(entry: _Entry, types: tuple[TensorType, ...]) -> TensorType:
    """The result's type. Whatever a rule does not expect to be written is the user's mistake."""
    operands = ", ".join(map(str, types)) or "none"
    try:
        with located(entry.where):
            result = entry.op.infer(*types)
            return tensor_type(result.shape, result.element.name)
    except UserError as error:
        error.notes = (*error.notes, f"operands of {entry.op.name}: {operands}")
        raise
    except Exception as error:
        raise UserError(
            f"{entry.op.name} does not accept these operands and attributes",
            where=entry.where,
            notes=[f"operands of {entry.op.name}: {operands}", str(error)],
        ) from error
