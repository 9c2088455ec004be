# SPDX-License-Identifier: Apache-2.0
"""Converts the nodes of a model with known sizes, writing them into the open graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from xtc.core.errors import UserError, XtcError
from xtc.core.location import SourceLocation
from xtc.graph.builder import GraphBuilder, open_graph
from xtc.graph.tensor import Tensor
from xtc.importers.names import plain_name
from xtc.importers.onnx import ops as _  # noqa: F401  fills the table
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.fold import evaluated, fold, foldable
from xtc.importers.onnx.large_constants import is_taken
from xtc.importers.onnx.load import attributes_of
from xtc.importers.onnx.table import TABLE, Entry, versions_of
from xtc.importers.values import Array, Unsupported, Value, ValueNeeded, is_sequence

MOST_NODES = 200_000  # including those of unrolled loops
# Raised by functions of the table for operands and attributes that violate ONNX's rules.
_UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass
class Problem:
    """A node that could not be imported, and the reason."""

    node: onnx.NodeProto
    number: int
    why: str
    needs: Tensor | None = None


@dataclass
class Converter:
    """Writes a model's nodes into `builder` and collects those that it cannot write.

    Attributes:
        builder: the open graph.
        opsets: versions of the model's operator sets, by domain.
        file: the model's file, for locations.
        arrays: data of the constants that have none in the model, by name.
        problems: nodes that could not be imported, in order.
    """

    builder: GraphBuilder
    opsets: Mapping[str, int]
    file: str
    arrays: Mapping[str, Array] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    _number: int = 0
    _written: int = 0

    def graph(self, graph: onnx.GraphProto, known: Mapping[str, Value]) -> dict[str, Value]:
        """All values of a graph by name, starting from `known`."""
        values: dict[str, Value] = {**known, **initializers(graph, self.arrays)}
        for number, node in enumerate(graph.node, start=1):
            self._number = number
            self._node(node, values)
        return values

    def subgraph(
        self, graph: onnx.GraphProto, operands: Sequence[Value], outer: Mapping[str, Value]
    ) -> list[Value]:
        """The outputs of a subgraph on operands; it can read the enclosing values."""
        inner = {info.name: value for info, value in zip(graph.input, operands, strict=False)}
        number, before = self._number, len(self.problems)
        builder, self.builder = self.builder, open_graph()  # which may be that of a loop
        try:
            values = self.graph(graph, {**outer, **inner})
        finally:
            self._number, self.builder = number, builder
        missing = [out.name for out in graph.output if out.name not in values]
        if missing:
            why = "".join(f": {p.node.op_type}: {p.why}" for p in self.problems[before:][:1])
            raise Unsupported(f"its subgraph does not compute '{missing[0]}'{why}")
        return [values[out.name] for out in graph.output]

    @contextmanager
    def trial(self) -> Iterator[None]:
        """A context that discards what was written in it if an error occurs, and reraises it."""
        nodes, problems, names = len(self.builder.nodes), len(self.problems), set(self.names)
        try:
            yield
        except Exception:
            del self.builder.nodes[nodes:], self.problems[problems:]
            self.names.intersection_update(names)
            raise

    def _node(self, node: onnx.NodeProto, values: dict[str, Value]) -> None:
        if any(name and name not in values for name in node.input):
            return  # the producer is among the problems
        start, before = len(self.builder.nodes), len(self.problems)
        number = self._number
        try:
            results = self._results(node, values)
        except ValueNeeded as error:
            del self.builder.nodes[start:]
            # Problems within the node's subgraphs may disappear once the value is known.
            self.problems[before:] = [Problem(node, number, str(error), error.tensor)]
            return
        except (Unsupported, UserError, *_UNFORESEEN) as error:
            del self.builder.nodes[start:]
            self.problems.append(Problem(node, number, _reason(error)))
            return
        self._name(node, results, start, number)
        values.update(
            (name, value)
            for name, value in zip(node.output, results, strict=False)
            if name and value is not None
        )

    def _results(self, node: onnx.NodeProto, values: Mapping[str, Value]) -> list[Value | None]:
        self._written += 1
        if self._written > MOST_NODES:
            raise Unsupported(f"more than {MOST_NODES} nodes, loops unrolled")
        entry, version = self._entry(node)
        inputs = [values[name] if name else None for name in node.input]
        call = Call(
            node,
            inputs,
            attributes_of(node),
            version,
            lambda graph, operands: self.subgraph(graph, operands, values),
            self.trial,
        )
        arrays = [value for value in inputs if not isinstance(value, Tensor)]
        if entry is not None and not entry.folds:
            return _listed(entry.write(call))
        if any(value is not None and is_sequence(value) for value in inputs):
            raise Unsupported("an operand that is a sequence")
        if len(arrays) == len(inputs) and foldable(node):
            return self._folded(node, call, arrays, entry)
        if entry is None:
            raise Unsupported(unknown(node, self.opsets))
        return _listed(entry.write(call))

    def _folded(
        self,
        node: onnx.NodeProto,
        call: Call,
        arrays: Sequence[Array | None],
        entry: Entry | None,
    ) -> list[Value | None]:
        """Fold a node of constants, by ONNX's evaluator or else by the table."""
        try:
            return list(fold(node, arrays, self.opsets))
        except Unsupported:
            if entry is None:
                raise
        start = len(self.builder.nodes)
        results = _listed(entry.write(call))
        computed = evaluated(self.builder.nodes[start:])
        del self.builder.nodes[start:]
        return [computed.get(x, x) if isinstance(x, Tensor) else x for x in results]

    def _entry(self, node: onnx.NodeProto) -> tuple[Entry | None, int]:
        # Other domains have no schemas: use the version of their operator set.
        version = schema_version(node, self.opsets) or self.opsets.get(domain_of(node), 1)
        return TABLE.get((domain_of(node), node.op_type, version)), version

    def _name(
        self, node: onnx.NodeProto, results: Sequence[Value | None], start: int, number: int
    ) -> None:
        own = node.name or next(filter(None, node.output), "")
        where = SourceLocation(self.file, number, name=own)
        for written in self.builder.nodes[start:]:
            written.where = written.output.where = where
        for name, value in zip(node.output, results, strict=False):
            if not isinstance(value, Tensor) or value.producer is None:
                continue
            if name and value.name is None:
                value.name = plain_name(name, self.names)
                self.names.add(value.name)


