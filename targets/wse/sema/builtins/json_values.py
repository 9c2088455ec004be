# SPDX-License-Identifier: Apache-2.0
"""Values that a program imports from a JSON file at compile time."""

from __future__ import annotations

import json
from typing import Any

from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.csl.parser import parse_type
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.builtins.table import builtin
from xtc_targets.wse.sema.convert import coerce
from xtc_targets.wse.sema.evaluate import known, type_of
from xtc_targets.wse.sema.frame import Frame
from xtc_targets.wse.sema.values import Const, Items, Value, boolean, integer


@builtin("import_comptime_value", 2)
def _import_comptime_value(frame: Frame, call: tree.Builtin) -> Value:
    kind = type_of(frame, call.args[0])
    path = frame.module.path.parent / str(known(frame, call.args[1], "a file's name").value)
    try:
        loaded = json.loads(path.read_text())
    except OSError as error:
        raise CslError(f"{path} cannot be read: {error.strerror}", where=call.at) from None
    except (ValueError, RecursionError) as error:
        raise CslError(f"{path} is not valid JSON: {error}", where=call.at) from None
    return _value(frame, loaded, kind, call.at)


def _value(frame: Frame, loaded: Any, kind: t.Type, at: Position) -> Const:
    """A JSON value as a value of a type. Raises CslError."""
    if isinstance(kind, t.Array):
        return _array(frame, loaded, kind, at)
    if kind == t.ANONYMOUS and isinstance(loaded, dict):
        named = (name.partition(":") for name in loaded)
        return Const(kind, {name: _value(frame, loaded[f"{name}{colon}{text}"],
                                         _type_named(frame, name, text, at), at)
                            for name, colon, text in named})  # fmt: skip
    if isinstance(loaded, str) and kind == t.STRING:
        return Const(kind, loaded)
    if isinstance(loaded, bool) and kind == t.BOOL:
        return boolean(loaded)
    if isinstance(loaded, int | float) and not isinstance(loaded, bool):
        number = integer(loaded) if isinstance(loaded, int) else Const(t.COMPTIME_FLOAT, loaded)
        if kind == t.COLOR and isinstance(loaded, int):
            return Const(t.COLOR, loaded)
        if t.is_number(kind):
            value = coerce(frame, number, kind, at)
            if isinstance(value, Const):
                return value
    raise CslError(f"{json.dumps(loaded)[:40]} is not of type {kind}", where=at)


def _type_named(frame: Frame, name: str, text: str, at: Position) -> t.Type:
    if not text:
        raise CslError(f"the field '{name}' has no type", where=at, hints=[f'"{name}:u16"'])
    return type_of(frame, parse_type(text, at))


def _array(frame: Frame, loaded: Any, kind: t.Array, at: Position) -> Const:
    if not isinstance(loaded, list) or len(loaded) != kind.count:
        length = f"{len(loaded)} values" if isinstance(loaded, list) else "no array"
        raise CslError(f"a {kind} has {kind.count} values, but the file has {length}", where=at)
    return Const(kind, Items([_value(frame, each, kind.element, at).value for each in loaded]))
