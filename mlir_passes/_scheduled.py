# SPDX-License-Identifier: Apache-2.0
"""Operations that carry a schedule: what is read from their attributes, and which are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xtc.core.errors import UserError, located, shown
from xtc.core.loops import Axis, Nest, Space, check_nest, parse_nest
from xtc.core.mlir import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    Operation,
    RankedTensorType,
    ShapedType,
    StringAttr,
    get_indexing_maps,
)
from xtc_passes import _linalg as linalg
from xtc_passes._fuse_producers import is_fusable
from xtc_passes._meshes import mesh_around

SCHEDULE = "loop.schedule"
DIMS = "loop.dims"
_EXAMPLE = f'{DIMS} = ["i", "j"], {SCHEDULE} = "{{i: {{}}, j: {{}}}}"'
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def title_of(op: Operation) -> str:
    """What messages call an operation: its graph node, else its own name."""
    return linalg.node_id(op) or op.name


def check_schedulable(op: Operation) -> None:
    """Raise UserError unless `op` is a linalg operation on tensors of known sizes."""
    with located(str(op.location)):
        maps = get_indexing_maps(op)
        if maps is None:
            raise UserError(
                f"{op.name} has {SCHEDULE}, but no loops that a schedule can be made of",
                hints=["schedule linalg.generic, or a named operation that is a form of it"],
            )
        if len(op.results) != 1 or not isinstance(op.results[0].type, RankedTensorType):
            raise UserError(
                f"{title_of(op)} has {SCHEDULE}, but does not compute one tensor",
                hints=["--memref-to-tensor rewrites functions on memrefs"],
            )
        for value in op.operands:
            if isinstance(value.type, ShapedType) and not value.type.has_static_shape:
                raise UserError(
                    f"{title_of(op)} has a schedule, but its sizes are not all known",
                    notes=[f"an operand is {value.type}"],
                    hints=["write the function for static shapes"],
                )
        _check_maps(op, maps)


def _check_maps(op: Operation, maps: Sequence[Attribute]) -> None:
    """Every loop has to be an index by itself somewhere, where its size is read."""
    plain = [AffineMapAttr(one).value for one in maps]
    found = {position for one in plain for position in linalg.plain_loops(one)}
    missing = [f"d{n}" for n in range(plain[0].n_dims) if n not in found]
    if missing:
        raise UserError(
            f"{title_of(op)} has a schedule, but the size of its loop {missing[0]} cannot be told"
        )


def schedule_data(op: Operation) -> object:
    """The schedule as data, text or a list of texts. Raises UserError for other attributes."""
    attribute = op.attributes[SCHEDULE]
    if isinstance(attribute, StringAttr):
        return attribute.value
    if isinstance(attribute, ArrayAttr) and all(isinstance(one, StringAttr) for one in attribute):
        return [StringAttr(one).value for one in attribute]
    raise UserError(
        f"{SCHEDULE} of {title_of(op)} is neither text nor a list of texts",
        where=str(op.location),
        hints=[_EXAMPLE, f'{SCHEDULE} = ["i", "j", "j#16=vectorize"]'],
    )


def read_nest(op: Operation) -> Nest:
    """The legal nest that a linalg.generic's attributes describe. Raises UserError."""
    title = title_of(op)
    with located(str(op.location)):
        nest = parse_nest(schedule_data(op), _space(op), title)
        check_nest(nest, title)
    return nest


def _space(op: Operation) -> Space:
    names = _dims(op)
    sizes, kinds = linalg.trip_counts(op), linalg.iterators(op)
    if len(names) != len(sizes):
        raise UserError(
            f"{DIMS} names {len(names)} loops of {title_of(op)}, which has {len(sizes)}"
        )
    axes = [Axis(n, s, k == "reduction") for n, s, k in zip(names, sizes, kinds, strict=True)]
    sums = [
        tuple((names[position], factor) for position, factor in index) for index in linalg.sums(op)
    ]
    count = linalg.input_count(op)
    computed = tuple(n for n in range(count) if is_fusable(op.operands[n]))
    ranks = tuple(len(one.results) for one in linalg.index_maps(op)[:count])
    return Space(tuple(axes), count, computed, tuple(sums), ranks, mesh_around(op))


def _dims(op: Operation) -> list[str]:
    attribute = linalg.dict_of(op).get(DIMS)
    texts = list(attribute) if isinstance(attribute, ArrayAttr) else []
    if not texts or not all(isinstance(one, StringAttr) for one in texts):
        raise UserError(f"{title_of(op)} has {SCHEDULE} but no {DIMS}", hints=[_EXAMPLE])
    names = [StringAttr(one).value for one in texts]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise UserError(
                f"{DIMS} of {title_of(op)} has {shown(name)}, which cannot name one loop",
                hints=["letters, digits and _, each name once"],
            )
    return names


def check_producers(op: Operation, nest: Nest, scheduled: Sequence[Operation]) -> None:
    """Raise UserError where what computes a fused operand has a schedule of its own."""
    nodes = {linalg.graph_node(one) for one in scheduled} - {None, linalg.graph_node(op)}
    fused = {operand for one in nest.walk() for loop in one.loops for operand in loop.fuse}
    for operand in sorted(fused):
        owner = linalg.owner(op.operands[operand])
        if owner in scheduled or (owner is not None and linalg.graph_node(owner) in nodes):
            raise UserError(
                f"operand {operand} of {title_of(op)} is to be fused, "
                "but has a schedule of its own",
                where=str(op.location),
                hints=["leave out one of the two"],
            )
