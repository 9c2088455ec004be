# SPDX-License-Identifier: Apache-2.0
"""Strategies for families of operators, as data: made from the axes that an operator has.

Names in expressions: sizes of the axes, `V` (elements in a vector register), and machine parameters
of the target, such as `REGISTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xtc.core.errors import UserError, did_you_mean
from xtc.interfaces.target import THREADS
from xtc.loops import Space as LoopSpace
from xtc.search.strategy import Strategy

_SPARE = 4  # vector registers that hold no sums: a row of one operand and elements of the other
_MOST_VECTORS = 4  # vectors beside each other in a register tile
_MOST_ROWS = 16
_PARALLEL_FLOPS = 1 << 21  # below, threads are not worth waking
_SERIAL_FLOPS = 1 << 25  # from here on, they are
Nest = list[str]


@dataclass(frozen=True)
class Axes:
    """The axes of an operator by what they are good for; those of size 1 need no loops.

    Attributes:
        outer: axes of the result that only loops run over.
        row: the axis of the result whose iterations are unrolled, or None.
        column: the last axis of the result: along it vectors lie.
        sums: axes that are summed over, the innermost last.
        computed: operands that can be fused.
        operands: how many there are.
    """

    outer: tuple[str, ...]
    row: str | None
    column: str
    sums: tuple[str, ...]
    computed: tuple[int, ...]
    operands: int = 0

    @staticmethod
    def of(space: LoopSpace) -> Axes | None:
        """The axes of an operator; None for one whose result is a single number."""
        free = [axis.name for axis in space.axes if not axis.reduction]
        if not free:
            return None
        sums = [axis.name for axis in space.axes if axis.reduction]
        long = [name for name in free[:-1] if space.size(name) > 1]
        long_sums = [name for name in sums if space.size(name) > 1] or sums[-1:]
        row = long[-1] if long else None
        return Axes(
            tuple(long[:-1]), row, free[-1], tuple(long_sums), space.computed, space.operands
        )

    @property
    def rows(self) -> Nest:
        """The loop over rows, where there is one."""
        return [self.row] if self.row else []

    @property
    def tile(self) -> Nest:
        """The innermost loops: a tile that stays in registers."""
        rows = [f"{self.row}#{self.row}R=unroll"] if self.row else []
        return [*rows, f"{self.column}#{self.column}R=vectorize"]


@dataclass
class _Draft:
    """A strategy in the making."""

    parameters: dict[str, Any] = field(default_factory=dict)
    constraints: list[str] = field(default_factory=list)
    nests: list[Nest] = field(default_factory=list)

    def data(
        self, name: str, sums: Sequence[str], *, parallel: bool, serial: bool
    ) -> dict[str, Any]:
        nests = [_parallel(nest, sums) for nest in self.nests] if parallel else []
        nests += self.nests if serial else []
        used = {
            name
            for name in self.parameters
            if any(f"#{name}" in item.replace("=", " ").split(" ")[0] for n in nests for item in n)
        }
        parameters = {name: values for name, values in self.parameters.items() if name in used}
        return {
            "name": name,
            "parameters": parameters,
            "constraints": self.constraints,
            "nests": nests,
        }


def _parallel(nest: Nest, sums: Sequence[str]) -> Nest:
    """The nest with its outermost loop on threads, and with the next one, where both are plain."""
    first, second, *rest = nest
    marked = f"{first}{',' if '=' in first else '='}parallelize"
    if not set("=#") & set(first + second) and second not in sums and rest:
        second = f"{second}=parallelize"
    return [marked, second, *rest]


def _registers(axes: Axes) -> _Draft:
    """Parameters of a register tile."""
    column, row = axes.column, axes.row
    draft = _Draft()
    if row:
        draft.parameters[f"{row}R"] = {"range": [1, f"min({row}, {_MOST_ROWS})"]}
    draft.parameters[f"{column}R"] = _vectors(column, _MOST_VECTORS)
    if row and axes.sums:
        draft.constraints.append(f"{row}R * {column}R <= (REGISTERS - {_SPARE}) * V")
    return draft


def _vectors(column: str, most: int) -> dict[str, Any]:
    """Powers of two of vectors: those of three registers become those of four in LLVM."""
    return {"powers": f"{most} * V", "from": "V", "to": f"min({column}, {most} * V)"}


def tile3d(axes: Axes) -> _Draft:
    """A register tile inside of loops over whole axes, in several orders."""
    draft, tile = _registers(axes), axes.tile
    rows, column, sums, outer = axes.rows, axes.column, axes.sums, axes.outer
    draft.nests = [[*outer, *rows, column, *sums, *tile]]
    if rows:
        draft.nests.append([*outer, column, *rows, *sums, *tile])
    if rows and outer:
        draft.nests.append([column, *outer, *rows, *sums, *tile])
    return draft


def tile4d(axes: Axes) -> _Draft:
    """As tile3d, with the innermost sum in blocks that stay in a cache."""
    draft = _registers(axes)
    if not axes.sums:
        return draft
    *others, last = axes.sums
    block, tile = [f"{last}#{last}B"], axes.tile
    draft.parameters[f"{last}B"] = {"tiles": last, "from": f"min({last}, 16)"}
    rows, column, outer = axes.rows, axes.column, axes.outer
    draft.nests = [[*outer, column, last, *rows, *others, *block, *tile]]
    if rows:
        draft.nests.append([*outer, *rows, last, column, *others, *block, *tile])
    return draft


def packed(axes: Axes) -> _Draft:
    """Blocks copied to dense buffers, as BLIS does: panels of the second operand, then the first.

    F. G. Van Zee, R. A. van de Geijn: BLIS: A Framework for Rapidly Instantiating BLAS
    Functionality, ACM TOMS 41(3), 2015.
    """
    draft = tile4d(axes)
    draft.nests = []
    if not axes.sums or not axes.row or axes.operands < 2:
        return draft
    *others, last = axes.sums
    row, column, outer, tile = axes.row, axes.column, axes.outer, axes.tile
    block = f"{last}#{last}B"
    rows, columns = f"{row}B", f"{column}B"
    draft.nests = [
        [*outer, column, f"{last}=pack:1", row, *others, block, *tile],
        [*outer, f"{column}=pack:1", row, *others, last, *tile],
        [*outer, column, f"{last}=pack:1", row, f"{column}#{columns}", *others, block, *tile],
    ]
    draft.parameters[columns] = {"tiles": column, "from": f"min({column}, 2 * V)"}
    draft.constraints += [f"{columns} > {column}R", f"{columns} % {column}R == 0"]
    if not others:
        inner = [f"{column}#{columns}", f"{row}#{rows}", block]
        draft.nests.append([*outer, column, f"{last}=pack:1", f"{row}=pack:0", *inner, *tile])
        draft.parameters[rows] = {"multiples": 4, "to": f"min({row}, 384)"}
        draft.constraints += [f"{rows} > {row}R", f"{rows} % {row}R == 0"]
    return draft


def elementwise(axes: Axes) -> _Draft:
    """Vectors along the last axis; rows unrolled; what computes an operand fused into the rows."""
    draft = _registers(axes)
    draft.parameters[f"{axes.column}R"] = _vectors(axes.column, 4 * _MOST_VECTORS)
    rows, column, outer, sums = axes.rows, axes.column, axes.outer, axes.sums
    vectors = axes.tile[-1]
    draft.nests = [[*outer, *rows, column, *sums, vectors]]
    if axes.row:
        draft.nests.append([*outer, *rows, column, *sums, *axes.tile])
        if axes.computed:
            fused = f"{axes.row}=fuse:{axes.computed[0]}"
            draft.nests.append([*outer, fused, column, *sums, *axes.tile])
    return draft


def reduction(axes: Axes) -> _Draft:
    """Sums over the last axis of an operand: several rows at once, the sum in blocks."""
    column, sums, outer = axes.column, axes.sums, [*axes.outer, *axes.rows]
    draft = _Draft()
    draft.parameters[f"{column}R"] = {"range": [1, f"min({column}, {_MOST_ROWS})"]}
    draft.nests = [[*outer, column, *sums, f"{column}#{column}R=unroll"]]
    if sums:
        last = sums[-1]
        draft.parameters[f"{last}B"] = {"tiles": last, "from": f"min({last}, 16)"}
        draft.nests.append([*outer, column, *sums, f"{last}#{last}B", f"{column}#{column}R=unroll"])
    return draft


def _contraction(axes: Axes) -> _Draft:
    """All that is good for products: plain, in blocks, packed."""
    drafts = [tile3d(axes), tile4d(axes), packed(axes)]
    merged = _Draft()
    for draft in drafts:
        merged.parameters |= draft.parameters
        known = merged.constraints
        merged.constraints += [rule for rule in draft.constraints if rule not in known]
        merged.nests += draft.nests
    return merged


_MAKERS: dict[str, Callable[[Axes], _Draft]] = {
    "tile3d": tile3d,
    "tile4d": tile4d,
    "packed": packed,
    "contraction": _contraction,
    "elementwise": elementwise,
    "reduction": reduction,
}
NAMES = ("auto", *_MAKERS)


def builtin(
    name: str, operator: str, space: LoopSpace, machine_parameters: Mapping[str, int], flops: int
) -> Strategy:
    """The strategy called `name` for an operator of that kind, which has so much to do.

    Raises UserError for an unknown name, and where the strategy has nothing for these axes.
    """
    if name not in NAMES:
        raise UserError(
            f"there is no strategy '{name}'",
            notes=["a strategy of your own is a file: --strategy FILE.yaml"],
            hints=did_you_mean(name, NAMES),
        )
    chosen = family(operator, space) if name == "auto" else name
    axes = Axes.of(space)
    draft = _MAKERS[chosen](axes) if axes else _Draft()
    if axes is None or not draft.nests:
        raise UserError(
            f"strategy '{name}' has nothing for {operator} over {', '.join(space.names)}",
            hints=[] if name == "auto" else ["--strategy auto"],
        )
    parallel = machine_parameters.get(THREADS, 1) > 1 and flops >= _PARALLEL_FLOPS
    serial = not parallel or flops < _SERIAL_FLOPS
    return Strategy.of(draft.data(chosen, axes.sums, parallel=parallel, serial=serial))


def family(operator: str, space: LoopSpace) -> str:
    """The strategy that fits an operator of that kind."""
    if not any(axis.reduction for axis in space.axes):
        return "elementwise"
    along_rows = operator == "gemv" or operator.startswith("reduce_")
    return "reduction" if along_rows and space.axes[-1].reduction else "contraction"
