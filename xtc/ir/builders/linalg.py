# SPDX-License-Identifier: Apache-2.0
"""A builder of linalg on tensors as MLIR text, with which operators emit their IR.

Indexing maps use the names of loops, as in `("i", "k")` or `("n", "h * 2 + r")`, and a loop is a
name and a kind, so that a reader sees the mathematics and a schedule finds its axes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xtc.core.types import ElementType, TensorType
from xtc.ir.attributes import DEVICE, LOOP_DIMS, LOOP_SCHEDULE, OWN_BUFFER, node_id_attribute
from xtc.ir.builders.reassociation import Groups, Reassociation, reassociation
from xtc.ir.builders.scalar import Scalar, ScalarBuilder, literal

Body = Callable[..., Scalar]
Update = Callable[..., tuple[Scalar, Sequence[Scalar]]]
Repeated = Callable[..., "Value"]
IndexMap = Sequence[str]

_UNORDERED = re.compile(
    r"= arith\.(?:maximumf|minimumf|addi|muli|(?:max|min)[su]i|andi|ori|xori)"
    r" (%\w+), (%\w+)[^\n]*\n  linalg\.yield"
)
"""The end of a body that combines two numbers in any order."""
_FUSABLE = ("linalg.", "tensor.insert_slice", "tensor.extract_slice")
"""Name prefixes of operations that a schedule may fuse into the loops of their consumers."""


@dataclass(frozen=True)
class Value:
    """A tensor in SSA form."""

    ssa: str
    type: TensorType


@dataclass(frozen=True)
class Loop:
    """A loop of a linalg operation.

    Attributes:
        name: its name in schedules.
        reduction: whether results are accumulated over it.
        groups: the numbers of consecutive iterations that one instruction may sum.
    """

    name: str
    reduction: bool = False
    groups: tuple[int, ...] = ()

    @property
    def iterator(self) -> str:
        """The loop's iterator type in linalg."""
        return "reduction" if self.reduction else "parallel"


def parallel(*names: str) -> tuple[Loop, ...]:
    """Loops whose iterations are independent."""
    return tuple(Loop(name) for name in names)


def reduction(*names: str) -> tuple[Loop, ...]:
    """Loops over which results are accumulated."""
    return tuple(Loop(name, reduction=True) for name in names)


@dataclass(frozen=True)
class MainOperation:
    """The operation of a graph node to which the node's schedule applies.

    Attributes:
        loops: its loops, in its own order.
        sizes: their trip counts.
        inputs: the number of operands it reads.
        computed: the numbers of the operands whose producers can be fused.
        subscripts: operand indices that are not a single loop, as loops with factors: `w * 2 + s`
            is `(("w", 2), ("s", 1))`.
        ranks: the rank of each operand.
        unordered: whether its reductions may run in any order.
        moved: for a permutation, the loops along contiguous elements of its operand and of its
            result, if they differ.
    """

    loops: tuple[Loop, ...]
    sizes: tuple[int, ...]
    inputs: int
    computed: tuple[int, ...] = ()
    subscripts: tuple[tuple[tuple[str, int], ...], ...] = ()
    ranks: tuple[int, ...] = ()
    unordered: bool = False
    moved: tuple[str, ...] = ()


