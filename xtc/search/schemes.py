# SPDX-License-Identifier: Apache-2.0
"""Strategies named by the order of their tiles, as in other search programs.

A scheme is a sequence of letters, outermost first: P stands for loops over all axes of the result,
R for loops over all reductions, T for both, O for the first axis of the result, the reductions,
then the other axes. The first loop of an axis covers all of it, later ones cover smaller and
smaller tiles. W adds a buffer for the result in the preceding loops, F fuses a producer. The
innermost loop is vectorized if it is over the result; the last tiles of the others are unrolled.

    tile_pprprp      P P R P R P, as Ansor tiles on CPUs
    tile_ppwrprp_v   with a buffer for the result, and whole vectors
    tile_pprprp_vr   and with tiles that fit the registers and the caches
    tile_goto        the blocks of Goto's matmul, packed or not

L. Zheng et al.: Ansor: Generating High-Performance Tensor Programs for Deep Learning, OSDI 2020.
K. Goto, R. A. van de Geijn: Anatomy of High-Performance Matrix Multiplication, TOMS 34(3), 2008.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xtc.search.axes import Axes, Draft, Nest

ALIASES = {
    "tile7d": "tile_pprprp",
    "tile8d": "tile_ppwrprp",
    "tile9d": "tile_pfpwrprp",
}
"""Names by the number of loops of a matmul; `v` and `vr` may follow: tile7dvr is tile_pprprp_vr."""
FAMILY = ("tile_p1", "tile_oo", "tile_prp", *ALIASES.values(), "tile_goto")
_NAME = re.compile(r"tile_(?P<scheme>[prtowf]{2,12}|p1|goto)(?P<rules>_v|_vr|_r)?")
_ALIAS = re.compile(r"(tile[789]d)(v|vr)?")
_MOST_COPIES = 128  # of the body, in the innermost tile
_MOST_ORDERS = 24


def scheme_of(name: str) -> str | None:
    """The full name of a scheme; None for other names."""
    alias = _ALIAS.fullmatch(name)
    if alias is not None:
        name = ALIASES[alias[1]] + (f"_{alias[2]}" if alias[2] else "")
    return name if _NAME.fullmatch(name) else None


def scheme(name: str, axes: Axes) -> Draft:
    """The strategy for a full name, for an operator with these axes."""
    match = _NAME.fullmatch(name)
    if match is None:
        return Draft()
    rules = (match["rules"] or "").removeprefix("_")
    if match["scheme"] == "goto":
        return _goto(axes, rules)
    if match["scheme"] == "p1":
        return _one_level(axes, rules)
    found = _Tiles(axes)
    for letter in match["scheme"]:
        found.add(letter)
    return found.draft([found.nest()], rules)


@dataclass
class _Tiles:
    """Loops in the order of a scheme.

    Attributes:
        axes: the operator's axes.
        loops: axis and number of each loop, outermost first; number 0 covers the whole axis.
        annotations: annotations of loops, by position.
    """

    axes: Axes
    loops: list[tuple[str, int]] = field(default_factory=list)
    annotations: dict[int, list[str]] = field(default_factory=dict)

    @property
    def free(self) -> list[str]:
        """Axes of the result, outermost first."""
        return [*self.axes.outer, *self.axes.rows, self.axes.column]

    def add(self, letter: str) -> None:
        """Add the loops, or the annotation, of one letter."""
        first, *others = self.free
        sums = list(self.axes.sums)
        orders = {
            "p": self.free,
            "r": sums,
            "t": [*self.free, *sums],
            "o": [first, *sums, *others],
        }
        if letter in orders:
            self.extend(orders[letter])
        elif self.loops:
            fused = [f"fuse:{operand}" for operand in self.axes.computed[:1]]
            annotation = ["buffer"] if letter == "w" else fused
            self.annotations.setdefault(len(self.loops) - 1, []).extend(annotation)

    def extend(self, axes: Sequence[str]) -> None:
        """Add a loop over each of these axes."""
        counts = Counter(axis for axis, _ in self.loops)
        self.loops += [(axis, counts[axis]) for axis in axes]

    @property
    def last(self) -> dict[str, int]:
        """The number of each axis' innermost loop."""
        return dict(self.loops)

    def nest(self) -> Nest:
        """The loops as items of a strategy."""
        return [self._item(position, *loop) for position, loop in enumerate(self.loops)]

    def _item(self, position: int, axis: str, number: int) -> str:
        annotations = list(self.annotations.get(position, ()))
        if position + 1 == len(self.loops) and axis not in self.axes.sums:
            annotations.append("vectorize")
        elif number and number == self.last[axis]:
            annotations.append("unroll")
        loop = f"{axis}#{axis}{number}" if number else axis
        return f"{loop}={','.join(annotations)}" if annotations else loop

    def draft(self, nests: list[Nest], rules: str) -> Draft:
        """Parameters for the tiles: each divides its parent."""
        strategy = Draft(nests=nests)
        column = self.axes.column
        for axis, number in self.loops:
            if number:
                strategy.parameters[f"{axis}{number}"] = {"divisors": axis}
            if number > 1:
                strategy.constraints.append(f"{axis}{number - 1} % {axis}{number} == 0")
        tiles = {axis: f"{axis}{number}" for axis, number in self.last.items() if number}
        vector = self.loops[-1][0] if self.loops[-1][0] not in self.axes.sums else None
        copies = [tile for axis, tile in tiles.items() if axis != vector]
        if copies:
            strategy.constraints.append(f"{' * '.join(copies)} <= {_MOST_COPIES}")
        if "v" in rules and column in tiles:
            strategy.parameters[tiles[column]] = _vectors(column)
        if "r" in rules:
            strategy.constraints += self._fitting(tiles)
        return strategy

    def _fitting(self, tiles: dict[str, str]) -> list[str]:
        """Rules that fit the innermost tile in registers, with reductions in the L1 cache."""
        result = [tiles[axis] for axis in self.free if axis in tiles]
        sums = [tiles[axis] for axis in self.axes.sums if axis in tiles]
        if not result:
            return []
        rules = [f"{' * '.join(result)} <= REGISTERS * V"]
        if sums:
            block = " * ".join([*result, *sums])
            rules.append(f"{block} * VECTOR_BYTES <= L1 * V")
        return rules


