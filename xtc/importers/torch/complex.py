# SPDX-License-Identifier: Apache-2.0
"""Complex tensors during import: pairs of real tensors, since graphs lack complex types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant
from xtc.importers.torch.table import Write
from xtc.importers.values import Unsupported

COMPONENTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
"""Complex element types and the types of their parts."""

COMPLEX: dict[str, Callable[..., Any]] = {}
"""Operators with complex operands or results -> function that writes them."""

_BY_PARTS = frozenset(
    """
    _unsafe_view alias cat clone constant_pad_nd detach expand flip index.Tensor index_select
    lift_fresh_copy mean.dim neg permute repeat reshape roll select.int select_scatter
    slice.Tensor slice_scatter split_with_sizes squeeze.dim squeeze.dims stack sum.dim_IntList t
    transpose.int unbind.int unfold unsqueeze view
    """.split()
)
"""Operators that apply to the real and imaginary parts separately."""


@dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers.

    Attributes:
        re: real parts.
        im: imaginary parts, of the same shape.
    """

    re: Tensor
    im: Tensor


def writes_complex(*names: str) -> Callable[[Write], Write]:
    """Register the function for operators such as "mul.Tensor", on complex numbers."""

    def register(write: Write) -> Write:
        for name in names:
            COMPLEX[f"aten.{name}"] = write
        return write

    return register


def is_complex(value: Any) -> bool:
    """Whether an operand, or an element of a list, is a complex tensor or number."""
    if isinstance(value, list | tuple):
        return any(map(is_complex, value))
    return isinstance(value, Complex | complex)


def written(
    name: str, write: Callable[..., Any] | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """The result of an operator. `write` is its function for real numbers.

    Raises Unsupported for operators that are not supported for complex numbers.
    """
    if name in COMPLEX:
        return COMPLEX[name](*args, **kwargs)
    if write is None or name.removeprefix("aten.") not in _BY_PARTS:
        raise Unsupported("the operator is not supported for complex numbers")
    parts = [
        write(*[_part(x, which) for x in args], **{k: _part(x, which) for k, x in kwargs.items()})
        for which in ("re", "im")
    ]
    if isinstance(parts[0], Tensor):
        return Complex(*parts)
    return [Complex(re, im) for re, im in zip(*parts, strict=True)]


def as_complex(value: Any, like: Tensor) -> Complex:
    """A tensor or number as complex numbers with the element type of a tensor."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, Tensor):
        re = value if value.dtype == like.dtype else O.cast(value, like.dtype)
        return Complex(re, _zeros(re))
    number = complex(value)
    kind = like.element.numpy
    return Complex(constant(np.asarray(number.real, kind)), constant(np.asarray(number.imag, kind)))


def _part(value: Any, which: str) -> Any:
    if isinstance(value, Complex):
        return getattr(value, which)
    if isinstance(value, list | tuple):
        return type(value)(_part(item, which) for item in value)
    if which == "im" and isinstance(value, Tensor) and value.element.is_float:
        return _zeros(value)
    return 0.0 if which == "im" and isinstance(value, float) else value


def _zeros(like: Tensor) -> Tensor:
    return constant(np.zeros(like.type.sizes, like.element.numpy))
