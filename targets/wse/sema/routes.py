# SPDX-License-Identifier: Apache-2.0
"""Reads color configurations from the structs of programs."""

from __future__ import annotations

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.declarations import ColorConfig, Filter
from xtc_targets.wse.sema.values import Const, Value

_PARTS = ("routes", "switches", "filter", "teardown")
_ROUTES = ("rx", "tx", "color_swap_x", "color_swap_y")
_POSITIONS = ("pos1", "pos2", "pos3")
_SWITCH = (*_POSITIONS, "current_switch_pos", "ring_mode", "pop_mode")
_COUNTER = ("init_counter", "max_counter", "limit1", "count_data", "count_control", "limit2")
_POP = {"no_pop": 0, "always_pop": 1, "pop_on_advance": 2, "pop_on_advance_nop": 3}


def fields(value: Value, known: tuple[str, ...], what: str, at: Position) -> dict[str, Const]:
    """The fields of a constant struct, whose names must be among `known`. Raises CslError."""
    if not isinstance(value, Const) or not isinstance(value.value, dict):
        raise CslError(f"{what} must be a struct", where=at)
    found = {}
    for name, each in value.value.items():
        if name not in known:
            raise CslError(f"{what} has no '{name}'", where=at, hints=did_you_mean(name, known))
        if not isinstance(each, Const):
            raise CslError(f"'{name}' must be known at compile time", where=at)
        found[name] = each
    return found


def color_config(value: Value, at: Position) -> ColorConfig:
    """A color's configuration from a struct. Raises CslError."""
    parts = fields(value, _PARTS, "the configuration of a color", at)
    routes = fields(parts["routes"], _ROUTES, "a route", at) if "routes" in parts else {}
    first = (_directions(routes.get("rx"), at), _directions(routes.get("tx"), at))
    switches = fields(parts["switches"], _SWITCH, "a switch", at) if "switches" in parts else {}
    positions, inputs = [first], 0
    for name in _POSITIONS:
        if name not in switches or _is_invalid(switches[name]):
            break
        inputs |= ("rx" in switches[name].value) << len(positions)
        positions.append(_position(switches[name], positions[-1], at))
    current = _int(switches.get("current_switch_pos"), 0)
    if not 0 <= current < len(positions):
        raise CslError(f"a switch of {len(positions)} positions has no {current}", where=at)
    return ColorConfig(
        tuple(positions),
        current,
        bool(_int(switches.get("ring_mode"), 0)),
        _pop(switches.get("pop_mode"), at),
        bool(_int(parts.get("teardown"), 0)),
        _filter(parts["filter"], at) if "filter" in parts else None,
        _int(routes.get("color_swap_x"), 0) | _int(routes.get("color_swap_y"), 0) << 1,
        inputs,
    )


def _position(value: Const, before: tuple[int, int], at: Position) -> tuple[int, int]:
    """A switch position: the previous one with the given parts replaced."""
    if value.value == {}:
        return before
    given = fields(value, ("rx", "tx", "invalid"), "a position of a switch", at)
    rx = _directions(given["rx"], at) if "rx" in given else before[0]
    tx = _directions(given["tx"], at) if "tx" in given else before[1]
    return rx, tx


def _is_invalid(value: Const) -> bool:
    """Whether a position is marked invalid: the switch has only the positions before it."""
    given = value.value.get("invalid") if isinstance(value.value, dict) else None
    return isinstance(given, Const) and bool(given.value)


def _directions(value: Const | None, at: Position) -> int:
    if value is None:
        return 0
    each = value.value.values() if isinstance(value.value, dict) else [value]
    bits = 0
    for direction in each:
        if not isinstance(direction, Const) or direction.type != t.DIRECTION:
            raise CslError(
                "a route goes EAST, WEST, NORTH, SOUTH or RAMP",
                where=at,
                notes=[f"got a {direction.type}"],
            )
        bits |= 1 << direction.value
    return bits


def _int(value: Const | None, otherwise: int) -> int:
    return otherwise if value is None else int(value.value)


def _pop(value: Const | None, at: Position) -> int:
    if value is None or value.value == {}:
        return 0
    modes = fields(value, tuple(_POP), "a switch's pop_mode", at)
    return max(_POP[name] for name, each in modes.items() if each.value)


def _filter(value: Const, at: Position) -> Filter | None:
    names = ("kind", "min_idx", "max_idx", "fast_mode", "filter_control", *_COUNTER)
    given = fields(value, names, "a filter", at)
    if "kind" not in given:
        return None
    kinds = fields(given["kind"], ("counter", "range", "sparse_counter"), "a filter's kind", at)
    chosen = [name for name, each in kinds.items() if each.value]
    if chosen == ["range"]:
        numbers = (_int(given.get("min_idx"), 0), _int(given.get("max_idx"), 0xFFFF))
        return Filter("range", numbers)
    if chosen in (["counter"], ["sparse_counter"]):
        defaults = (0, 0, 0, 1, 0, 0)
        found = [_int(given.get(n), d) for n, d in zip(_COUNTER, defaults, strict=True)]
        found[4] |= _int(given.get("filter_control"), 0) << 1
        return Filter(chosen[0], tuple(found))
    raise CslError("a filter has one kind: counter, range or sparse_counter", where=at)
