# SPDX-License-Identifier: Apache-2.0
"""A set of schedules of one operator as data: parameters, constraints, and nests that use them.

    name: blocked
    operator: C                       # default: the one with most work and these axes
    parameters:
      iR: {range: [1, 16]}            # see xtc/search/domain.py
      jR: {multiples: V, to: 4 * V}
      kB: {tiles: k, from: 16}
    constraints: ["iR * jR <= 28 * V"]
    nests:
      - [j, k=pack:1, i, k#kB, i#iR=unroll, j#jR=vectorize]

A nest has the data form of schedules, with parameters in place of numbers. With several nests, the
additional parameter `nest` chooses one; constraints on parameters that the nest does not use are
ignored.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from xtc.core.errors import UserError, did_you_mean, located, shown
from xtc.core.location import SourceLocation
from xtc.loops.yaml_text import Located, parse_yaml, plain
from xtc.search.domain import Domain, read_domain
from xtc.search.expression import Expression, parse_expression
from xtc.search.nest import Item, nest_items, read_item

NEST = "nest"
"""The parameter that chooses between nests."""
_FIELDS = ("name", "operator", "parameters", "constraints", "nests")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_MAX_PARAMETERS = 32
_MAX_NESTS = 256


@dataclass(frozen=True)
class Strategy:
    """A set of schedules of one operator, see the module.

    Attributes:
        name: its name.
        operator: name of the operator in the graph, or None.
        parameters: domains by name.
        constraints: conditions that every schedule of the set satisfies.
        nests: at least one.
        where: its location.
    """

    name: str
    parameters: Mapping[str, Domain]
    constraints: tuple[Expression, ...]
    nests: tuple[tuple[Item, ...], ...]
    operator: str | None = None
    where: SourceLocation | None = None
    _data: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(data: object) -> Strategy:
        """The strategy in a mapping, YAML text, or the file of a Path. Raises UserError."""
        found = Strategy.several(data)
        if len(found) != 1:
            raise UserError(f"expected one strategy, found {len(found)}", where=found[0].where)
        return found[0]

    @staticmethod
    def several(data: object) -> list[Strategy]:
        """The strategies in a list of mappings, or in one mapping; otherwise like `of`."""
        tree = _tree(data)
        found = [_read(entry) for entry in (tree.value if isinstance(tree.value, list) else [tree])]
        if not found:
            raise UserError("there is no strategy", where=tree.where)
        for entry in found:
            if entry.operator is None and len(found) > 1:
                raise UserError(
                    f"strategy '{entry.name}' is one of several and names no operator",
                    where=entry.where,
                    hints=["operator: C"],
                )
        return found

    @property
    def axes(self) -> set[str]:
        """Names of the axes that its nests run over."""
        return {item.axis for nest in self.nests for item in nest}

    @functools.cached_property
    def _unused(self) -> tuple[frozenset[str], ...]:
        used = ({name for item in nest for name in item.parameters} for nest in self.nests)
        return tuple(frozenset(self.parameters) - names for names in used)

    def unused(self, nest: int) -> frozenset[str]:
        """Names of the parameters that a nest does not use; constraints on them are ignored."""
        return self._unused[nest]

    def data(self, operator: str) -> dict[str, Any]:
        """The strategy as plain data, for an operator."""
        first = {"name": self.name, "operator": operator}
        return first | {key: value for key, value in self._data.items() if key not in first}

    def nest(self, values: Mapping[str, int], sizes: Mapping[str, int]) -> list[str]:
        """The nest for parameter values, for `xtc.Schedule.of`."""
        return nest_items(self.nests[values.get(NEST, 0)], values, sizes)


def _tree(data: object) -> Located:
    if isinstance(data, Path):
        try:
            return parse_yaml(data.read_text(), str(data))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {data}: {error}") from None
    return parse_yaml(data, "<strategy>") if isinstance(data, str) else plain(data)


def strategies_text(strategies: Sequence[Mapping[str, Any]]) -> str:
    """Strategies as YAML, for `Strategy.several`."""
    data = strategies[0] if len(strategies) == 1 else list(strategies)
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)


def _read(tree: Located) -> Strategy:
    if not isinstance(tree.value, dict):
        raise UserError(
            "a strategy is a mapping with the keys 'parameters' and 'nests'", where=tree.where
        )
    fields = {str(key.value): (key, value) for key, value in tree.value.items()}
    for name, (key, _) in fields.items():
        if name not in _FIELDS:
            hints = did_you_mean(name, _FIELDS)
            raise UserError(f"a strategy has no '{name}'", where=key.where, hints=hints)
    strategy = _strategy(tree, {name: value for name, (_, value) in fields.items()})
    _check_used(strategy)
    return strategy


def _strategy(tree: Located, fields: Mapping[str, Located]) -> Strategy:
    parameters = _mapping(fields.get("parameters"), "parameters", _MAX_PARAMETERS)
    domains = {}
    for key, value in parameters.items():
        name = str(key.value)
        if not _NAME.fullmatch(name) or name == NEST:
            raise UserError(f"{shown(name)} is not a name for a parameter", where=key.where)
        with located(key.where):
            domains[name] = read_domain(value)
    constraints = _list(fields.get("constraints"), "constraints")
    nests = _list(fields.get("nests"), "nests")
    if not 1 <= len(nests) <= _MAX_NESTS:
        raise UserError(
            f"a strategy has 1 to {_MAX_NESTS} nests, not {len(nests)}", where=tree.where
        )
    return Strategy(
        name=_text(fields.get("name"), "user"),
        operator=_text(fields["operator"], "") if "operator" in fields else None,
        parameters=domains,
        constraints=tuple(parse_expression(rule.value, rule.where) for rule in constraints),
        nests=tuple(_nest(nest) for nest in nests),
        where=tree.where,
        _data=_unlocated(tree),
    )


def _check_used(strategy: Strategy) -> None:
    """Raise UserError for unknown parameters in nests, and for unused parameters."""
    used = {name for nest in strategy.nests for item in nest for name in item.parameters}
    for name in sorted(used - set(strategy.parameters)):
        raise UserError(
            f"a nest of strategy '{strategy.name}' has the unknown parameter '{name}'",
            where=strategy.where,
            hints=did_you_mean(name, strategy.parameters),
        )
    for name in sorted(set(strategy.parameters) - used):
        raise UserError(
            f"no nest of strategy '{strategy.name}' has the parameter '{name}'",
            where=strategy.where,
        )


def _nest(data: Located) -> tuple[Item, ...]:
    items = _list(data, "nest")
    if not items:
        raise UserError("a nest has loops", where=data.where)
    return tuple(read_item(item) for item in items)


def _mapping(data: Located | None, what: str, most: int) -> dict[Located, Located]:
    if data is None or data.value is None:
        return {}
    if not isinstance(data.value, dict) or len(data.value) > most:
        raise UserError(f"{what} are a mapping of {most} entries at most", where=data.where)
    return data.value


def _list(data: Located | None, what: str) -> list[Located]:
    if data is None or data.value is None:
        return []
    if not isinstance(data.value, list):
        raise UserError(f"{what} of a strategy: a list", where=data.where)
    return data.value


def _text(data: Located | None, usual: str) -> str:
    if data is None:
        return usual
    if not isinstance(data.value, str) or not data.value or len(data.value) > 256:
        raise UserError(f"{shown(data.value)} is not a name", where=data.where)
    return data.value


def _unlocated(data: Located) -> Any:
    if isinstance(data.value, dict):
        return {str(key.value): _unlocated(value) for key, value in data.value.items()}
    if isinstance(data.value, list):
        return [_unlocated(entry) for entry in data.value]
    return data.value
