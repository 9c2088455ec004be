# SPDX-License-Identifier: Apache-2.0
"""Reads and checks the schedules in the attributes of operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xtc.core.errors import UserError, about, located, shown
from xtc.core.location import SourceLocation
from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.analysis.contractions import grouped_loops
from xtc.ir.analysis.reductions import is_unordered, moved_loops
from xtc.ir.attributes import (
    LOOP_DIMS,
    LOOP_SCHEDULE,
    NODE_ID_PREFIX,
    SCHEDULE_LOCATION,
    SCHEDULED_PREFIX,
)
from xtc.ir.mlir import (
    ArrayAttr,
    DictAttr,
    Operation,
    RankedTensorType,
    ShapedType,
    StringAttr,
    get_indexing_maps,
)
from xtc.loops import Axis, Nest, Space, check_nest, nest_data, parse_nest
from xtc.loops.nest_attribute import is_nest, nest_of
from xtc.loops.nest_yaml import nest_line
from xtc.loops.normalize import normalized
from xtc.loops.yaml_text import UNNAMED, parse_yaml
from xtc_passes.tensor._fuse_producers import is_fusable
from xtc_passes.tensor._meshes import mesh_of

_EXAMPLE = f'{LOOP_DIMS} = ["i", "j"], {LOOP_SCHEDULE} = {{"j", "i", "i#4" = {{"unroll"}}}}'
_OWN_NAMES = re.compile(rf"{NODE_ID_PREFIX}[^,}}]*_|{re.escape(SCHEDULED_PREFIX)}\w+")
_MOST_KEPT = 4096
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Scheduled:
    """One operation with its schedule.

    Attributes:
        op: the operation, a linalg.generic.
        title: its name in messages: the graph node, or else the name of the operation.
        function: the function that contains it.
        nest: its loops.
        flops: number of its arithmetic operations.
    """

    op: Operation
    title: str
    function: str
    nest: Nest
    flops: int


def scheduled(
    op: Operation, title: str, levels: int = 1, meshes: Sequence[Operation] = ()
) -> Scheduled:
    """The operation with its schedule. Raises UserError if the schedule is not legal.

    `levels` is the number of levels of parallel loops of the machine; `meshes` are its module's.
    """
    nest = _read_nest(op, title, levels, meshes)
    return Scheduled(op, title, linalg.function_name(op), nest, linalg.arithmetic(op))


def title_of(op: Operation) -> str:
    """The name of an operation in messages: its graph node, or else the name of the operation."""
    return linalg.node_id(op) or op.name


def check_schedulable(op: Operation) -> None:
    """Raise UserError unless `op` is a linalg operation on tensors of known sizes."""
    with located(location_of(op)):
        if get_indexing_maps(op) is None:
            raise UserError(
                f"{op.name} has {LOOP_SCHEDULE}, but no loops that a schedule can describe",
                hints=["schedule linalg.generic, or a named operation that is a form of it"],
            )
        if len(op.results) != 1 or not isinstance(op.results[0].type, RankedTensorType):
            raise UserError(
                f"{title_of(op)} has {LOOP_SCHEDULE}, but does not compute one tensor",
                hints=["--memref-signature rewrites functions on memrefs"],
            )
        for value in op.operands:
            if isinstance(value.type, ShapedType) and not value.type.has_static_shape:
                raise UserError(
                    f"{title_of(op)} has a schedule, but its sizes are not all known",
                    notes=[f"an operand is {value.type}"],
                    hints=["write the function for static shapes"],
                )


def location_of(op: Operation) -> SourceLocation | str:
    """The location of the operation's schedule in a file, or else of the operation."""
    attribute = linalg.dict_of(op).get(SCHEDULE_LOCATION)
    if isinstance(attribute, StringAttr):
        return _location_in(attribute.value)
    location = op.location
    while location.is_a_name():
        location = location.child_loc
    if not location.is_a_file():
        return str(location)
    return SourceLocation(location.filename, location.start_line, location.start_col)


