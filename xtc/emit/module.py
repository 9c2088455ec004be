# SPDX-License-Identifier: Apache-2.0
"""Emits a graph as one MLIR module: a function over memrefs, with linalg on tensors inside.

Arguments are the inputs, then the outputs. `memref.on_device` marks those that live on a device
when the call starts: a unit attribute if the graph uses one device, else the device's name.
Constants are `memref.global` declarations whose bytes are stored beside the code; constants of rank
0 are `arith.constant` in the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.ir.attributes import AXES, DEVICE, MEMORY, ON_DEVICE, STATE
from xtc.ir.builders.linalg import LinalgBuilder, MainOperation, Value
from xtc.loops.mesh import is_head, parse_head
from xtc.loops.yaml_text import Located, parse_yaml

CONSTANT_ALIGNMENT = 64


@dataclass
class _Emission:
    graph: Graph
    builder: LinalgBuilder
    values: dict[Tensor, Value]
    many_devices: bool
    locations: bool = True

    def on_device(self, tensor: Tensor) -> list[str]:
        if tensor.placement is None:
            return []
        if self.many_devices:
            return [f'{ON_DEVICE} = "{tensor.placement}"']
        return [ON_DEVICE]


def main_operations(graph: Graph) -> dict[str, MainOperation]:
    """The main operation of each node by name, for schedules; data movement nodes have none."""
    emission = _Emission(graph, LinalgBuilder(), {}, False)
    _body(emission)
    return emission.builder.mains


def module_text(
    graph: Graph, schedules: Mapping[str, str] | None = None, *, locations: bool = True
) -> str:
    """The `source` stage of `graph`, whose dimensions are all known, as MLIR text.

    `schedules` has the loop nests of scheduled nodes by name, each as one line of YAML. Without
    `locations` the text has no locations in the user's source.
    """
    if graph.symbols:
        raise UserError(
            f"graph '{graph.name}' has the symbolic dimension '{graph.symbols[0]}'",
            hints=[f"give its size: dims={{'{graph.symbols[0]}': 32}}"],
        )
    texts = schedules or {}
    builder = LinalgBuilder(schedules={k: v for k, v in texts.items() if not is_head(k)})
    emission = _Emission(graph, builder, {}, len(device_names(graph)) > 1, locations)
    globals_text = [_global(emission, tensor) for tensor in stored_constants(graph)]
    signature = ", ".join(_arguments(emission))
    body = _body(emission)
    lines = [
        "module {",
        *_meshes(graph, texts),
        *globals_text,
        f"func.func @{graph.name}({signature}) {{",
        *body,
        "return",
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _meshes(graph: Graph, texts: Mapping[str, str]) -> list[str]:
    """The meshes of a schedule, for each device with distributed operators."""
    heads = {key: parse_yaml(text) for key, text in texts.items() if is_head(key)}
    devices = dict.fromkeys(
        str(node.placement) if node.placement else ""
        for node in graph.nodes
        if heads and any(word in texts.get(node.name, "") for word in ("distribute:", "shard:"))
    )
    lines = []
    for number, on in enumerate(devices):
        for key, tree in heads.items():
            suffix = f".{number}" if number else ""
            lines.append(_mesh(key, tree, suffix, on))
    return lines


def _mesh(key: str, tree: Located, suffix: str, on: str) -> str:
    name, memory = parse_head(key)
    axes = {str(axis.value): size.value for axis, size in tree.value.items()}
    names = ", ".join(f'"{axis}"' for axis in axes)
    attributes = [f"{AXES} = [{names}]"]
    if memory is not None:
        attributes.append(f"{MEMORY} = @{memory}{suffix}")
    if on:
        attributes.append(f'{DEVICE} = "{on}"')
    shape = "x".join(str(size) for size in axes.values())
    return f"shard.grid @{name}{suffix}(shape = {shape}) {{{', '.join(attributes)}}}"


def device_names(graph: Graph) -> tuple[str, ...]:
    """Names of the devices that the graph's tensors and operators use, in order of appearance."""
    tensors = [*graph.inputs, *graph.constants, *graph.outputs]
    devices = [tensor.placement for tensor in tensors] + [node.placement for node in graph.nodes]
    return tuple(dict.fromkeys(on.name for on in devices if on is not None))


def stored_constants(graph: Graph) -> tuple[Tensor, ...]:
    """Constants whose bytes are stored beside the code."""
    return tuple(tensor for tensor in graph.constants if not tensor.is_scalar_constant)


def constant_symbol(graph: Graph, tensor: Tensor) -> str:
    """The symbol of a constant's bytes."""
    return f"{graph.name}.{tensor.name}"


