# SPDX-License-Identifier: Apache-2.0
"""Loop nests as an attribute of an operation: the form in which passes exchange schedules.

    loop.schedule = [{axis = "j"}, {axis = "i"}, {axis = "i", tile = 8 : i64, unroll = 8 : i64}]

is a list of loops from the outermost to the innermost, then of segments. A loop has the fields of
`NestLoop` that differ from their defaults; a segment has `axis`, `start`, `stop` and `nest`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xtc.core.errors import UserError, did_you_mean
from xtc.ir.attributes import LOOP_SCHEDULE
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DenseI64ArrayAttr,
    DictAttr,
    IntegerAttr,
    IntegerType,
    Operation,
    StringAttr,
    UnitAttr,
)
from xtc.loops.external import External
from xtc.loops.nest import Nest, NestLoop, Segment, Space

MAX_DEPTH = 16
Shards = tuple[tuple[int, tuple[str, ...]], ...]


def write_nest(op: Operation, nest: Nest) -> None:
    """Attach the nest to `op` as its schedule."""
    op.attributes[LOOP_SCHEDULE] = nest_attribute(nest)


def write_loops(op: Operation, loops: Sequence[NestLoop]) -> None:
    """Attach these loops, outermost first, to `op` as its schedule."""
    op.attributes[LOOP_SCHEDULE] = nest_attribute(Nest(Space(()), tuple(loops)))


def nest_attribute(nest: Nest) -> ArrayAttr:
    """The attribute for `nest`; needs a context."""
    parts = [_loop_attribute(loop) for loop in nest.loops]
    return ArrayAttr.get([*parts, *map(_segment_attribute, nest.segments)])


def is_nest(attribute: Attribute) -> bool:
    """Whether an attribute has this form, with any fields."""
    return isinstance(attribute, ArrayAttr) and all(isinstance(a, DictAttr) for a in attribute)


def nest_of(attribute: Attribute, depth: int = 0) -> Nest:
    """The nest of an attribute, without an iteration space yet.

    Raises UserError for unknown fields and fields of the wrong type.
    """
    if depth > MAX_DEPTH:
        raise UserError(f"{LOOP_SCHEDULE} is nested too deep")
    loops: list[NestLoop] = []
    segments: list[Segment] = []
    for item in ArrayAttr(attribute):
        fields = {entry.name: entry.attr for entry in DictAttr(item)}
        if "nest" in fields:
            segments.append(_segment(fields, depth))
        else:
            loops.append(NestLoop(**_values(fields, _LOOP)))
    return Nest(Space(()), tuple(loops), tuple(segments))


def _loop_attribute(loop: NestLoop) -> DictAttr:
    plain = NestLoop(loop.axis, loop.tile)
    fields: dict[str, Attribute] = {}
    for name, (_, write) in _LOOP.items():
        value = getattr(loop, name)
        if name == "axis" or value != getattr(plain, name) or (name == "tile" and value):
            fields[name] = write(value)
    return DictAttr.get(fields)


def _segment_attribute(segment: Segment) -> DictAttr:
    fields = {name: write(getattr(segment, name)) for name, (_, write) in _SEGMENT.items()}
    return DictAttr.get(fields | {"nest": nest_attribute(segment.nest)})


def _segment(fields: dict[str, Attribute], depth: int) -> Segment:
    nest = nest_of(fields.pop("nest"), depth + 1)
    values = _values(fields, _SEGMENT)
    missing = next((name for name in _SEGMENT if name not in values), None)
    if missing is not None:
        raise UserError(f"a segment of {LOOP_SCHEDULE} has no '{missing}'")
    return Segment(**values, nest=nest)


def _values(fields: dict[str, Attribute], codecs: _Codecs) -> dict[str, Any]:
    found = {}
    for name, attribute in fields.items():
        if name not in codecs:
            raise UserError(
                f"{LOOP_SCHEDULE} has a loop with '{name}'", hints=did_you_mean(name, list(codecs))
            )
        try:
            found[name] = codecs[name][0](attribute)
        except (TypeError, ValueError):
            message = f"'{name}' of a loop of {LOOP_SCHEDULE} cannot be {attribute}"
            raise UserError(message) from None
    if "axis" not in found:
        raise UserError(f"a loop of {LOOP_SCHEDULE} has no 'axis'")
    return found


def _read_text(attribute: Attribute) -> str:
    return str(StringAttr(attribute).value)


def _read_number(attribute: Attribute) -> int:
    return int(IntegerAttr(attribute).value)


def _write_number(value: int) -> Attribute:
    return IntegerAttr.get(IntegerType.get_signless(64), value)


def _read_flag(attribute: Attribute) -> bool:
    UnitAttr(attribute)
    return True


def _read_numbers(attribute: Attribute) -> tuple[int, ...]:
    return tuple(DenseI64ArrayAttr(attribute))


def _read_shards(attribute: Attribute) -> Shards:
    entries = DictAttr(attribute)
    return tuple(
        (int(entry.name), tuple(StringAttr(axis).value for axis in ArrayAttr(entry.attr)))
        for entry in entries
    )


def _write_shards(shards: Shards) -> Attribute:
    axes = {str(n): ArrayAttr.get(list(map(StringAttr.get, names))) for n, names in shards}
    return DictAttr.get(axes)


def _read_external(attribute: Attribute) -> External:
    fields = {entry.name: entry.attr for entry in DictAttr(attribute)}
    texts = {name: _read_texts(fields[name]) for name in fields.keys() - {"function"}}
    return External(_read_text(fields["function"]), **texts)


def _read_texts(attribute: Attribute) -> tuple[str, ...]:
    return tuple(StringAttr(item).value for item in ArrayAttr(attribute))


def _write_external(external: External) -> Attribute:
    lists = {name: getattr(external, name) for name in ("sources", "flags", "axes")}
    attributes = {n: ArrayAttr.get([StringAttr.get(t) for t in v]) for n, v in lists.items()}
    return DictAttr.get({"function": StringAttr.get(external.function), **attributes})


_Codecs = dict[str, tuple[Callable[[Attribute], Any], Callable[[Any], Attribute]]]
_TEXT = (_read_text, StringAttr.get)
_NUMBER = (_read_number, _write_number)
_FLAG = (_read_flag, lambda _: UnitAttr.get())
_NUMBERS = (_read_numbers, DenseI64ArrayAttr.get)
_LOOP: _Codecs = {
    "axis": _TEXT,
    "tile": _NUMBER,
    "name": _TEXT,
    "unroll": _NUMBER,
    "vectorize": _FLAG,
    "reassociate": _FLAG,
    "parallelize": _FLAG,
    "buffer": _FLAG,
    "pack": _NUMBERS,
    "fuse": _NUMBERS,
    "consumer": _FLAG,
    "distribute": _TEXT,
    "shard": (_read_shards, _write_shards),
    "external": (_read_external, _write_external),
}
_SEGMENT: _Codecs = {
    "axis": _TEXT,
    "start": _NUMBER,
    "stop": _NUMBER,
}
