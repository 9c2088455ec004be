# SPDX-License-Identifier: Apache-2.0
"""`with O.graph() as gb:` collects operators; leaving the block checks and finishes the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import numpy as np

from xtc.core.errors import UserError, located
from xtc.core.location import SourceLocation, user_location
from xtc.core.numpy_arrays import as_array
from xtc.core.types import ElementType, TensorType, element_type, tensor_type
from xtc.graph.attributes import with_plain_attributes
from xtc.graph.copies import copied_nodes
from xtc.graph.finish import finish_graph
from xtc.graph.graph import Graph
from xtc.graph.names import check_name
from xtc.graph.node import Node
from xtc.graph.operator import Operator
from xtc.graph.placement import placement
from xtc.graph.scalar_constant import is_number, number_array
from xtc.graph.states import checked_update, make_state
from xtc.graph.tensor import Tensor
from xtc.graph.untyped import UntypedTensor, WaitingCall, has_untyped
from xtc.graph.untyped_graph import UntypedGraph

_current: ContextVar[GraphBuilder | None] = ContextVar("graph", default=None)


@dataclass(eq=False)
class GraphBuilder:
    """Collects the operators written inside `with O.graph(...)`; `graph` is the finished graph.

    With `captures` it builds the body of a repetition: its operators may read tensors that are
    computed elsewhere, and `nodes` has the operators afterwards.
    """

    name: str
    where: SourceLocation | None
    captures: bool = False
    nodes: list[Node] = field(default_factory=list)
    declared: list[Tensor] = field(default_factory=list)
    inputs: tuple[Tensor, ...] | None = None
    outputs: tuple[Tensor, ...] | None = None
    updates: dict[Tensor, Tensor] = field(default_factory=dict)
    calls: list[WaitingCall] = field(default_factory=list)
    _graph: Graph | None = None
    _outer: GraphBuilder | None = None
    _entered: bool = False
    _own: set[Node | Tensor] = field(default_factory=set)
    _read: dict[Tensor, Tensor] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        """The finished graph. Raises UserError inside the block."""
        if self._graph is None:
            raise UserError(
                f"graph '{self.name}' is not finished",
                where=user_location(),
                hints=["use it after the `with O.graph(...)` block"],
            )
        return self._graph

    def __enter__(self) -> GraphBuilder:
        if self._entered:
            raise UserError(
                f"graph '{self.name}' is already written",
                where=user_location(),
                hints=["start another one with O.graph(...)"],
            )
        self._entered = True
        self._outer = _current.get()
        _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.set(self._outer)
        if self.captures:
            return
        if kind is None and self._outer is not None:
            self._join(self._outer)
        if kind is None:
            self._graph = _finish(self) if not self.calls else _untyped(self)

    def _join(self, outer: GraphBuilder) -> None:
        """Add these nodes to the enclosing graph; this builder's graph gets copies."""
        before = len(outer.nodes)
        outer.calls += [replace(call, position=before + call.position) for call in self.calls]
        outer.nodes += self.nodes
        outer.declared += self.declared
        outer._own |= self._own
        self.nodes, copies = copied_nodes(self.nodes)
        for name in ("inputs", "outputs"):
            given = getattr(self, name)
            if given is not None:
                setattr(self, name, tuple(copies.get(tensor, tensor) for tensor in given))

    def apply(
        self, op: Operator, inputs: tuple[Tensor, ...], name: str | None, device: object
    ) -> Tensor:
        """Add one node and return its result."""
        where = user_location()
        inputs = tuple(self._in_order(tensor) for tensor in inputs)
        for tensor in inputs:
            self._check_operand(tensor, op, where)
        with located(where):
            placed = placement(device)
            op = with_plain_attributes(op)
            type = _infer(op, tuple(tensor.type for tensor in inputs))
        output = Tensor(name, type, placement=placed, where=where)
        node = Node(op, inputs, output, placed, where)
        output.producer = node
        self.nodes.append(node)
        self._own.add(node)
        return output

    def wait(
        self,
        operator: str,
        function: Callable[..., Tensor],
        args: tuple[object, ...],
        keywords: Mapping[str, Any],
    ) -> Tensor:
        """Record a call whose operands have no types yet; returns a placeholder for its result."""
        where, name = user_location(), keywords.get("name")
        if name is not None:
            with located(where):
                check_name(name, "a tensor")
        result = UntypedTensor(name, where, operator=operator)
        call = WaitingCall(function, args, keywords, len(self.nodes), where, result)
        for tensor in call.operands():
            if isinstance(tensor, UntypedTensor) and tensor.operator is not None:
                self._check_owned(tensor, tensor, operator, where)
        self.calls.append(call)
        self._own.add(result)
        return result

    def rewritten(self, known: Mapping[Tensor, Tensor]) -> Graph:
        """The graph rebuilt with typed tensors in place of its inputs. Raises UserError."""
        nodes, copies = copied_nodes(self.nodes)
        tensors = {**known, **copies}
        fresh = GraphBuilder(self.name, self.where)
        token = _current.set(fresh)
        try:
            done = 0
            for call in self.calls:
                fresh.replace([*fresh.nodes, *nodes[done : call.position]])
                done = call.position
                tensors[call.result] = call.again(tensors)
            fresh.replace([*fresh.nodes, *nodes[done:]])
        finally:
            _current.reset(token)
        fresh.declared = [tensors.get(tensor, tensor) for tensor in self.declared]
        for name in ("inputs", "outputs"):
            if (given := getattr(self, name)) is not None:
                setattr(fresh, name, tuple(tensors.get(tensor, tensor) for tensor in given))
        for state, value in self.updates.items():
            with located(self.where):
                new = tensors.get(state, state)
                fresh.updates[new] = checked_update(new, tensors.get(value, value), fresh.updates)
        return _finish(fresh)

    def replace(self, nodes: Sequence[Node]) -> None:
        """Replace the nodes collected so far by others in topological order."""
        self.nodes[:] = nodes
        self._own.update(nodes)

    def _in_order(self, tensor: Tensor) -> Tensor:
        """The tensor; with a layout, the transposition of the tensor that is stored in memory."""
        if tensor.stored is None:
            return tensor
        if tensor not in self._read:
            source, axes = tensor.stored
            self._read[tensor] = Tensor.OPERATORS["transpose"](source, axes)
        return self._read[tensor]

    def _owns(self, node: Node | Tensor) -> bool:
        """Whether the producer of a tensor belongs to this graph or to an enclosing one."""
        if self.captures or node in self._own:
            return True
        return self._outer is not None and self._outer._owns(node)

    def _check_operand(self, tensor: Tensor, op: Operator, where: SourceLocation | None) -> None:
        if tensor.producer is not None:
            self._check_owned(tensor.producer, tensor, op.name, where)

    def _check_owned(
        self, source: Node | UntypedTensor, tensor: Tensor, op: str, where: SourceLocation | None
    ) -> None:
        if not self._owns(source):
            operator = source.op.name if isinstance(source, Node) else source.operator
            raise UserError(
                f"an operand of {op} belongs to another graph",
                where=where,
                notes=[f"'{tensor.name or operator}' was computed at {tensor.where}"],
                hints=["pass it as an input: declare an O.tensor of its type"],
            )


