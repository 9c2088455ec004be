# SPDX-License-Identifier: Apache-2.0
"""Inlines functions: those of the model, and the function bodies of ONNX's schemas."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

import onnx
from onnx.inliner import inline_local_functions, inline_selected_functions

from xtc.core.errors import UserError
from xtc.importers.onnx.convert import domain_of, schema_version
from xtc.importers.onnx.load import opsets
from xtc.importers.onnx.sort_nodes import subgraphs
from xtc.importers.onnx.table import TABLE

_MOST_ROUNDS = 8  # functions that call functions


def inlined(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> onnx.GraphProto:
    """The model's graph, with nodes that are not in the table expanded by their schema's body.

    `shapes` gives the shapes of the inputs, by name. Nodes without such a body remain.
    """
    if not model.functions and not list(_missing(model, model.graph)):
        return model.graph
    current = onnx.ModelProto()
    current.CopyFrom(model)
    try:
        if current.functions:
            current = inline_local_functions(current)
        for _ in range(_MOST_ROUNDS):
            missing = sorted(set(_missing(current, current.graph)))
            if not missing:
                break
            before = len(current.graph.node)
            _complete(current, current.graph, set(missing))
            current = _typed(current, shapes)
            current = inline_selected_functions(current, missing, inline_schema_functions=True)
            if (
                len(current.graph.node) == before
                and sorted(set(_missing(current, current.graph))) == missing
            ):
                break
    except Exception as error:  # the inliner raises errors of many kinds
        raise UserError(
            "the model's functions cannot be inlined", notes=[str(error)[:300]]
        ) from None
    return current.graph


def _typed(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> onnx.ModelProto:
    """The model with its inputs' sizes set and all other shapes inferred."""
    del model.graph.value_info[:]
    for info in model.graph.input:
        if info.name in shapes:
            del info.type.tensor_type.shape.dim[:]
            for size in shapes[info.name]:
                info.type.tensor_type.shape.dim.add().dim_value = size
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # bodies that need types then stay, and are reported as unsupported
        return model


def _complete(
    model: onnx.ModelProto, graph: onnx.GraphProto, operators: Container[tuple[str, str]]
) -> None:
    """Add attributes with default values explicitly, since bodies refer to them."""
    versions = opsets(model)
    for node in graph.node:
        if (domain_of(node), node.op_type) in operators:
            domain = domain_of(node)
            schema = onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
            given = {attribute.name for attribute in node.attribute}
            node.attribute.extend(
                attribute.default_value
                for name, attribute in schema.attributes.items()
                if name not in given and attribute.default_value.name
            )
        for inner in subgraphs(node):
            _complete(model, inner, operators)


def _missing(model: onnx.ModelProto, graph: onnx.GraphProto) -> Iterator[tuple[str, str]]:
    """Operators that the table lacks and for which ONNX has a function body."""
    versions = opsets(model)
    for node in graph.node:
        version = schema_version(node, versions)
        key = (domain_of(node), node.op_type, version)
        if version and key not in TABLE and _has_body(node, versions):
            yield domain_of(node), node.op_type
        for inner in subgraphs(node):
            yield from _missing(model, inner)


def _has_body(node: onnx.NodeProto, versions: Mapping[str, int]) -> bool:
    domain = domain_of(node)
    schema = onnx.defs.get_schema(node.op_type, versions.get(domain, 1), domain)
    return bool(schema.has_function or schema.has_context_dependent_function)
