# SPDX-License-Identifier: Apache-2.0
"""The values that a strategy's parameter may have, as they are written.

    [1, 2, 4]                     these
    {range: [1, 16]}              every integer
    {divisors: k}                 what divides k
    {powers: k}                   powers of two up to k
    {tiles: k}                    both of the last two
    {multiples: V, to: 4 * V}     V, 2 V, ...

Where none of these is between the bounds, and there is an upper one, that one is. Numbers are
expressions of axes and machine parameters; `from` and `to` bound all kinds but lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xtc.core.errors import UserError, did_you_mean
from xtc.core.location import SourceLocation
from xtc.loops.yaml_text import Located
from xtc.search.expression import Expression, Values, parse_expression

MAX_VALUES = 4096
_MAX_NUMBER = 1 << 32


@dataclass(frozen=True)
class Domain:
    """Where the values of a parameter come from.

    Attributes:
        kind: "list", "range", or a key of what is above.
        numbers: the list, the ends of the range, or the one number of the kind.
        low: bound from below, or None.
        high: bound from above, or None.
        where: where it is written.
    """

    kind: str
    numbers: tuple[Expression, ...]
    low: Expression | None = None
    high: Expression | None = None
    where: SourceLocation | None = None

    @property
    def names(self) -> frozenset[str]:
        """Names of axes and machine parameters in it."""
        parts = (*self.numbers, self.low, self.high)
        return frozenset(name for part in parts if part is not None for name in part.names)

    def values(self, known: Values) -> tuple[int, ...]:
        """The values, ascending, each once, all 1 or more. Raises UserError if there is none."""
        numbers = [_bounded(number, known) for number in self.numbers]
        low = 1 if self.low is None else _bounded(self.low, known)
        high = None if self.high is None else _bounded(self.high, known)
        found = sorted(set(_KINDS[self.kind](numbers, low, high)))
        if self.kind != "list":
            found = [value for value in found if low <= value and (high is None or value <= high)]
        if not found and self.kind != "list" and high is not None:
            found = [high]
        if not found or found[0] < 1 or len(found) > MAX_VALUES:
            what = "no value" if not found else f"values from {found[0]} on, {len(found)} of them"
            raise UserError(
                f"the parameter has {what}",
                where=self.where,
                notes=[f"1 to {MAX_VALUES} values, each 1 or more"],
            )
        return tuple(found)


def read_domain(data: Located) -> Domain:
    """The domain that `data` describes. Raises UserError."""
    if isinstance(data.value, list):
        numbers = tuple(parse_expression(item.value, item.where) for item in data.value)
        return Domain("list", numbers, where=data.where)
    if not isinstance(data.value, dict):
        only = parse_expression(data.value, data.where)
        return Domain("list", (only,), where=data.where)
    fields = {str(key.value): (key, value) for key, value in data.value.items()}
    kinds = [name for name in fields if name in _KINDS and name != "list"]
    for name, (key, _) in fields.items():
        if name not in (*kinds, "from", "to"):
            raise UserError(
                f"'{name}' says nothing of a parameter",
                where=key.where,
                hints=did_you_mean(name, [*list(_KINDS)[1:], "from", "to"]),
            )
    if len(kinds) != 1:
        raise UserError(
            "a parameter has one kind of values",
            where=data.where,
            hints=[f"one of: {', '.join(list(_KINDS)[1:])}"],
        )
    bounds = {name: fields[name][1] for name in ("from", "to") if name in fields}
    ends = {name: parse_expression(bound.value, bound.where) for name, bound in bounds.items()}
    numbers = _numbers(kinds[0], fields[kinds[0]][1])
    return Domain(kinds[0], numbers, ends.get("from"), ends.get("to"), data.where)


def _numbers(kind: str, data: Located) -> tuple[Expression, ...]:
    if kind != "range":
        return (parse_expression(data.value, data.where),)
    if not isinstance(data.value, list) or len(data.value) != 2:
        raise UserError("a range is [first, last]", where=data.where)
    return tuple(parse_expression(item.value, item.where) for item in data.value)


def _bounded(expression: Expression, known: Values) -> int:
    value = expression.value(known)
    if abs(value) > _MAX_NUMBER:
        raise UserError(f"'{expression.text}' is {value}, beyond any tile", where=expression.where)
    return value


def _range(numbers: list[int], low: int, high: int | None) -> list[int]:
    first = max(numbers[0], low)
    last = numbers[1] if high is None else min(numbers[1], high)
    return list(range(first, min(last, first + MAX_VALUES) + 1))


def _divisors(numbers: list[int], low: int, high: int | None) -> list[int]:
    number, found, factor = numbers[0], [], 1
    while factor * factor <= number:
        if number % factor == 0:
            found += [factor, number // factor]
        factor += 1
    return found


def _powers(numbers: list[int], low: int, high: int | None) -> list[int]:
    return [1 << bit for bit in range(numbers[0].bit_length())] if numbers[0] > 0 else []


def _multiples(numbers: list[int], low: int, high: int | None) -> list[int]:
    step = numbers[0]
    if step < 1 or high is None:
        return []
    return list(range(step, min(high, step * (MAX_VALUES + 1)) + 1, step))


_KINDS: dict[str, Callable[[list[int], int, int | None], list[int]]] = {
    "list": lambda numbers, low, high: numbers,
    "range": _range,
    "divisors": _divisors,
    "powers": _powers,
    "tiles": lambda numbers, low, high: [
        *_divisors(numbers, low, high),
        *_powers(numbers, low, high),
    ],
    "multiples": _multiples,
}