def tensor(
    shape: object = None,
    dtype: object = None,
    name: str | None = None,
    *,
    device: object = None,
    const: object = None,
    state: bool = False,
    layout: Sequence[int] | None = None,
) -> Tensor:
    """Declare a tensor: an input of the graphs that use it, a constant, or a state.

    Args:
        shape: sizes, 1 or more each; the first may be a name (a symbolic dimension). None takes the
            shape of `const`. An input without a shape has no type yet, and `graph.typed(...)` gives
            its graph types before it can be compiled.
        dtype: element type, a name such as "float32" or a NumPy type; float32 where None.
        name: unique in the graph; generated if None.
        device: where the tensor lives when a call starts; None is the host.
        const: the value of a constant, or the initial value of a state, whose default is zeros. The
            array is copied, so later changes to it have no effect.
        state: whether the module keeps the tensor between calls; `O.update` says its value after a
            call. Callers do not pass it.
        layout: the order of its dimensions in memory, the outermost first. `(1, 0)` is an input
        whose array is stored transposed: its rows are the tensor's columns.

    Raises UserError with the caller's line.
    """
    where = user_location()
    with located(where):
        if name is not None:
            check_name(name, "a tensor")
        placed = placement(device)
        if shape is None and const is None:
            _check_open(state, layout)
            given = None if dtype is None else element_type(dtype)
            return _declared(UntypedTensor(name, where, placement=placed, given=given))
        type = _declared_type(shape, dtype, const)
        value = _const(const, type)
        result = Tensor(name, type, placed, None if state else value, where=where)
        if state:
            make_state(result, value)
        if layout is not None:
            result.stored = _stored(result, layout)
    return _declared(result)