@dataclass
class LinalgBuilder:
    """Appends operations for one graph node after another.

    Attributes:
        lines: the text so far, one operation per entry.
        node: the id of the node being emitted; its main operation gets `__xtc_id_<node>_` and
            `loop.dims`, other operations get `__xtc_id_<node>.<step>_`.
        device: the device that the node runs on, recorded as `xtc.device`.
        location: the text of an MLIR location, ` loc("file":line:column)`, or "".
        schedules: the `loop.schedule` of main operations, by node.
        mains: the main operations, by node.
    """

    lines: list[str] = field(default_factory=list)
    node: str = ""
    device: str | None = None
    location: str = ""
    schedules: Mapping[str, str] = field(default_factory=dict)
    mains: dict[str, MainOperation] = field(default_factory=dict)
    _count: int = 0
    _computed: set[str] = field(default_factory=set)

    def _record(
        self,
        step: str | None,
        loops: Sequence[Loop],
        sizes: Sequence[int],
        inputs: Sequence[Value],
        indices: Iterable[str] = (),
        *,
        unordered: bool = False,
        moved: tuple[str, ...] = (),
    ) -> None:
        if step is None:
            sums = dict.fromkeys(index for index in indices if not index.isidentifier())
            self.mains[self.node] = MainOperation(
                tuple(loops),
                tuple(sizes),
                len(inputs),
                tuple(n for n, value in enumerate(inputs) if value.ssa in self._computed),
                tuple(_terms(index) for index in sums),
                tuple(value.type.rank for value in inputs),
                unordered,
                moved,
            )

    def _emit(self, text: str, type: TensorType, viewed: Value | None = None) -> Value:
        """Append an operation and return its result; a view is computed if its source is."""
        ssa = self._name()
        self.lines.append(f"{ssa} = {text}{self.location}")
        if text.startswith(_FUSABLE) or (viewed is not None and viewed.ssa in self._computed):
            self._computed.add(ssa)
        return Value(ssa, type)

    def _name(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def _attributes(self, step: str | None, loops: Sequence[Loop] = ()) -> list[str]:
        name = self.node if step is None else f"{self.node}.{step}"
        attributes = [node_id_attribute(name)]
        if step is None and loops:
            names = ", ".join(f'"{loop.name}"' for loop in loops)
            attributes.append(f"{LOOP_DIMS} = [{names}]")
            if self.node in self.schedules:
                text = self.schedules[self.node].replace("\\", "\\\\").replace('"', '\\"')
                attributes.append(f'{LOOP_SCHEDULE} = "{text}"')
        if self.device is not None:
            attributes.append(f'{DEVICE} = "{self.device}"')
        return attributes

    @property
    def _placed(self) -> str:
        """The attributes of an operation that only moves data."""
        return "" if self.device is None else f' {{{DEVICE} = "{self.device}"}}'

    def scalar(self, value: float | int | bool, element: ElementType) -> Scalar:
        """A constant outside linalg bodies."""
        ssa = self._name()
        self.lines.append(f"{ssa} = arith.constant {literal(value, element)} : {element.mlir}")
        return Scalar(ssa, element)

    def splat(self, value: float | int | bool, type: TensorType) -> Value:
        """A splat constant."""
        text = literal(value, type.element)
        return self._emit(f"arith.constant dense<{text}> : {type.mlir()}", type)

    def vector(self, values: Sequence[float], element: ElementType) -> Value:
        """A small constant tensor of rank 1."""
        type = TensorType((len(values),), element)
        texts = ", ".join(literal(value, element) for value in values)
        return self._emit(f"arith.constant dense<[{texts}]> : {type.mlir()}", type)

    def empty(self, type: TensorType, *, own: bool = False) -> Value:
        """An uninitialized tensor, used as a destination.

        With `own`, it is not merged with another node's; a result assembled from slices needs this.
        """
        mark = f' {{{OWN_BUFFER} = "{self.node}"}}' if own else ""
        return self._emit(f"tensor.empty(){mark} : {type.mlir()}", type)

    def fill(self, value: float | int | bool, type: TensorType, *, step: str = "init") -> Value:
        """A destination filled with `value`, the initial value of a reduction."""
        scalar, init = self.scalar(value, type.element), self.empty(type)
        attributes = ", ".join(self._attributes(step))
        text = (
            f"linalg.fill {{{attributes}}} ins({scalar.ssa} : {scalar.mlir}) "
            f"outs({init.ssa} : {type.mlir()}) -> {type.mlir()}"
        )
        return self._emit(text, type)

    def named(
        self,
        name: str,
        inputs: Sequence[Value],
        init: Value,
        loops: Sequence[Loop],
        sizes: Sequence[int],
        *,
        maps: Sequence[IndexMap] = (),
        indices: Sequence[str] = (),
        attributes: Sequence[str] = (),
        step: str | None = None,
    ) -> Value:
        """A named operation such as `linalg.matmul`; `maps` replace its default indexing maps.

        `sizes` are the trip counts of `loops`; `indices` are the operation's indices that are not
        a single loop, as `h * 2 + r`.
        """
        unordered = not init.type.element.is_float
        self._record(step, loops, sizes, inputs, indices, unordered=unordered)
        maps_text = f" indexing_maps = [{_maps(loops, maps)}]" if maps else ""
        all_attributes = ", ".join([*attributes, *self._attributes(step, loops)])
        text = (
            f"{name}{maps_text} {{{all_attributes}}} ins({_operands(inputs)}) "
            f"outs({_operands([init])}) -> {init.type.mlir()}"
        )
        return self._emit(text, init.type)

    def generic(
        self,
        inputs: Sequence[tuple[Value, IndexMap]],
        init: tuple[Value, IndexMap],
        loops: Sequence[Loop],
        body: Body,
        *,
        step: str | None = None,
    ) -> Value:
        """`linalg.generic`; `body(builder, *elements, accumulator)` returns the stored element."""
        out, out_map = init
        indices = [index for _, index_map in [*inputs, init] for index in index_map]
        sizes = _trip_counts(loops, [*inputs, init])
        iterators = ", ".join(f'"{loop.iterator}"' for loop in loops)
        maps = _maps(loops, [*(index_map for _, index_map in inputs), out_map])
        header = ", ".join(
            [
                f"indexing_maps = [{maps}]",
                f"iterator_types = [{iterators}]",
                *self._attributes(step, loops),
            ]
        )
        values = [value for value, _ in inputs]
        region = _region([*values, out], out.type.element, body)
        combined = _UNORDERED.search(region)
        unordered = combined is not None and f"%e{len(values)}" in combined.groups()
        self._record(step, loops, sizes, values, indices, unordered=unordered)
        ins = f" ins({_operands(values)})" if values else ""
        text = f"linalg.generic {{{header}}}{ins} outs({_operands([out])}) {region}"
        return self._emit(f"{text} -> {out.type.mlir()}", out.type)

    def transpose(self, value: Value, axes: Sequence[int], loops: Sequence[Loop]) -> Value:
        """`linalg.transpose`: result dimension d is input dimension axes[d]."""
        type = value.type.with_shape(tuple(value.type.shape[axis] for axis in axes))
        init = self.empty(type)
        neighbors = loops[list(axes).index(len(axes) - 1)].name, loops[-1].name
        moved = neighbors if neighbors[0] != neighbors[1] else ()
        self._record(None, loops, type.sizes, [value], moved=moved)
        attributes = ", ".join(self._attributes(None, loops))
        text = (
            f"linalg.transpose ins({value.ssa} : {value.type.mlir()}) "
            f"outs({init.ssa} : {type.mlir()}) permutation = [{', '.join(map(str, axes))}] "
            f"{{{attributes}}}"
        )
        return self._emit(text, type)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The same elements in row-major order in another shape, by the finest reassociation."""
        target = value.type.with_shape(tuple(shape))
        groups = reassociation(value.type.sizes, target.sizes)
        return self._expand(self._collapse(value, groups), groups, target)

    def _collapse(self, value: Value, groups: Reassociation) -> Value:
        type = value.type.with_shape(groups.sizes)
        if type == value.type or value.type.rank == 0:
            return value
        text = f"tensor.collapse_shape {value.ssa} {_groups(groups.source)}{self._placed}"
        return self._emit(f"{text} : {value.type.mlir()} into {type.mlir()}", type, value)

    def _expand(self, value: Value, groups: Reassociation, target: TensorType) -> Value:
        if value.type == target:
            return value
        sizes = ", ".join(map(str, target.sizes))
        text = f"tensor.expand_shape {value.ssa} {_groups(groups.target)} output_shape [{sizes}]"
        types = f"{value.type.mlir()} into {target.mlir()}"
        return self._emit(f"{text}{self._placed} : {types}", target, value)

    def insert_slice(
        self,
        source: Value,
        into: Value,
        offsets: Sequence[int],
        strides: Sequence[int] | None = None,
    ) -> Value:
        """`into` with `source` inserted at `offsets` with `strides`, by default 1."""
        window = _window(offsets, source.type.sizes, strides or [1] * len(offsets))
        types = f"{source.type.mlir()} into {into.type.mlir()}"
        text = f"tensor.insert_slice {source.ssa} into {into.ssa}{window}{self._placed}"
        return self._emit(f"{text} : {types}", into.type)

    def update(self, into: Value, sizes: Sequence[int], body: Update) -> Value:
        """`into` with elements replaced one by one in a loop nest with these trip counts.

        `body(scalars, positions, current)` returns the element to store and its int64 indices;
        `positions` are the induction variables, `current` is the tensor so far.
        """
        type = into.type.mlir()
        zero, step, *ends = (self._index(number) for number in (0, 1, *sizes))
        lines, current = [], into.ssa
        for depth, end in enumerate(ends):
            result, inner = self._name(), self._name()
            loop = f"scf.for %p{depth} = {zero} to {end} step {step}"
            lines.append(f"{result} = {loop} iter_args({inner} = {current}) -> ({type}) {{")
            current = inner
        scalars = ScalarBuilder()
        positions = [scalars.position(f"%p{depth}") for depth in range(len(ends))]
        element, indices = body(scalars, positions, Value(current, into.type))
        position, updated = scalars.indices(indices), self._name()
        lines += scalars.lines
        lines.append(f"{updated} = tensor.insert {element.ssa} into {current}[{position}] : {type}")
        opened = [line.split(" ", 1)[0] for line in lines if line.endswith("{")]
        for name in reversed(opened):
            lines += [f"scf.yield {updated} : {type}", "}"]
            updated = name
        self.lines.append("\n".join(lines) + self.location)
        return Value(updated, into.type)

    def repeat(self, count: int, init: Value, body: Repeated) -> Value:
        """A loop that applies `body(number, current)` to `init` `count` times.

        `number` is the induction variable, `current` the value so far.
        """
        zero, step, end = (self._index(number) for number in (0, 1, count))
        result, inner, number = self._name(), self._name(), self._name()
        type = init.type.mlir()
        self.lines.append(
            f"{result} = scf.for {number} = {zero} to {end} step {step} "
            f"iter_args({inner} = {init.ssa}) -> ({type}) {{"
        )
        updated = body(number, Value(inner, init.type))
        self.lines += [f"scf.yield {updated.ssa} : {type}", f"}}{self.location}"]
        return Value(result, init.type)

    @contextmanager
    def inner(self) -> Iterator[Callable[[str], None]]:
        """In the context, nodes of another graph are emitted as steps of this node.

        The context's function names the current step. Schedules do not apply to its operations.
        """
        node, mains = self.node, self.mains

        def step(name: str) -> None:
            self.node = f"{node}.{name}"

        self.mains = {}
        try:
            yield step
        finally:
            self.node, self.mains = node, mains

    def offset(self, number: str, by: int, *, minus: bool = False) -> str:
        """The index `by + number`, or `by - number`; a `number` in digits is folded."""
        if number.isdigit():
            return str(by - int(number) if minus else by + int(number))
        constant, ssa = self._index(by), self._name()
        operands = f"{constant}, {number}"
        self.lines.append(f"{ssa} = arith.{'subi' if minus else 'addi'} {operands} : index")
        return ssa

    def row(self, source: Value, number: str) -> Value:
        """The slice of `source` at index `number` of its first dimension, which is dropped."""
        type = source.type.with_shape(source.type.shape[1:])
        types = f"{source.type.mlir()} to {type.mlir()}"
        text = f"tensor.extract_slice {source.ssa}{_row(number, type)}{self._placed}"
        return self._emit(f"{text} : {types}", type)

    def with_row(self, source: Value, into: Value, number: str) -> Value:
        """`into` with `source` inserted at index `number` of its first dimension."""
        types = f"{source.type.mlir()} into {into.type.mlir()}"
        window = _row(number, source.type)
        text = f"tensor.insert_slice {source.ssa} into {into.ssa}{window}{self._placed}"
        return self._emit(f"{text} : {types}", into.type)

    def _index(self, number: int) -> str:
        name = self._name()
        self.lines.append(f"{name} = arith.constant {number} : index")
        return name

    def extract_slice(
        self, source: Value, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
    ) -> Value:
        """The elements `offsets[d] + i * strides[d]`, `i < sizes[d]`, of each dimension d."""
        type = source.type.with_shape(tuple(sizes))
        window = _window(offsets, sizes, strides)
        types = f"{source.type.mlir()} to {type.mlir()}"
        text = f"tensor.extract_slice {source.ssa}{window}{self._placed}"
        return self._emit(f"{text} : {types}", type)


def _window(offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> str:
    return "".join(
        f" [{', '.join(map(str, numbers))}]" for numbers in (offsets, sizes, strides)
    ).replace(" ", "", 1)


def _row(number: str, type: TensorType) -> str:
    """The offsets, sizes and strides of a slice with `type` at an index of the first dimension."""
    zeros = [number, *("0" for _ in type.sizes)]
    ones = ["1"] * len(zeros)
    sizes = ["1", *map(str, type.sizes)]
    return "".join(f"[{', '.join(texts)}] " for texts in (zeros, sizes, ones)).rstrip()


def _groups(groups: Groups) -> str:
    return f"[{', '.join(str(list(group)) for group in groups)}]"


def _operands(values: Sequence[Value]) -> str:
    names = ", ".join(value.ssa for value in values)
    types = ", ".join(value.type.mlir() for value in values)
    return f"{names} : {types}"


def _maps(loops: Sequence[Loop], maps: Sequence[IndexMap]) -> str:
    names = ", ".join(loop.name for loop in loops)
    return ", ".join(f"affine_map<({names}) -> ({', '.join(index_map)})>" for index_map in maps)


def _trip_counts(
    loops: Sequence[Loop], operands: Sequence[tuple[Value, IndexMap]]
) -> tuple[int, ...]:
    """The trip counts of loops, from operand dimensions that a single loop indexes."""
    sizes = {
        index: size
        for value, index_map in operands
        for index, size in zip(index_map, value.type.sizes, strict=True)
    }
    return tuple(sizes[loop.name] for loop in loops)


def _terms(index: str) -> tuple[tuple[str, int], ...]:
    """`w * 2 + s` as `(("w", 2), ("s", 1))`."""
    terms = (term.partition(" * ") for term in index.split(" + "))
    return tuple((name, int(factor or 1)) for name, _, factor in terms)


def _region(operands: Sequence[Value], result: ElementType, body: Body) -> str:
    builder = ScalarBuilder()
    arguments = [
        Scalar(f"%e{position}", operand.type.element) for position, operand in enumerate(operands)
    ]
    stored = body(builder, *arguments)
    if stored.element != result:
        raise TypeError(f"a body of type {stored.element} cannot be stored as {result}")
    heads = ", ".join(f"{argument.ssa}: {argument.mlir}" for argument in arguments)
    lines = "\n  ".join([*builder.lines, f"linalg.yield {stored.ssa} : {stored.mlir}"])
    return f"{{\n^bb0({heads}):\n  {lines}\n}}"