def _vectors(column: str) -> dict[str, Any]:
    return {"multiples": "V", "from": f"min({column}, V)", "to": column}


def _one_level(axes: Axes, rules: str) -> Draft:
    """One tile of each axis, inside loops over whole axes in any order."""
    tiles = _Tiles(axes)
    whole = [*tiles.free, *axes.sums]
    tiles.extend(whole)
    tiles.extend([*axes.sums, *tiles.free])
    inner = tiles.nest()[len(whole) :]
    orders = itertools.islice(itertools.permutations(whole), _MOST_ORDERS)
    if math.factorial(len(whole)) > _MOST_ORDERS:
        orders = itertools.islice(((*order, *whole[3:]) for order in _orders(whole[:3])), 6)
    return tiles.draft([[*order, *inner] for order in orders], rules)


def _orders(axes: Sequence[str]) -> list[tuple[str, ...]]:
    return list(itertools.permutations(axes))


def _goto(axes: Axes, rules: str) -> Draft:
    """Cache blocks of B and of A around a register tile, packed or not."""
    if not axes.sums or not axes.row or axes.operands < 2:
        return Draft()
    *others, k = axes.sums
    i, j = axes.row, axes.column
    inner = [f"{j}#{j}1", f"{i}#{i}1", f"{k}#{k}1=unroll:{k}U", f"{i}#{i}2=unroll"]
    tiles = _Tiles(axes)
    tiles.loops = [(j, 1), (i, 1), (k, 1), (i, 2), (j, 2)]
    nests = [
        [*axes.outer, *others, j, f"{k}{b}", f"{i}{a}", *inner, f"{j}#{j}2=vectorize"]
        for b in ("", "=pack:1")
        for a in ("", "=pack:0")
    ]
    draft = tiles.draft(nests, rules)
    draft.parameters[f"{k}U"] = [1, 2, 4]
    draft.constraints = [rule for rule in draft.constraints if "<=" not in rule or "V" in rule]
    return draft
