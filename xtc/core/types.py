# SPDX-License-Identifier: Apache-2.0
"""Element types and tensor types: the elements and the shape of an array."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import ml_dtypes
import numpy as np

from xtc.core.errors import UserError, did_you_mean, shown

Dim = int | str
MAX_RANK = 8
MAX_BYTES = 1 << 40


@dataclass(frozen=True)
class ElementType:
    """One element type.

    `mlir` is the type of an element in memory. A bool is stored as a byte of 0 or 1, as in NumPy,
    hence "i8". MLIR's integers are signless; `signed` determines how their bits are interpreted.
    `accumulator` names the type in which elements are accumulated.
    """

    name: str
    mlir: str
    bits: int
    kind: Literal["float", "int", "bool"]
    accumulator_name: str
    signed: bool = True

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy type of the same layout."""
        dtype: np.dtype[np.generic] = np.dtype(
            ml_dtypes.bfloat16 if self.name == "bfloat16" else self.name
        )
        return dtype

    @property
    def nbytes(self) -> int:
        """The size of an element in memory, in bytes."""
        return self.bits // 8

    @property
    def accumulator(self) -> ElementType:
        """The type of sums and products, which are rounded once to the result type."""
        return ELEMENT_TYPES[self.accumulator_name]

    @property
    def is_float(self) -> bool:
        """True for the floating-point types."""
        return self.kind == "float"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest integer; 0 and 1 for bool, undefined for floats."""
        if self.kind == "bool":
            return 0, 1
        if not self.signed:
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    def __str__(self) -> str:
        return self.name


ELEMENT_TYPES: dict[str, ElementType] = {
    t.name: t
    for t in (
        ElementType("float16", "f16", 16, "float", "float32"),
        ElementType("bfloat16", "bf16", 16, "float", "float32"),
        ElementType("float32", "f32", 32, "float", "float32"),
        ElementType("float64", "f64", 64, "float", "float64"),
        ElementType("int8", "i8", 8, "int", "int32"),
        ElementType("int16", "i16", 16, "int", "int32"),
        ElementType("int32", "i32", 32, "int", "int32"),
        ElementType("int64", "i64", 64, "int", "int64"),
        ElementType("uint8", "i8", 8, "int", "int32", signed=False),
        ElementType("uint16", "i16", 16, "int", "int32", signed=False),
        ElementType("uint32", "i32", 32, "int", "uint32", signed=False),
        ElementType("uint64", "i64", 64, "int", "uint64", signed=False),
        ElementType("bool", "i8", 8, "bool", "bool", signed=False),
    )
}

_DOT_GROUPS = {"bf16": (2,), "i16": (2,), "i8": (4, 2)}


def dot_groups(mlir: str, extent: int) -> tuple[int, ...]:
    """The group sizes along K that dot-product instructions of some processor reduce.

    `mlir` is MLIR's name of the operands' element type. A group is smaller than the K extent.
    """
    return tuple(count for count in _DOT_GROUPS.get(mlir, ()) if count < extent)


def element_type(name: object) -> ElementType:
    """The element type called `name`: its name, or a NumPy type. Raises UserError if unknown."""
    text = name if isinstance(name, str) else _numpy_name(name)
    if text not in ELEMENT_TYPES:
        raise UserError(
            f"unknown element type {shown(name)}", hints=did_you_mean(str(text), ELEMENT_TYPES)
        )
    return ELEMENT_TYPES[text]


def _numpy_name(dtype: object) -> str:
    try:
        return np.dtype(dtype).name  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError):
        return shown(dtype)


@dataclass(frozen=True)
class TensorType:
    """A shape and an element type. Only the first dimension may be symbolic: a name."""

    shape: tuple[Dim, ...]
    element: ElementType

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """True if no dimension is symbolic."""
        return all(isinstance(dim, int) for dim in self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape as integers. Raises UserError while a dimension is symbolic."""
        if not self.is_static:
            raise UserError(
                f"the shape of {self} has a symbolic dimension",
                hints=["give its size: dims={'" + str(self.shape[0]) + "': 32}"],
            )
        return tuple(int(dim) for dim in self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of the dense, row-major array."""
        return self.size * self.element.nbytes

    def bind(self, dims: Mapping[str, int]) -> TensorType:
        """The same type with symbolic dimensions replaced by their sizes where given."""
        return replace(
            self, shape=tuple(dims.get(d, d) if isinstance(d, str) else d for d in self.shape)
        )

    def with_shape(self, shape: tuple[Dim, ...]) -> TensorType:
        """The same element type in another shape."""
        return replace(self, shape=shape)

    def with_element(self, element: ElementType) -> TensorType:
        """The same shape with another element type."""
        return replace(self, element=element)

    def mlir(self, kind: Literal["tensor", "memref"] = "tensor") -> str:
        """MLIR's spelling, `tensor<4x16xf32>`."""
        dims = "".join(f"{size}x" for size in self.sizes)
        return f"{kind}<{dims}{self.element.mlir}>"

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.element.name])


def tensor_type(shape: object, dtype: object) -> TensorType:
    """A validated tensor type. Raises UserError on a bad extent, rank, name or total size."""
    if isinstance(shape, int | str):
        shape = (shape,)
    try:
        dims: tuple[object, ...] = tuple(shape)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"a shape is a sequence of sizes, not {shape!r}") from None
    if len(dims) > MAX_RANK:
        raise UserError(f"shape {dims} has rank {len(dims)}; at most {MAX_RANK} is supported")
    result = TensorType(
        tuple(_dim(dim, position, dims) for position, dim in enumerate(dims)), element_type(dtype)
    )
    known = math.prod(dim for dim in result.shape if isinstance(dim, int))
    if known * result.element.nbytes > MAX_BYTES:
        raise UserError(f"a tensor of type {result} is larger than 1 TiB")
    return result


def _dim(dim: object, position: int, dims: tuple[object, ...]) -> Dim:
    if isinstance(dim, str):
        if position != 0:
            raise UserError(
                f"dimension {position} of shape {dims} is the name {dim!r}",
                notes=["only the first dimension may be symbolic"],
            )
        if not dim.isidentifier():
            raise UserError(f"the symbolic dimension {dim!r} is not a name")
        return dim
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
        raise UserError(f"dimension {position} of shape {dims} is not an integer: {dim!r}")
    if dim < 1:
        raise UserError(
            f"dimension {position} of shape {dims} is {dim}", notes=["every size is 1 or more"]
        )
    return int(dim)