def _declared(tensor: Tensor) -> Tensor:
    """The tensor, registered in the open graph."""
    builder = _current.get()
    if builder is not None:
        builder.declared.append(tensor if tensor.stored is None else tensor.stored[0])
    return tensor


def _declared_type(shape: object, dtype: object, const: object) -> TensorType:
    """The declared type; a constant without a shape takes that of its value."""
    if shape is not None:
        return tensor_type(shape, "float32" if dtype is None else dtype)
    if isinstance(const, bool):
        raise UserError("const of a tensor is its value; a bool needs a shape")
    array = as_array(const, "the constant")
    return tensor_type(array.shape, array.dtype if dtype is None else dtype)


def _check_open(state: bool, layout: object) -> None:
    for what, value in (("a state", state), ("a tensor with a layout", layout is not None)):
        if value:
            raise UserError(f"{what} needs a shape", hints=["O.tensor((4, 8), 'float32', ...)"])


def _stored(tensor: Tensor, layout: Sequence[int]) -> tuple[Tensor, tuple[int, ...]]:
    """The input as stored in the order `layout`, and the permutation that gives the tensor."""
    given = tuple(layout) if isinstance(layout, Iterable) else (layout,)
    rank = tensor.type.rank
    if sorted(map(str, given)) != sorted(map(str, range(rank))):
        raise UserError(f"layout={layout!r} does not permute {rank} dimensions")
    if tensor.state:
        raise UserError("a state has no layout", hints=["declare it in its order in memory"])
    if tensor.const is not None:
        raise UserError("a constant has no layout", hints=["pass its array in that order"])
    type = tensor.type.with_shape(tuple(tensor.type.shape[axis] for axis in given))
    back = tuple(given.index(axis) for axis in range(rank))
    return replace(tensor, type=type), back


def graph(name: str = "graph") -> GraphBuilder:
    """Start a graph: `with O.graph(name="matmul") as gb: ...`, then `gb.graph`."""
    where = user_location()
    with located(where):
        return GraphBuilder(check_name(name, "a graph"), where)


def inputs(*tensors: Tensor) -> None:
    """Fix the order of the graph's inputs; every one must be used."""
    builder = _open_builder("O.inputs")
    listed = _listed(tensors, "O.inputs", builder.inputs)
    builder.inputs = tuple(t.stored[0] if t.stored else t for t in listed)


def outputs(*tensors: Tensor) -> None:
    """Choose the graph's outputs; by default every result that no operator uses."""
    builder = _open_builder("O.outputs")
    builder.outputs = _listed(tensors, "O.outputs", builder.outputs)


def update(state: Tensor, value: Tensor) -> None:
    """Set the value of a state after a call; within the call it keeps its old value.

    It is overwritten in place if nothing reads the old value afterwards. Raises UserError if
    `value` has another type or is not a result of this graph.
    """
    builder = _open_builder("O.update")
    with located(user_location()):
        if not isinstance(value, UntypedTensor):  # an untyped tensor is checked later
            value = checked_update(state, value, builder.updates)
        builder.updates[state] = value


def apply(
    op: Operator,
    *operands: object,
    name: str | None = None,
    device: object = None,
    like: Tensor | None = None,
) -> Tensor:
    """Add `op` to the open graph.

    Python numbers become constants of the element type of `like`, by default the first tensor.
    """
    builder = _open_builder(f"O.{op.name}")
    where = user_location()
    if name is not None:
        with located(where):
            check_name(name, "a tensor")
    if has_untyped(*operands, like):
        return builder.wait(
            op.name, apply, (op, *operands), {"name": name, "device": device, "like": like}
        )
    candidates = (like, *operands)
    element = next((t.element for t in candidates if isinstance(t, Tensor)), None)
    tensors = tuple(_operand(value, element, op, where) for value in operands)
    return builder.apply(op, tensors, name, device)