def _arguments(emission: _Emission) -> list[str]:
    tensors = (*emission.graph.inputs, *emission.graph.outputs)
    return [
        f"%arg{position}: {tensor.type.mlir('memref')} "
        f"{{{', '.join(['llvm.noalias', *_state(tensor), *emission.on_device(tensor)])}}}"
        for position, tensor in enumerate(tensors)
    ]


def _state(tensor: Tensor) -> list[str]:
    return [STATE] if tensor.state else []


def _global(emission: _Emission, tensor: Tensor) -> str:
    attributes = ", ".join([f"alignment = {CONSTANT_ALIGNMENT} : i64", *emission.on_device(tensor)])
    symbol = constant_symbol(emission.graph, tensor)
    return f"memref.global constant @{symbol} : {tensor.type.mlir('memref')} {{{attributes}}}"


def _body(emission: _Emission) -> list[str]:
    graph, builder = emission.graph, emission.builder
    for position, tensor in enumerate(graph.inputs):
        how = "restrict writable" if tensor.state else "restrict"
        emission.values[tensor] = _load(builder, f"%arg{position}", tensor, how)
    for node in graph.nodes:
        _emit_node(emission, node)
    for position, tensor in enumerate(graph.outputs):
        value = emission.values[tensor]
        destination = f"%arg{len(graph.inputs) + position}"
        builder.lines.append(
            f"bufferization.materialize_in_destination {value.ssa} in restrict writable "
            f"{destination} : ({tensor.type.mlir()}, {tensor.type.mlir('memref')}) -> ()"
        )
    for state, result in graph.updates:
        _update(emission, state, result)
    return builder.lines


def _update(emission: _Emission, state: Tensor, result: Tensor) -> None:
    """Copy a state's next value; the copy folds away if the value was computed in place.

    It is a copy of buffers, which stays after all reads of the state: a tensor destination would be
    written as soon as possible.
    """
    memref, value = state.type.mlir("memref"), emission.values[result]
    argument = f"%arg{emission.graph.inputs.index(state)}"
    emission.builder.lines += [
        f"%{state.name}.next = bufferization.to_buffer {value.ssa} read_only : "
        f"{state.type.mlir()} to {memref}",
        f"memref.copy %{state.name}.next, {argument} : {memref} to {memref}",
    ]


def _load(builder: LinalgBuilder, memref: str, tensor: Tensor, how: str = "restrict") -> Value:
    types = f"{tensor.type.mlir('memref')} to {tensor.type.mlir()}"
    ssa = f"%{tensor.name}.in"
    builder.lines.append(f"{ssa} = bufferization.to_tensor {memref} {how} : {types}")
    return Value(ssa, tensor.type)


def _emit_node(emission: _Emission, node: Node) -> None:
    builder = emission.builder
    builder.node = node.name
    builder.device = str(node.placement) if node.placement else None
    builder.location = _location(node) if emission.locations else ""
    inputs = [_operand(emission, tensor) for tensor in node.inputs]
    value = node.op.emit(builder, inputs, node.output.type)
    if node.placement is not None and value in inputs:
        value = _stored_number(builder, node.inputs[inputs.index(value)]) or value
    emission.values[node.output] = value
    builder.location = ""


def _stored_number(builder: LinalgBuilder, tensor: Tensor) -> Value | None:
    """A rank-0 constant that the device materializes: the host would send it in each call."""
    if tensor.const is None or not tensor.is_scalar_constant:
        return None
    number = tensor.const.item()
    return builder.generic(
        [],
        (builder.empty(tensor.type), ()),
        (),
        lambda body, old: body.constant(number, old.element),
    )


def _operand(emission: _Emission, tensor: Tensor) -> Value:
    if tensor not in emission.values:
        emission.values[tensor] = _constant(emission, tensor)
    return emission.values[tensor]


def _constant(emission: _Emission, tensor: Tensor) -> Value:
    builder = emission.builder
    if tensor.is_scalar_constant and tensor.const is not None:
        return builder.splat(tensor.const.item(), tensor.type)
    symbol = constant_symbol(emission.graph, tensor)
    memref = f"%{tensor.name}.const"
    builder.lines.append(f"{memref} = memref.get_global @{symbol} : {tensor.type.mlir('memref')}")
    return _load(builder, memref, tensor)


def _location(node: Node) -> str:
    """The location of a node: its name, which survives every pass, around the user's line."""
    if node.where is None:
        return f' loc("{node.name}")'
    file = Path(node.where.file).as_posix().replace("\\", "\\\\").replace('"', '\\"')
    return f' loc("{node.name}"("{file}":{node.where.line}:{node.where.column or 1}))'