def _location_in(text: str) -> SourceLocation | str:
    """The location that `text` describes, or `text` itself."""
    match = re.fullmatch(r"(.+):([0-9]{1,9}):([0-9]{1,9})", text)
    return text if match is None else SourceLocation(match[1], int(match[2]), int(match[3]))


def _written(op: Operation, title: str, space: Space) -> Nest:
    """The loop nest of a schedule, whether a pass or a user wrote it. Raises UserError."""
    attribute = op.attributes[LOOP_SCHEDULE]
    if is_nest(attribute):
        return normalized(nest_of(attribute).fitted(space))
    return parse_nest(_schedule_data(op, title), space, title)


def _schedule_data(op: Operation, title: str) -> object:
    """The schedule as data, text or a list of texts. Raises UserError for other attributes."""
    attribute = op.attributes[LOOP_SCHEDULE]
    if isinstance(attribute, StringAttr):
        given_at = location_of(op)
        is_known = SCHEDULE_LOCATION in op.attributes and isinstance(given_at, SourceLocation)
        return parse_yaml(attribute.value, given_at) if is_known else attribute.value
    if isinstance(attribute, ArrayAttr) and all(isinstance(item, StringAttr) for item in attribute):
        return [StringAttr(item).value for item in attribute]
    notes = []
    if isinstance(attribute, DictAttr):
        notes = ["MLIR keeps no order of a dictionary under an alias, or with escapes"]
    raise UserError(
        f"{LOOP_SCHEDULE} of {title} is not a dictionary, text or list of texts",
        notes=notes,
        hints=[_EXAMPLE],
    )


def schedule_line(op: Operation) -> str:
    """The schedule as one line of YAML."""
    attribute = op.attributes[LOOP_SCHEDULE]
    if is_nest(attribute):
        nest = nest_of(attribute)
        calls = any(loop.external for loop in nest.loops)
        return nest_data(nest) if nest.segments or calls else nest_line(nest)
    data = _schedule_data(op, title_of(op))
    return json.dumps(data) if isinstance(data, list) else str(data)


def _read_nest(op: Operation, title: str, levels: int, meshes: Sequence[Operation]) -> Nest:
    """The legal nest that a linalg.generic's attributes describe. Raises UserError."""
    key = _key(op, levels, meshes)
    if key is not None and key in _legal:
        return _legal[key]
    with located(location_of(op)), _lines_of_text(), about(title):
        nest = _written(op, title, _space(op, title, levels, meshes))
        check_nest(nest, title)
    if key is not None:
        if len(_legal) == _MOST_KEPT:
            _legal.clear()
        _legal[key] = nest
    return nest


_legal: dict[tuple[object, ...], Nest] = {}
"""Legal loop nests by everything that they depend on: networks have many equal operators, and
several passes read each."""


def _key(op: Operation, levels: int, meshes: Sequence[Operation]) -> tuple[object, ...] | None:
    """Everything that the loop nest of an operation depends on; None for a user's text."""
    if meshes or not is_nest(op.attributes[LOOP_SCHEDULE]):
        return None
    # To print an operation inside a function, MLIR numbers the values of the whole function.
    text = op.clone().operation.get_asm(use_local_scope=True, assume_verified=True)
    return (_OWN_NAMES.sub("", text), _computed(op), levels)


def _computed(op: Operation) -> tuple[int, ...]:
    """The operands whose producers may be fused into the loops of an operation."""
    return tuple(n for n in range(linalg.input_count(op)) if is_fusable(op.operands[n]))


@contextmanager
def _lines_of_text() -> Iterator[None]:
    """For texts without a known location, give the position of an error in the text itself."""
    try:
        yield
    except UserError as error:
        given_at = error.where
        if isinstance(given_at, SourceLocation) and given_at.file == UNNAMED:
            error.where = None
            error.notes += (f"line {given_at.line}, column {given_at.column} of its schedule",)
        raise


