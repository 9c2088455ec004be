# SPDX-License-Identifier: Apache-2.0
"""Strategies for families of operators, as data: made from the axes that an operator has.

Names in expressions: sizes of the axes, `V` (elements in a vector register), and machine parameters
of the target, such as `REGISTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xtc.core.errors import UserError, did_you_mean
from xtc.interfaces.target import THREADS
from xtc.loops import Space as LoopSpace
from xtc.search.axes import Axes, Draft
from xtc.search.schemes import FAMILY, scheme, scheme_of
from xtc.search.strategy import Strategy

_SPARE = 4  # vector registers that hold no sums: a row of one operand and elements of the other
_MOST_VECTORS = 4  # vectors beside each other in a register tile
_MOST_ROWS = 16
_PARALLEL_FLOPS = 1 << 21  # below, threads are not worth waking
_SERIAL_FLOPS = 1 << 25  # from here on, they are


def _registers(axes: Axes) -> Draft:
    """Parameters of a register tile."""
    column, row = axes.column, axes.row
    draft = Draft()
    if row:
        draft.parameters[f"{row}R"] = {"range": [1, f"min({row}, {_MOST_ROWS})"]}
    draft.parameters[f"{column}R"] = _vectors(column, _MOST_VECTORS)
    if row and axes.sums:
        draft.constraints.append(f"{row}R * {column}R <= (REGISTERS - {_SPARE}) * V")
    return draft


def _vectors(column: str, most: int) -> dict[str, Any]:
    """Powers of two of vectors: those of three registers become those of four in LLVM."""
    return {"powers": f"{most} * V", "from": "V", "to": f"min({column}, {most} * V)"}


def tile3d(axes: Axes) -> Draft:
    """A register tile inside of loops over whole axes, in several orders."""
    draft, tile = _registers(axes), axes.tile
    rows, column, sums, outer = axes.rows, axes.column, axes.sums, axes.outer
    draft.nests = [[*outer, *rows, column, *sums, *tile]]
    if rows:
        draft.nests.append([*outer, column, *rows, *sums, *tile])
    if rows and outer:
        draft.nests.append([column, *outer, *rows, *sums, *tile])
    return draft


def tile4d(axes: Axes) -> Draft:
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


def packed(axes: Axes) -> Draft:
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


def elementwise(axes: Axes) -> Draft:
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


def reduction(axes: Axes) -> Draft:
    """Sums over the last axis of an operand: several rows at once, the sum in blocks."""
    column, sums, outer = axes.column, axes.sums, [*axes.outer, *axes.rows]
    draft = Draft()
    draft.parameters[f"{column}R"] = {"range": [1, f"min({column}, {_MOST_ROWS})"]}
    draft.nests = [[*outer, column, *sums, f"{column}#{column}R=unroll"]]
    if sums:
        last = sums[-1]
        draft.parameters[f"{last}B"] = {"tiles": last, "from": f"min({last}, 16)"}
        draft.nests.append([*outer, column, *sums, f"{last}#{last}B", f"{column}#{column}R=unroll"])
    return draft


def _contraction(axes: Axes) -> Draft:
    """All that is good for products: plain, in blocks, packed."""
    drafts = [tile3d(axes), tile4d(axes), packed(axes)]
    merged = Draft()
    for draft in drafts:
        merged.parameters |= draft.parameters
        known = merged.constraints
        merged.constraints += [rule for rule in draft.constraints if rule not in known]
        merged.nests += draft.nests
    return merged


_MAKERS: dict[str, Callable[[Axes], Draft]] = {
    "tile3d": tile3d,
    "tile4d": tile4d,
    "packed": packed,
    "contraction": _contraction,
    "elementwise": elementwise,
    "reduction": reduction,
}
NAMES = ("auto", *_MAKERS, *FAMILY)


def builtin(
    name: str, operator: str, space: LoopSpace, machine_parameters: Mapping[str, int], flops: int
) -> Strategy:
    """The strategy called `name` for an operator of that kind, which has so much to do.

    Raises UserError for an unknown name, and if the strategy has nothing for these axes.
    """
    full = scheme_of(name)
    if name not in NAMES and full is None:
        raise UserError(
            f"there is no strategy '{name}'",
            notes=["a strategy of your own is a file: --strategy FILE.yaml"],
            hints=did_you_mean(name, NAMES),
        )
    chosen = family(operator, space) if name == "auto" else full or name
    axes = Axes.of(space)
    draft = Draft()
    if axes is not None:
        draft = scheme(chosen, axes) if full else _MAKERS[chosen](axes)
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
