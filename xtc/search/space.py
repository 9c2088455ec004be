# SPDX-License-Identifier: Apache-2.0
"""Search spaces: parameters with their values, for one or several operators of a graph.

A point has a value for each parameter. Points are created only here, and satisfy all constraints.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xtc.core.errors import UserError, did_you_mean
from xtc.loops import Space as LoopSpace
from xtc.search.expression import Expression
from xtc.search.strategy import NEST, Strategy, strategies_text

Point = dict[str, int]
_TRIES = 2000


@dataclass(frozen=True)
class OperatorSpace:
    """A strategy for one operator, with the values of its parameters.

    Attributes:
        operator: name in the graph.
        strategy: the strategy.
        values: the values of each parameter, ascending.
        known: sizes of the axes and machine parameters, by name.
        prefix: the prefix of the parameters' names in points; "" for a single operator.
    """

    operator: str
    strategy: Strategy
    values: Mapping[str, tuple[int, ...]]
    known: Mapping[str, int]
    prefix: str = ""

    @staticmethod
    def of(
        strategy: Strategy,
        operator: str,
        space: LoopSpace,
        machine_parameters: Mapping[str, int],
        prefix: str = "",
    ) -> OperatorSpace:
        """The strategy applied to an operator. Raises UserError if it does not fit its axes."""
        sizes = {axis.name: axis.size for axis in space.axes}
        for name in sorted(strategy.axes - set(sizes)):
            raise UserError(
                f"strategy '{strategy.name}' has loops over '{name}', and {operator} no such axis",
                where=strategy.where,
                hints=did_you_mean(name, sizes),
            )
        known = {**machine_parameters, **sizes}
        for name in strategy.parameters:
            if name in known:
                raise UserError(
                    f"parameter '{name}' of strategy '{strategy.name}' has the name of "
                    f"{'an axis' if name in sizes else 'a machine parameter'}",
                    where=strategy.where,
                )
        values = {}
        if len(strategy.nests) > 1:
            values[NEST] = tuple(range(len(strategy.nests)))
        for name, domain in strategy.parameters.items():
            for bound in (*domain.numbers, domain.low, domain.high):
                if bound is not None:
                    bound.check_names(known)
            values[name] = domain.values(known)
        for constraint in strategy.constraints:
            constraint.check_names({*known, *values})
        return OperatorSpace(operator, strategy, values, known, prefix)

    def own(self, point: Mapping[str, int]) -> Point:
        """This operator's part of a point, under the strategy's names."""
        return {name: point[self.prefix + name] for name in self.values}

    def unused(self, point: Mapping[str, int]) -> frozenset[str]:
        """The strategy's names of parameters that the nest chosen by `point` does not use."""
        return self.strategy.unused(point.get(self.prefix + NEST, 0))


@dataclass(frozen=True)
class _Rule:
    """A constraint, and the parameters of points that it uses."""

    each: OperatorSpace
    constraint: Expression
    own_names: frozenset[str]

    @property
    def names(self) -> set[str]:
        return {self.each.prefix + name for name in self.own_names}

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether it holds, or uses a parameter that the chosen nest does not have."""
        if not self.own_names.isdisjoint(self.each.unused(point)):
            return True
        values = dict(self.each.known)
        values.update((name, point[self.each.prefix + name]) for name in self.own_names)
        return bool(self.constraint.value(values))


class SearchSpace:
    """The points of one or several operators."""

    def __init__(self, operators: Sequence[OperatorSpace]) -> None:
        """Raises UserError if there are no parameters."""
        self.operators = tuple(operators)
        self.values: dict[str, tuple[int, ...]] = {
            each.prefix + name: values for each in operators for name, values in each.values.items()
        }
        if not self.values:
            raise UserError("the strategy has no parameters: there is nothing to choose")
        self._rules = [
            _Rule(each, constraint, constraint.names & set(each.values))
            for each in operators
            for constraint in each.strategy.constraints
        ]
        self._order = list(self.values)
        self._due = self._rules_by_step()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(self._order)

    @property
    def size(self) -> int:
        """The number of points without constraints."""
        return math.prod(len(values) for values in self.values.values())

    def allows(self, point: Mapping[str, int]) -> bool:
        """Whether all constraints hold."""
        return all(rule.holds(point) for rule in self._rules)

    def points(self) -> Iterator[Point]:
        """Every point, in the order of the parameters and their values."""
        yield from self._extend({}, 0)

    def canonical(self, point: Mapping[str, int]) -> Point:
        """The point with the first value for parameters that its nests do not have."""
        result = dict(point)
        for each in self.operators:
            for name in each.unused(point):
                result[each.prefix + name] = each.values[name][0]
        return result

    def random_point(self, rng: random.Random) -> Point | None:
        """A random point, or None if none was found in many draws."""
        for _ in range(_TRIES):
            drawn = {name: rng.choice(values) for name, values in self.values.items()}
            point = self.canonical(drawn)
            if self.allows(point):
                return point
        return None

    def neighbor(self, point: Mapping[str, int], rng: random.Random) -> Point:
        """The point with one parameter changed, to a neighboring or any value; ignores
        constraints."""
        changed = dict(point)
        idle = {each.prefix + name for each in self.operators for name in each.unused(point)}
        several = [n for n, values in self.values.items() if len(values) > 1 and n not in idle]
        if not several:
            return changed
        name = rng.choice(several)
        values = self.values[name]
        at = values.index(changed[name])
        beside = [i for i in (at - 1, at + 1) if 0 <= i < len(values)]
        others = [i for i in range(len(values)) if i != at]
        changed[name] = values[rng.choice(beside if rng.random() < 0.7 else others)]
        return self.canonical(changed)

    @property
    def text(self) -> str:
        """The strategies of all operators as YAML, for `Strategy.several`."""
        return strategies_text([each.strategy.data(each.operator) for each in self.operators])

    def schedule(self, point: Mapping[str, int]) -> str:
        """The schedule of a point, as YAML for `xtc.Schedule.of`."""
        lines = []
        for each in self.operators:
            items = ", ".join(
                f'"{item}"' for item in each.strategy.nest(each.own(point), each.known)
            )
            lines.append(f'"{each.operator}": [{items}]')
        return "\n".join(lines)

    def _rules_by_step(self) -> list[list[_Rule]]:
        """For each parameter, the constraints that can be tested once it has its value."""
        due: list[list[_Rule]] = [[] for _ in self._order]
        for rule in self._rules:
            last = max((self._order.index(name) for name in rule.names), default=0)
            due[last].append(rule)
        return due

    def _extend(self, point: Point, step: int) -> Iterator[Point]:
        if step == len(self._order):
            yield dict(point)
            return
        name = self._order[step]
        unused = (each.prefix + key for each in self.operators for key in each.unused(point))
        fixed = name in unused
        for value in self.values[name][: 1 if fixed else None]:
            point[name] = value
            if all(rule.holds(point) for rule in self._due[step]):
                yield from self._extend(point, step + 1)
        point.pop(name, None)


def some_points(space: SearchSpace, most: int) -> list[Point] | None:
    """All points if there are at most `most`, else None."""
    if space.size > most * 16:
        return None
    found = list(itertools.islice(space.points(), most + 1))
    return found if len(found) <= most else None


def key(point: Mapping[str, int]) -> tuple[int, ...]:
    """The key of a point within its space."""
    return tuple(point.values())
