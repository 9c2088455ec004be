# SPDX-License-Identifier: Apache-2.0
"""from_torch: the graph of an exported program."""

from __future__ import annotations

from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.importers.torch.convert import State, import_traced
from xtc.importers.torch.decompositions import of_exported
from xtc.importers.torch.types import element_name

_KEPT = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION)
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def graph_of(program: torch.export.ExportedProgram, name: str, device: object = None) -> Graph:
    """The graph of a program with all sizes known; weights are constants. Raises UserError."""
    core = program.run_decompositions(of_exported())
    updated = {}
    for position, output in enumerate(core.graph_signature.output_specs):
        if output.kind is OutputKind.BUFFER_MUTATION:
            updated[str(output.target)] = position
        if output.kind not in _KEPT:
            kind = output.kind.name.lower().replace("_", " ")
            raise UserError(f"the program's output '{output.target}' is a {kind}")
    placeholders = [node for node in core.graph.nodes if node.op == "placeholder"]
    leaves: list[Any] = []
    names = []
    for node, spec in zip(placeholders, core.graph_signature.input_specs, strict=True):
        leaf = _leaf(core, node, spec)
        if spec.kind is InputKind.BUFFER and str(spec.target) in updated:
            leaf = State(leaf, updated[str(spec.target)])
        leaves.append(leaf)
        names.append(str(spec.target) if spec.kind in _WEIGHTS else node.name)
    imported = import_traced(name, core.graph_module, leaves, names, device)
    if imported.graph is None:
        raise UserError(f"'{name}' computes nothing")
    return imported.graph


def _leaf(program: torch.export.ExportedProgram, node: torch.fx.Node, spec: Any) -> Any:
    if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
        if spec.target in program.state_dict:
            return program.state_dict[spec.target]
        return program.constants[spec.target]
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return program.constants[spec.target]
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return value
    shape = []
    for size in value.shape:
        if not isinstance(size, int):
            raise UserError(
                f"input '{node.name}' has the free dimension '{size}'",
                hints=["export with static sizes; torch.compile(model, backend='xtc') takes any"],
            )
        shape.append(size)
    return tuple(shape), element_name(value.dtype)
