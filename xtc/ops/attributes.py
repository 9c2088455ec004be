# SPDX-License-Identifier: Apache-2.0
"""Checks of operators' attributes, from users or from loaded files.

Every check takes the operator's name, the attribute's name and the value. It returns the value in
canonical form (int, float, bool, str or a tuple of ints), or raises UserError.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar, cast

import numpy as np

from xtc.core.errors import UserError, did_you_mean, located, shown
from xtc.core.location import user_location
from xtc.core.types import ElementType, TensorType
from xtc.graph.builder import wait
from xtc.graph.tensor import Tensor
from xtc.graph.untyped import has_untyped

P = ParamSpec("P")
R = TypeVar("R")
LARGEST = 2**31 - 1


def user_function(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a user-facing function: its UserErrors have the caller's line."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        with located(user_location()):
            if has_untyped(*args, *kwargs.values()):
                waiting = cast("Callable[..., Tensor]", called)
                return cast("R", wait(function.__name__, waiting, args, kwargs))
            return function(*args, **kwargs)

    return called


def operand_type(op: str, value: object) -> TensorType:
    """The type of an operand, for attributes that depend on its rank. Raises UserError."""
    if not isinstance(value, Tensor):
        raise UserError(
            f"an operand of {op} is {type(value).__name__}, not a tensor",
            hints=["turn it into a constant: O.tensor(array.shape, array.dtype, const=array)"],
        )
    return value.type


def check_operands(op: str, inputs: Sequence[TensorType], count: int) -> tuple[TensorType, ...]:
    """The operands' types, `count` of them."""
    if len(inputs) != count:
        raise UserError(f"{op} takes {count} operand{'s' * (count != 1)}, not {len(inputs)}")
    return tuple(inputs)


def check_flag(op: str, attribute: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise UserError(f"{attribute} of {op} is {shown(value)}, neither True nor False")
    return bool(value)


def check_int(op: str, attribute: str, value: object, *, minimum: int | None = None) -> int:
    """An integer that fits 32 bits, `minimum` or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise UserError(f"{attribute} of {op} is {shown(value)}, not an integer")
    if not -LARGEST <= value <= LARGEST:
        raise UserError(f"{attribute} of {op} is {shown(value)}, beyond {LARGEST} in size")
    if minimum is not None and value < minimum:
        raise UserError(f"{attribute} of {op} is {value}, less than {minimum}")
    return int(value)


def check_real(op: str, attribute: str, value: object, *, minimum: float | None = None) -> float:
    """A finite number, `minimum` or more."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise UserError(f"{attribute} of {op} is {shown(value)}, not a number")
    if not _fits_float(value):
        raise UserError(f"{attribute} of {op} is {shown(value)}, not a finite number")
    if minimum is not None and value < minimum:
        raise UserError(f"{attribute} of {op} is {shown(value)}, less than {minimum!r}")
    return float(value)


def _fits_float(value: int | float | np.number) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def check_fits(op: str, attribute: str, value: float, element: ElementType) -> None:
    """The number is finite in `element` too."""
    with np.errstate(over="ignore"):
        if not np.isfinite(np.asarray(value).astype(element.numpy)):
            raise UserError(f"{attribute} of {op} is {value!r}, too large for {element}")


def check_choice(op: str, attribute: str, value: object, choices: Sequence[str]) -> str:
    """One of the texts in `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise UserError(
            f"{attribute} of {op} is {shown(value)}, which is unknown",
            hints=did_you_mean(shown(value), choices),
        )
    return value


def check_ints(
    op: str,
    attribute: str,
    value: object,
    *,
    count: int | None = None,
    minimum: int | None = None,
) -> tuple[int, ...]:
    """A sequence of integers, `count` of them, each `minimum` or more."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise UserError(f"{attribute} of {op} is {shown(value)}, not a sequence of integers")
    items = tuple(value)
    if count is not None and len(items) != count:
        raise UserError(
            f"{attribute} of {op} is {shown(items)}: {len(items)} integers, not {count}"
        )
    return tuple(
        check_int(op, f"{attribute}[{position}]", item, minimum=minimum)
        for position, item in enumerate(items)
    )


def check_pair(
    op: str, attribute: str, value: object, *, minimum: int | None = None
) -> tuple[int, int]:
    """Two integers, or one that stands for both."""
    first, second = check_each(op, attribute, value, count=2, minimum=minimum)
    return first, second


def check_each(
    op: str, attribute: str, value: object, *, count: int, minimum: int | None = None
) -> tuple[int, ...]:
    """`count` integers, or one that stands for all."""
    if isinstance(value, int | np.integer):
        return (check_int(op, attribute, value, minimum=minimum),) * count
    return check_ints(op, attribute, value, count=count, minimum=minimum)


def check_axis(op: str, attribute: str, value: object, rank: int) -> int:
    """A dimension of an operand of that rank, negative ones counted from the end."""
    axis = check_int(op, attribute, value)
    if not -rank <= axis < rank:
        raise UserError(
            f"{attribute} of {op} is {axis}, but the operand has rank {rank}",
            notes=[f"axes run from {-rank} to {rank - 1}" if rank else "it has no axes"],
        )
    return axis % rank


def check_axes(op: str, attribute: str, value: object, rank: int) -> tuple[int, ...]:
    """Distinct dimensions in the order given: one, several, or all of them for None."""
    if value is None:
        return tuple(range(rank))
    given = (value,) if isinstance(value, int | np.integer) else value
    items = check_ints(op, attribute, given)
    axes = tuple(check_axis(op, attribute, item, rank) for item in items)
    if len(set(axes)) != len(axes):
        raise UserError(
            f"{attribute} of {op} is {shown(items)}, which names an axis twice",
            notes=[f"the operand has rank {rank}"],
        )
    return axes


def check_permutation(op: str, attribute: str, value: object, rank: int) -> tuple[int, ...]:
    """Every dimension once, in any order."""
    axes = check_axes(op, attribute, value, rank)
    if len(axes) != rank:
        raise UserError(
            f"{attribute} of {op} is {shown(axes)}, but the operand has rank {rank}",
            notes=["every axis is named once"],
        )
    return axes
