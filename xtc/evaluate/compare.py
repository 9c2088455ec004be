# SPDX-License-Identifier: Apache-2.0
"""Compares a computed array with its reference: which elements are wrong, and by how much.

An element is correct if |actual - expected| <= atol + rtol * |expected|; xtc/evaluate/tolerances.py
documents the default tolerances. Integers and booleans are compared exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xtc.core.errors import UserError, XtcError
from xtc.evaluate.dtypes import kind_of
from xtc.evaluate.tolerances import default_tolerances

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Scalar = bool | int | float


class MismatchError(XtcError):
    """A computed array differs from the reference."""


@dataclass(frozen=True)
class Comparison:
    """The outcome of one comparison.

    `index`, `actual`, `expected`, `abs_error` and `rel_error` describe the worst element: the
    largest error relative to its tolerance. They are None and 0 if there is none (no elements, or
    arrays that cannot be compared, for which `mismatch` has the reason). `one_sided` counts the
    elements that are NaN or infinite on one side only.
    """

    ok: bool
    name: str
    rtol: float
    atol: float
    total: int
    differing: int = 0
    one_sided: int = 0
    index: tuple[int, ...] | None = None
    actual: Scalar | None = None
    expected: Scalar | None = None
    abs_error: float = 0.0
    rel_error: float = 0.0
    mismatch: str | None = None

    def __str__(self) -> str:
        if self.mismatch is not None:
            return f"{self.name}: {self.mismatch}"
        parts = [f"{self.name}: {self._count()}", self._worst(), self._tolerances()]
        return "; ".join(part for part in parts if part)

    def raise_if_wrong(self) -> None:
        """Raises MismatchError with the worst element, the count and the tolerances."""
        if self.ok:
            return
        if self.mismatch is not None:
            raise MismatchError(f"'{self.name}' is wrong: {self.mismatch}")
        raise MismatchError(
            f"'{self.name}' is wrong: {self._count()}",
            notes=[self._worst(), f"tolerances: {self._tolerances()}"],
        )

    def _count(self) -> str:
        if self.ok:
            return f"all {self.total} elements agree"
        text = f"{self.differing} of {self.total} elements differ"
        if self.one_sided:
            text += f", {self.one_sided} of them NaN or infinite on one side only"
        return text

    def _worst(self) -> str:
        if self.index is None or (self.ok and self.abs_error == 0):
            return ""
        actual, expected = _distinguished(self.actual, self.expected)
        return (
            f"worst at {list(self.index)}: {actual} where {expected} was expected"
            f" (error {self.abs_error:.3g} absolute, {self.rel_error:.3g} relative)"
        )

    def _tolerances(self) -> str:
        return f"rtol {self.rtol:.3g}, atol {self.atol:.3g}"


def compare(
    actual: Array,
    expected: Array,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    name: str,
    reduction: int = 1,
    scale: float | None = None,
    noise: float = 0.0,
    roundoff: float = 0.0,
) -> Comparison:
    """Compare `actual` with the reference `expected`, element by element.

    Args:
        actual: the computed array, of any shape and boolean, integer or floating element type.
        expected: the reference, of the same shape and kind of number; may be more precise.
        rtol: relative tolerance; None takes the default of xtc.evaluate.tolerances.
        atol: absolute tolerance; None takes the default of xtc.evaluate.tolerances.
        name: the array's name in messages.
        reduction: the largest number of terms in any element's sum.
        scale: the typical magnitude of such a sum without cancellation; None estimates it from
            `expected`, which needs more than a handful of elements.
        noise: added to the default `atol`; see `rounding_noise`.
        roundoff: unit roundoff of operands that were rounded on purpose.

    A NaN equals only a NaN, an infinity only the same infinity, and a value too large for the
    result's type also the infinity it is stored as. Raises UserError for an unusable argument.
    """
    _validate(rtol, atol, reduction, scale)
    actual, expected = np.asarray(actual), np.asarray(expected)
    mismatch = _mismatch(actual, expected)
    if mismatch is not None:
        return Comparison(
            False, name, rtol or 0.0, atol or 0.0, expected.size, expected.size, mismatch=mismatch
        )
    default = default_tolerances(actual, expected, reduction, scale, roundoff)
    rtol = default[0] if rtol is None else rtol
    atol = default[1] + noise if atol is None else atol
    if expected.size == 0:
        return Comparison(True, name, rtol, atol, 0)
    return _compare_elements(actual, expected, rtol, atol, name)


def _validate(rtol: float | None, atol: float | None, reduction: int, scale: float | None) -> None:
    for label, value in (("rtol", rtol), ("atol", atol), ("scale", scale)):
        if value is not None and not (value >= 0 and math.isfinite(value)):
            raise UserError(f"{label} is {value}", hints=[f"{label} is finite and 0 or more"])
    if reduction < 1:
        raise UserError(
            f"reduction is {reduction}", hints=["a reduction has 1 term or more; the default is 1"]
        )


def _mismatch(actual: Array, expected: Array) -> str | None:
    """The reason why the two arrays cannot be compared, or None."""
    if actual.shape != expected.shape:
        return f"shape {actual.shape} where {expected.shape} was expected"
    if kind_of(actual.dtype) != kind_of(expected.dtype):
        return f"element type {actual.dtype} where {expected.dtype} was expected"
    return None


def _compare_elements(
    actual: Array, expected: Array, rtol: float, atol: float, name: str
) -> Comparison:
    errors, tolerances = _errors(actual, expected), atol + rtol * _magnitudes(expected)
    wrong = ~(errors <= tolerances)  # so that a NaN is wrong
    at = np.unravel_index(int(np.argmax(_ranks(errors, tolerances, wrong))), expected.shape)
    index = tuple(int(i) for i in at)
    found, wanted = _scalar(actual[index]), _scalar(expected[index])
    error = float(errors[index]) if isinstance(wanted, float) else float(abs(found - wanted))
    return Comparison(
        ok=not wrong.any(),
        name=name,
        rtol=rtol,
        atol=atol,
        total=expected.size,
        differing=int(np.count_nonzero(wrong)),
        one_sided=int(np.count_nonzero(wrong & _one_sided(actual, expected))),
        index=index,
        actual=found,
        expected=wanted,
        abs_error=error,
        rel_error=_relative(error, abs(float(wanted))),
    )


def _equal(actual: Array, expected: Array) -> Mask:
    """The mask of equal elements: NaN equals NaN, overflow equals the infinity it becomes."""
    if kind_of(actual.dtype) != "float":
        return np.asarray(actual == expected)
    with np.errstate(over="ignore", invalid="ignore"):
        held = expected.astype(actual.dtype).astype(np.float64)
    wide, reference = actual.astype(np.float64), expected.astype(np.float64)
    same = (wide == reference) | (np.isinf(wide) & (wide == held))
    return np.asarray(same | (np.isnan(wide) & np.isnan(reference)))


def _errors(actual: Array, expected: Array) -> Floats:
    """|actual - expected|; 0 if both are the same infinity or NaN, NaN where only one is NaN."""
    wide, reference = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(wide - reference)
    if kind_of(actual.dtype) != "float":
        errors = np.maximum(errors, 1.0)  # large neighbors may round to the same float64
    return np.where(_equal(actual, expected), 0.0, errors)


def _magnitudes(expected: Array) -> Floats:
    """|expected|, with 0 for non-finite elements, so that they loosen no tolerance."""
    sizes = np.abs(expected.astype(np.float64))
    return np.where(np.isfinite(sizes), sizes, 0.0)


def _one_sided(actual: Array, expected: Array) -> Mask:
    finite = np.isfinite(actual.astype(np.float64)), np.isfinite(expected.astype(np.float64))
    return np.asarray(finite[0] != finite[1])


def _ranks(errors: Floats, tolerances: Floats, wrong: Mask) -> Floats:
    """The rank of each element, error over tolerance; wrong elements rank above correct ones."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ranks = np.where(errors > 0, errors / tolerances, 0.0)
    finite = np.minimum(ranks, np.finfo(np.float64).max)
    ranks = np.where(np.isfinite(errors), finite, np.inf)
    return np.where(wrong, np.maximum(ranks, 1.0), np.minimum(ranks, 1.0) - 1.0)


def _relative(error: float, size: float) -> float:
    if error == 0:
        return 0.0
    return error / size if size and math.isfinite(error) else math.inf


def _distinguished(actual: Scalar | None, expected: Scalar | None) -> tuple[str, str]:
    """Both as text: floats with nine digits, or with all digits if nine do not distinguish them."""
    if not (isinstance(actual, float) and isinstance(expected, float)):
        return repr(actual), repr(expected)
    short = f"{actual:.9g}", f"{expected:.9g}"
    return short if short[0] != short[1] else (repr(actual), repr(expected))


def _scalar(value: Any) -> Scalar:
    kind = kind_of(np.asarray(value).dtype)
    if kind == "bool":
        return bool(value)
    return int(value) if kind == "int" else float(value)
