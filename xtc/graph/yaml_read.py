# SPDX-License-Identifier: Apache-2.0
"""Turns a YAML tree into a checked graph; errors have their location in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from xtc.core.errors import UserError, did_you_mean, located
from xtc.core.location import SourceLocation
from xtc.core.types import TensorType, tensor_type
from xtc.core.yaml_tree import Limits, Map, Tree, read_tree
from xtc.graph.array_text import Array
from xtc.graph.finish import FinishedGraph, finish_graph
from xtc.graph.node import Node
from xtc.graph.operator import Operator
from xtc.graph.order import CyclicError, topological
from xtc.graph.placement import Placement
from xtc.graph.states import checked_update, make_state
from xtc.graph.tensor import Tensor
from xtc.graph.yaml_fields import checked_name, fields, items, scalar, text
from xtc.graph.yaml_parts import (
    constant_data,
    declared_type,
    device,
    operator,
    stored_constants,
)
from xtc.graph.yaml_write import FORMAT_KEY, FORMAT_VERSION

LIMITS = Limits(text=64 << 20, depth=32, values=1 << 20, scalar=1 << 10)
"""Upper limits of a graph file."""
_LONG_KEYS = frozenset({"data", "initial"})


def read_document(text: str, file: str) -> Tree:
    """The document of a graph file. Raises UserError if it is empty."""
    start = SourceLocation(file, 1, 1)
    tree = read_tree(text, start, LIMITS, _LONG_KEYS)
    if tree is None:
        raise UserError("there is no document", where=start)
    return tree


def read_graph(tree: Tree, folder: Path | None) -> FinishedGraph:
    """The graph `tree` describes; its constants file, if any, lies in `folder`."""
    _check_version(tree)
    top = fields(
        tree,
        "a graph file",
        (FORMAT_KEY, "name", "nodes", "outputs"),
        ("inputs", "constants", "constants_file", "updates"),
    )
    reader = _Reader()
    inputs = [reader.input(item) for item in items(top.get("inputs"), "inputs")]
    constants = reader.constants(top.get("constants"), top.get("constants_file"), folder)
    nodes = reader.nodes(items(top["nodes"], "nodes"))
    outputs = reader.outputs(top["outputs"])
    updates = reader.updates(top.get("updates"))
    graph_name = checked_name(top["name"], "a graph")
    return finish_graph(
        graph_name, top["name"].where, nodes, [*inputs, *constants], inputs, outputs, updates
    )


def _check_version(tree: Tree) -> None:
    """Checked first, because another version may have other keys."""
    if not isinstance(tree, Map) or FORMAT_KEY not in tree.items:
        return
    version_field = tree.items[FORMAT_KEY]
    version = scalar(version_field, "the format version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise UserError(
            f"format version {version!r} is unknown",
            where=version_field.where,
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
    taken_at: dict[str, SourceLocation] = field(default_factory=dict)

    def take_name(self, tree: Tree, of_what: str) -> str:
        taken = checked_name(tree, of_what)
        if taken in self.taken_at:
            raise UserError(
                f"two tensors are called '{taken}'",
                where=tree.where,
                notes=[f"the other one: {self.taken_at[taken]}"],
            )
        self.taken_at[taken] = tree.where
        return taken

    def declare(self, tree: Tree, what: str, optional: tuple[str, ...] = ()) -> Tensor:
        data = fields(tree, what, ("name", "shape", "dtype"), ("device", *optional))
        tensor = Tensor(
            self.take_name(data["name"], "a tensor"),
            declared_type(data["shape"], data["dtype"]),
            device(data.get("device")),
            where=tree.where,
        )
        self.tensors[str(tensor.name)] = tensor
        return tensor

    def input(self, tree: Tree) -> Tensor:
        tensor = self.declare(tree, "an input", ("state", "initial"))
        if isinstance(tree, Map) and "state" in tree.items:
            found = scalar(tree.items["state"], "whether an input is a state")
            if not isinstance(found, bool):
                raise UserError(f"state is true or false, not {found!r}", where=tree.where)
            data = tree.items.get("initial")
            with located(tree.where):
                if found:
                    make_state(tensor, None if data is None else constant_data(data, tensor.type))
        return tensor

    def updates(self, tree: Tree | None) -> dict[Tensor, Tensor]:
        found: dict[Tensor, Tensor] = {}
        if tree is None:
            return found
        if not isinstance(tree, Map):
            raise UserError("updates are a mapping of states to results", where=tree.where)
        for name, item in tree.items.items():
            with located(item.where):
                state = self.tensor(name, tree.keys[name])
                value = self.tensor(text(item, "the name of a result"), item.where)
                found[state] = checked_update(state, value, found)
        return found

    def constants(self, tree: Tree | None, file: Tree | None, folder: Path | None) -> list[Tensor]:
        trees = items(tree, "constants")
        tensors = [self.declare(item, "a constant", ("data",)) for item in trees]
        stored = {}
        for item, tensor in zip(trees, tensors, strict=True):
            with located(item.where):
                _ = tensor.type.sizes
            if isinstance(item, Map) and "data" in item.items:
                _set_const(tensor, constant_data(item.items["data"], tensor.type))
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
        for name, array in stored_constants(file, folder, types).items():
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
        return _Entry(
            self.take_name(data["name"], "a tensor"),
            operator(data["op"], data.get("attributes")),
            tuple((text(item, "the name of an input"), item.where) for item in operands),
            device(data.get("device")),
            tree.where,
        )

    def node(self, entry: _Entry) -> Node:
        inputs = tuple(self.tensor(name, where) for name, where in entry.inputs)
        type = _infer(entry, tuple(tensor.type for tensor in inputs))
        output = Tensor(entry.name, type, entry.placement, where=entry.where)
        output.producer = Node(entry.op, inputs, output, entry.placement, entry.where)
        self.tensors[entry.name] = output
        return output.producer

    def outputs(self, tree: Tree) -> list[Tensor]:
        chosen: list[Tensor] = []
        for item in items(tree, "outputs"):
            output = self.tensor(text(item, "the name of an output"), item.where)
            if output in chosen:
                raise UserError(f"the output '{output.name}' is named twice", where=item.where)
            if output.producer is None:
                raise UserError(
                    f"tensor '{output.name}' is not computed, so it cannot be an output",
                    where=item.where,
                )
            chosen.append(output)
        if not chosen:
            raise UserError("the graph has no output", where=tree.where)
        return chosen

    def tensor(self, name: str, where: SourceLocation) -> Tensor:
        if name not in self.tensors:
            raise UserError(
                f"there is no tensor '{name}'", where=where, hints=did_you_mean(name, self.taken_at)
            )
        return self.tensors[name]


def _set_const(tensor: Tensor, array: Array) -> None:
    array.flags.writeable = False
    tensor.const = array


def _infer(entry: _Entry, types: tuple[TensorType, ...]) -> TensorType:
    """The result's type. Any exception of a type rule is reported as the user's mistake."""
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