def _reason(error: Exception) -> str:
    if isinstance(error, XtcError):
        return error.what
    if isinstance(error, Unsupported):
        return str(error)
    return f"invalid operands or attributes ({type(error).__name__}: {error})"[:300]


def _listed(results: Any) -> list[Value | None]:
    if isinstance(results, Tensor | np.ndarray):
        return [results]
    return list(results)


def initializers(graph: onnx.GraphProto, arrays: Mapping[str, Array]) -> dict[str, Value]:
    """The constants of a graph by name; `arrays` holds those without data in the graph."""
    if graph.sparse_initializer:
        raise Unsupported("sparse constants")
    return {
        entry.name: arrays[entry.name] if is_taken(entry, arrays) else _array(entry)
        for entry in graph.initializer
    }


def _array(entry: onnx.TensorProto) -> Array:
    try:
        array: Array = onnx.numpy_helper.to_array(entry)
    except Exception as error:  # of many kinds, if sizes, type and data disagree
        why = f"{type(error).__name__}: {error}"[:200]
        raise Unsupported(f"the constant '{entry.name}', which cannot be read: {why}") from None
    return array


def domain_of(node: onnx.NodeProto) -> str:
    """The node's domain; "" for the standard one."""
    return "" if node.domain == "ai.onnx" else node.domain


def schema_version(node: onnx.NodeProto, opsets: Mapping[str, int]) -> int:
    """The version of the schema of a node; 0 if ONNX has none."""
    domain = domain_of(node)
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return 0
    return int(schema.since_version)


def unknown(node: onnx.NodeProto, opsets: Mapping[str, int]) -> str:
    """Why a node is not in the table."""
    domain = domain_of(node)
    have = versions_of(domain, node.op_type)
    version = schema_version(node, opsets)
    if have:
        known = ", ".join(map(str, have))
        return f"version {version} of its schema is not supported, only {known}"
    return "the operator is not supported"
