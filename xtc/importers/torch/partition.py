# SPDX-License-Identifier: Apache-2.0
"""Partitions traced graphs: unsupported operators run in PyTorch, all others are compiled."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch
from torch.fx.passes.split_module import split_module

from xtc.core.types import ELEMENT_TYPES
from xtc.importers.torch.convert import location_of
from xtc.importers.torch.table import TABLE


class RunsInPyTorch(UserWarning):
    """Some operators of a compiled module run in PyTorch."""


Compiled = Callable[[list[Any]], list[Any]]
Compile = Callable[[torch.fx.GraphModule, Collection[int]], Compiled]


def partitioned(
    module: torch.fx.GraphModule,
    unsupported: Iterable[str],
    weights: Collection[int],
    compile_part: Compile,
) -> Callable[..., Any]:
    """A module partitioned into compiled parts and parts that PyTorch runs.

    Args:
        module: a module of functional nodes.
        unsupported: names of the nodes that could not be imported.
        weights: positions of weights among its arguments.
        compile_part: compiles a part, given the positions of weights among its arguments.

    Warns with RunsInPyTorch, which lists the operators and their source lines.
    """
    left = _run_in_pytorch(module, set(unsupported))
    _warn(left)
    levels = _levels(module, left)
    split = split_module(module, None, lambda node: levels[node], tuple_return=True)
    kept = {
        node.name
        for n, node in enumerate(module.graph.find_nodes(op="placeholder"))
        if n in weights
    }
    compiled = {f"submod_{level}" for level in levels.values() if level % 2}
    for call in split.graph.find_nodes(op="call_module"):
        if call.target in compiled:
            constants = [
                n
                for n, source in enumerate(call.args)
                if source.op == "get_attr" or source.name in kept
            ]
            part = compile_part(getattr(split, call.target), constants)
            setattr(split, call.target, _Part(part))
    run: Callable[..., Any] = split
    return run


class _Part(torch.nn.Module):  # type: ignore[misc]
    """A compiled part, called with one argument for each placeholder."""

    def __init__(self, run: Compiled) -> None:
        super().__init__()
        self._run = run

    def forward(self, *args: Any) -> tuple[Any, ...]:
        return tuple(self._run(list(args)))


def _run_in_pytorch(module: torch.fx.GraphModule, unsupported: set[str]) -> set[torch.fx.Node]:
    """The unsupported operators, and those with values that cannot cross between parts."""
    nodes = _computing(module)
    failed = {_kind(node) for node in nodes if node.name in unsupported}
    left = {
        node
        for node in nodes
        if _kind(node) in failed or (_is_operator(node) and not _in_table(node))
    }
    ends = [*module.graph.find_nodes(op="placeholder"), module.graph.output_node()]
    if any(map(_has_unsupported_type, [*left, *ends])):
        left.update(filter(_has_unsupported_type, nodes))
    for node in nodes:
        if node.target is operator.getitem and node in left:
            left.add(node.args[0])
    for node in nodes:
        if not _tensors(node) or (node.target is operator.getitem and node.args[0] in left):
            left.add(node)
    return left


def _kind(node: torch.fx.Node) -> Any:
    """The properties by which nodes fail to import for the same reason."""
    numbers = tuple(str(x) for x in node.args if not isinstance(x, torch.fx.Node | list | tuple))
    return node.target, numbers, tuple(x.dtype for x in _tensors(node))


def _computing(module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    return [
        node for node in module.graph.nodes if node.op not in ("placeholder", "get_attr", "output")
    ]


def _is_operator(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload)


def _in_table(node: torch.fx.Node) -> bool:
    name = str(node.target)
    return name in TABLE or name.removesuffix(".default") in TABLE


def _tensors(node: torch.fx.Node) -> list[torch.Tensor]:
    value = node.meta.get("val")
    values = value if isinstance(value, list | tuple) else [value]
    return [item for item in values if isinstance(item, torch.Tensor)]


def _has_unsupported_type(node: torch.fx.Node) -> bool:
    """Whether a node reads or returns a tensor of a type that graphs lack, such as complex ones."""
    tensors = [tensor for item in (node, *node.all_input_nodes) for tensor in _tensors(item)]
    return any(str(x.dtype).removeprefix("torch.") not in ELEMENT_TYPES for x in tensors)


def _levels(
    module: torch.fx.GraphModule, left: Collection[torch.fx.Node]
) -> dict[torch.fx.Node, int]:
    """Levels of the nodes, even for PyTorch; no node has a lower level than its operands."""
    levels: dict[torch.fx.Node, int] = {}
    for node in _computing(module):
        parity = 0 if node in left else 1
        before = max((levels.get(source, 0) for source in node.all_input_nodes), default=0)
        levels[node] = before + (before % 2 != parity)
    return levels


def _warn(left: Collection[torch.fx.Node]) -> None:
    names = sorted({f"{node.target}{location_of(node)}" for node in left if _is_operator(node)})
    if names:
        warnings.warn(
            "backend 'xtc' runs unsupported operators in PyTorch: " + ", ".join(names),
            RunsInPyTorch,
            stacklevel=2,
        )