def open_graph() -> GraphBuilder:
    """The builder to which operators are added. Raises UserError outside a graph."""
    return _open_builder("an operator")


def wait(
    operator: str,
    function: Callable[..., Tensor],
    args: tuple[object, ...],
    keywords: Mapping[str, object],
) -> Tensor:
    """Record a call of an operator's function in the open graph until its operands have types."""
    return _open_builder(f"O.{operator}").wait(operator, function, args, keywords)


def _operand(
    value: object, element: ElementType | None, op: Operator, where: SourceLocation | None
) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if is_number(value) and element is not None:
        with located(where):
            const = _const(number_array(value, element), TensorType((), element))
        return Tensor(None, TensorType((), element), const=const, where=where)
    if isinstance(value, np.ndarray):
        with located(where):
            type = tensor_type(value.shape, value.dtype)
            return Tensor(None, type, const=_const(value, type), where=where)
    raise UserError(
        f"an operand of {op.name} is {type_name(value)}, not a tensor",
        where=where,
        hints=["turn it into a constant: O.tensor(array.shape, array.dtype, const=array)"],
    )


def type_name(value: object) -> str:
    """The name of a value's Python type."""
    return type(value).__name__


def _const(value: object, type: TensorType) -> np.ndarray | None:
    if value is None:
        return None
    if isinstance(value, bool) and type.rank:
        raise UserError(
            f"const of a tensor is its value, not {value}",
            hints=["const=array for a value that is known now; an input needs no const"],
        )
    array = as_array(value, "the constant")
    if array.shape != type.shape:
        raise UserError(f"the constant has shape {array.shape}, not {type.shape}")
    if array.dtype != type.element.numpy:
        raise UserError(
            f"the constant is {array.dtype}, not {type.element}",
            hints=[f"convert it: array.astype({str(type.element.numpy)!r})"],
        )
    if _is_immutable(array):
        return array
    copy = np.array(array, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def _is_immutable(array: np.ndarray) -> bool:
    """Whether an array is a row-major view of Python's bytes, which cannot change."""
    base: object = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return isinstance(base, bytes) and array.flags.c_contiguous and array.flags.aligned


def _infer(op: Operator, types: tuple[TensorType, ...]) -> TensorType:
    try:
        result = op.infer(*types)
        return tensor_type(result.shape, result.element.name)
    except UserError as error:
        operands = ", ".join(map(str, types))
        error.notes = (*error.notes, f"operands of {op.name}: {operands}")
        raise


def _open_builder(what: str) -> GraphBuilder:
    builder = _current.get()
    if builder is None:
        raise UserError(
            f"{what} is called outside of a graph",
            where=user_location(),
            hints=["write it inside `with O.graph(name=...) as gb:`"],
        )
    return builder


def _listed(
    values: tuple[object, ...], what: str, earlier: tuple[Tensor, ...] | None
) -> tuple[Tensor, ...]:
    tensors = tuple(value for value in values if isinstance(value, Tensor))
    with located(user_location()):
        if earlier is not None:
            raise UserError(f"{what} is called twice in one graph")
        for value in values:
            if not isinstance(value, Tensor):
                raise UserError(f"{what} takes tensors, not {type_name(value)}")
        if len(set(tensors)) != len(tensors):
            raise UserError(f"{what} names a tensor twice")
        if what == "O.outputs" and not tensors:
            raise UserError(f"{what} names no tensor")
    return tensors


def _finish(builder: GraphBuilder) -> Graph:
    finished = finish_graph(
        builder.name,
        builder.where,
        builder.nodes,
        builder.declared,
        builder.inputs,
        builder.outputs,
        builder.updates,
    )
    return Graph(*finished)


def _untyped(builder: GraphBuilder) -> UntypedGraph:
    """The graph so far: its inputs are the tensors that it reads and does not compute."""
    created = {call.result for call in builder.calls} | {node.output for node in builder.nodes}
    operands = [tensor for call in builder.calls for tensor in call.operands()]
    operands += [tensor for node in builder.nodes for tensor in node.inputs]
    read = dict.fromkeys(t for t in operands if t not in created and t.const is None)
    inputs = builder.inputs or sorted(read, key=lambda tensor: tensor.number)
    return UntypedGraph(builder.name, builder.where, inputs, builder.calls, builder.rewritten)
