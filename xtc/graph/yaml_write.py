# SPDX-License-Identifier: Apache-2.0
"""Writes a graph as short, stable, readable YAML, which `xtc.graph.yaml_read` reads."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import yaml

from xtc.graph.array_text import listed, to_base64
from xtc.graph.attributes import set_attributes
from xtc.graph.known_operators import require_known
from xtc.graph.node import Node
from xtc.graph.placement import Placement
from xtc.graph.tensor import Tensor

if TYPE_CHECKING:
    from xtc.graph.graph import Graph

FORMAT_KEY = "xtc_graph"
FORMAT_VERSION = 1
_COLUMNS = 100
_MAX_INLINE = 4
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Inline(dict[str, Any]):
    """A mapping written on one line."""


class _Block(str):
    """A text written literally, on separate lines."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _list(dumper: yaml.SafeDumper, data: Any) -> yaml.Node:
    inline = not any(isinstance(item, dict | list) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=inline)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    """Plain words unquoted, unless YAML would parse them as another type; other text quoted."""
    tag = "tag:yaml.org,2002:str"
    resolved = dumper.resolve(yaml.ScalarNode, data, (True, False))  # type: ignore[no-untyped-call]
    word = _WORD.fullmatch(data) and resolved == tag
    return dumper.represent_scalar(tag, data, style=None if word else '"')


_Dumper.add_representer(list, _list)
_Dumper.add_representer(tuple, _list)
_Dumper.add_representer(str, _text)
_Dumper.add_representer(
    _Inline,
    lambda dumper, data: dumper.represent_mapping(
        "tag:yaml.org,2002:map", data.items(), flow_style=True
    ),
)
_Dumper.add_representer(
    _Block,
    lambda dumper, data: dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|"),
)


def graph_text(
    graph: Graph, stored: Container[Tensor] = (), constants_file: tuple[str, str] | None = None
) -> str:
    """YAML of `graph`; constants in `stored` are in `constants_file` (its name, its SHA-256)."""
    data: dict[str, Any] = {FORMAT_KEY: FORMAT_VERSION, "name": graph.name}
    if graph.inputs:
        data["inputs"] = [_input(tensor) for tensor in graph.inputs]
    if constants_file is not None:
        name, sha256 = constants_file
        data["constants_file"] = {"name": name, "sha256": sha256}
    if graph.constants:
        data["constants"] = [_constant(tensor, tensor in stored) for tensor in graph.constants]
    data["nodes"] = [_node(node) for node in graph.nodes]
    data["outputs"] = [tensor.name for tensor in graph.outputs]
    if graph.updates:
        data["updates"] = {state.name: value.name for state, value in graph.updates}
    text = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, width=_COLUMNS, default_flow_style=False
    )
    return str(text)


def _input(tensor: Tensor) -> dict[str, Any]:
    data = _declaration(tensor)
    if tensor.initial is None:
        return _Inline(data)
    values = listed(tensor.initial, tensor.element)
    return data | {"initial": _Block(to_base64(tensor.initial)) if values is None else values}


def _declaration(tensor: Tensor) -> dict[str, Any]:
    data: dict[str, Any] = {"name": tensor.name, "shape": list(tensor.shape), "dtype": tensor.dtype}
    if tensor.state:
        data["state"] = True
    return data | _device(tensor.placement)


def _device(placement: Placement | None) -> dict[str, Any]:
    if placement is None:
        return {}
    return {"device": _Inline(target=placement.target, name=placement.name)}


def _constant(tensor: Tensor, stored: bool) -> dict[str, Any]:
    data = _declaration(tensor)
    if stored or tensor.const is None:
        return _Inline(data)
    values = listed(tensor.const, tensor.element)
    if values is None:
        return data | {"data": _Block(to_base64(tensor.const))}
    data |= {"data": values}
    return _Inline(data) if tensor.const.size <= _MAX_INLINE else data


def _node(node: Node) -> dict[str, Any]:
    require_known(node.op)
    data: dict[str, Any] = {
        "name": node.name,
        "op": node.op.name,
        "inputs": [tensor.name for tensor in node.inputs],
    }
    attributes = set_attributes(node.op)
    if attributes:
        data["attributes"] = _Inline(attributes)
    return data | _device(node.placement)