def _space(op: Operation, title: str, levels: int, meshes: Sequence[Operation]) -> Space:
    sizes, kinds = linalg.trip_counts(op), linalg.iterators(op)
    names = dims_of(op, title, len(sizes))
    free = is_unordered(op)
    axes = [
        Axis(name, size, kind == "reduction", unordered=free)
        for name, size, kind in zip(names, sizes, kinds, strict=True)
    ]
    for position, groups in grouped_loops(op).items():
        axes[position] = replace(axes[position], groups=groups)
    sums = [
        tuple((names[position], factor) for position, factor in index) for index in linalg.sums(op)
    ]
    count = linalg.input_count(op)
    ranks = tuple(len(index_map.results) for index_map in linalg.index_maps(op)[:count])
    mesh = mesh_of(meshes)
    moved = tuple(names[loop] for loop in moved_loops(op))
    return Space(tuple(axes), count, _computed(op), tuple(sums), ranks, moved, mesh, levels)


def dims_of(op: Operation, title: str, count: int) -> list[str]:
    """The names of its loops; unnamed trailing loops are called `d2` and so on.

    Raises UserError if there are no names, too many, or invalid ones.
    """
    attribute = linalg.dict_of(op).get(LOOP_DIMS)
    texts = list(attribute) if isinstance(attribute, ArrayAttr) else []
    if not texts or not all(isinstance(name, StringAttr) for name in texts):
        raise UserError(f"{title} has {LOOP_SCHEDULE} but no {LOOP_DIMS}", hints=[_EXAMPLE])
    names = [StringAttr(name).value for name in texts]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise UserError(
                f"{LOOP_DIMS} of {title} has {shown(name)}, which cannot name one loop",
                hints=["letters, digits and _, each name once"],
            )
    if len(names) > count:
        raise UserError(f"{LOOP_DIMS} names {len(names)} loops of {title}, which has {count}")
    unnamed = range(len(names), count)
    return names + [f"d{n}" if f"d{n}" not in names else f"d{n}_" for n in unnamed]


def check_producers(entry: Scheduled, scheduled: Sequence[Operation]) -> None:
    """Raise UserError if the producer of a fused operand has a schedule."""
    op, title = entry.op, entry.title
    fused = {operand for nest in entry.nest.walk() for loop in nest.loops for operand in loop.fuse}
    if not fused:  # the common case; collecting the names of all operations takes long
        return
    nodes = {linalg.node_in_function(other) for other in scheduled}
    nodes -= {None, linalg.node_in_function(op)}
    for operand in sorted(fused):
        owner = linalg.owner(op.operands[operand])
        if owner in scheduled or (owner is not None and linalg.node_in_function(owner) in nodes):
            raise UserError(
                f"operand {operand} of {title} is to be fused, but has a separate schedule",
                where=location_of(op),
                hints=["omit one of the two"],
            )


def no_consumer(entry: Scheduled) -> UserError:
    """The error for a consumer that cannot be fused into the loop that the schedule names."""
    loop = next(loop for part in entry.nest.walk() for loop in part.loops if loop.consumer)
    return UserError(
        f"the consumer of {entry.title} cannot be fused at '{loop.name}'",
        where=location_of(entry.op),
        notes=["it is the only reader, elementwise, without a separate schedule, on the host"],
        hints=["fuse_producer_at in the schedule of the consumer"],
    )


def fused_nodes(module: Operation) -> set[tuple[str, str]]:
    """Pairs of a function and a graph node that a schedule may fuse into another's loops."""
    readers = [op for op in linalg.operations_with(module, LOOP_SCHEDULE) if _fuses(op)]
    owners = [linalg.owner(operand) for op in readers for operand in op.operands]
    nodes = (linalg.node_in_function(op) for op in owners if op is not None)
    return {node for node in nodes if node is not None}


def _fuses(op: Operation) -> bool:
    return re.search(r"fuse\b|fuse_producer", str(op.attributes[LOOP_SCHEDULE])) is not None
