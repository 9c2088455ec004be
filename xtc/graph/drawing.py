# SPDX-License-Identifier: Apache-2.0
"""The contents of a drawing of a graph: boxes with texts, lines between them, and devices.

A constant is drawn above each operator that reads it, so that shared constants tangle no edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xtc.core.types import TensorType
from xtc.graph.node import Node, attributes_text
from xtc.graph.tensor import Tensor

if TYPE_CHECKING:
    from xtc.graph.graph import Graph

Kind = Literal["input", "constant", "operator", "output"]
MAX_TEXT = 40
MAX_ATTRIBUTES = 8
HOST = "the host"


@dataclass(frozen=True, eq=False)
class Box:
    """One box: a heading, lines of detail below it, and the full description as a tooltip.

    `device` is a device's name, or None for the host.
    """

    kind: Kind
    heading: str
    details: tuple[str, ...]
    tooltip: str
    device: str | None


@dataclass(frozen=True)
class Line:
    """An edge from one box to another by their positions; `label` is the type that flows."""

    source: int
    target: int
    label: str


@dataclass(frozen=True)
class Drawing:
    """Boxes in topological order, lines between them, names of devices in order of appearance."""

    boxes: list[Box]
    lines: list[Line]
    devices: tuple[str, ...]


def drawing_of(graph: Graph) -> Drawing:
    """The drawing of `graph`."""
    boxes: list[Box] = []
    lines: list[Line] = []
    number_of: dict[Tensor, int] = {}

    def add(box: Box) -> int:
        boxes.append(box)
        return len(boxes) - 1

    for tensor in graph.inputs:
        number_of[tensor] = add(_box_of_tensor("input", tensor))
    for node in graph.nodes:
        sources = [
            add(_box_of_tensor("constant", t)) if t.const is not None else number_of[t]
            for t in node.inputs
        ]
        number_of[node.output] = add(_box_of_node(node))
        lines += [
            Line(source, number_of[node.output], type_text(tensor.type))
            for source, tensor in zip(sources, node.inputs, strict=True)
        ]
    for tensor in graph.outputs:
        target = add(Box("output", str(tensor.name), (), str(tensor), _device(tensor)))
        lines.append(Line(number_of[tensor], target, type_text(tensor.type)))
    used = dict.fromkeys(box.device for box in boxes if box.device is not None)
    return Drawing(boxes, lines, tuple(used))


def type_text(type: TensorType) -> str:
    """A type for a label: `4×16 float32`."""
    return " ".join(filter(None, ["×".join(map(str, type.shape)), type.element.name]))


def shortened(text: str) -> str:
    """At most MAX_TEXT characters."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _device(item: Tensor | Node) -> str | None:
    return str(item.placement) if item.placement else None


def _box_of_tensor(kind: Kind, tensor: Tensor) -> Box:
    details: tuple[str, ...] = ()
    if kind == "constant" and tensor.const is not None:
        value = f" = {tensor.const.item()!r}" if tensor.is_scalar_constant else ""
        details = (type_text(tensor.type) + value,)
    return Box(kind, shortened(str(tensor.name)), details, str(tensor), _device(tensor))


def _box_of_node(node: Node) -> Box:
    attributes = [shortened(text) for text in attributes_text(node.op)]
    if len(attributes) > MAX_ATTRIBUTES:
        rest = len(attributes) - MAX_ATTRIBUTES + 1
        attributes = [*attributes[: MAX_ATTRIBUTES - 1], f"and {rest} more"]
    return Box("operator", node.op.name, (node.name, *attributes), str(node), _device(node))
