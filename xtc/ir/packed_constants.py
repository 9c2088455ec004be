# SPDX-License-Identifier: Apache-2.0
"""Constants in the form that generated code reads: reordered or transformed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from xtc.ir.attributes import PACKED, TRANSFORMED

if TYPE_CHECKING:
    from xtc.ir.mlir import MemRefType, NamedAttribute, Operation

_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}  # NumPy copies them faster than untyped bytes


Content = bytes | memoryview


def bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    """The elements' bytes in row-major order, copied only if their order in memory differs."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def packed_constants(module: Operation, constants: Mapping[str, Content]) -> Mapping[str, Content]:
    """The contents of the module's globals by symbol.

    Reordered and transformed constants are computed at each lookup, so that they are never all in
    memory at once.
    """
    transformed = _transformed(module, constants)
    views = _views(module, constants, transformed)
    if not views and not transformed:
        return dict(constants)
    kept = _globals(module)
    origins = packed_origins(module) | {each.origin for each in transformed.values()}
    made = {name: each for name, each in {**transformed, **views}.items() if name in kept}
    left = {name: data for name, data in constants.items() if name in kept or name not in origins}
    return _Packed(left, made)


def all_contents(module: Operation, constants: Mapping[str, Content]) -> Mapping[str, Content]:
    """The same, with the constants that only devices still read."""
    transformed = _transformed(module, constants)
    return _Packed(constants, {**transformed, **_views(module, constants, transformed)})


def sizes_of(contents: Mapping[str, Content]) -> dict[str, int]:
    """The size of each constant in bytes, without computing any contents."""
    made = contents.made if isinstance(contents, _Packed) else {}
    return {
        symbol: made[symbol].size if symbol in made else len(contents[symbol])
        for symbol in contents
    }


def _views(
    module: Operation, constants: Mapping[str, Content], transformed: Mapping[str, _Transformed]
) -> dict[str, _Computed]:
    """The reordered constants, by symbol."""
    from xtc.ir.mlir import FlatSymbolRefAttr, MemRefType, TypeAttr

    views: dict[str, _Computed] = {}
    for entry in _entries(module, PACKED):
        origin = FlatSymbolRefAttr(entry.attr[0]).value
        view = MemRefType(TypeAttr(entry.attr[1]).value)
        views[entry.name] = _View.of(transformed.get(origin) or _Plain(constants[origin]), view)
    return views


def _transformed(module: Operation, constants: Mapping[str, Content]) -> dict[str, _Transformed]:
    """The transformed constants, by symbol."""
    from xtc.ir.mlir import DenseFPElementsAttr, DenseI64ArrayAttr, FlatSymbolRefAttr

    found = {}
    for entry in _entries(module, TRANSFORMED):
        origin = FlatSymbolRefAttr(entry.attr[0]).value
        rows = np.array(DenseFPElementsAttr(entry.attr[1]))
        number, count = DenseI64ArrayAttr(entry.attr[2])
        part = memoryview(constants[origin])
        size = len(part) // count
        part = part[number * size : (number + 1) * size]
        found[entry.name] = _Transformed(origin, part, rows)
    return found


def _entries(module: Operation, attribute: str) -> Iterable[NamedAttribute]:
    """The entries of a dictionary on the module."""
    attributes = module.attributes
    return list(attributes[attribute]) if attribute in attributes else []


def packed_origins(module: Operation) -> set[str]:
    """The symbols of the constants that the module's packed constants copy."""
    from xtc.ir.mlir import FlatSymbolRefAttr

    return {FlatSymbolRefAttr(entry.attr[0]).value for entry in _entries(module, PACKED)}


class _Computed(Protocol):
    """A constant computed from another."""

    @property
    def size(self) -> int:
        """The size of the elements in bytes."""

    def contents(self) -> Content:
        """The elements, contiguous."""


@dataclass(frozen=True)
class _Plain:
    """An unchanged constant."""

    data: Content

    @property
    def size(self) -> int:
        return len(self.data)

    def contents(self) -> Content:
        return self.data


@dataclass(frozen=True)
class _View:
    """The elements of a strided view of a constant; sizes and strides are in elements."""

    source: _Computed
    element: int
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def of(source: _Computed, view: MemRefType) -> _View:
        strides, start = view.get_strides_and_offset()
        width = -(-view.element_type.width // 8)
        return _View(source, width, start, tuple(view.shape), (*strides,))

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.element

    def contents(self) -> Content:
        whole = _WORDS.get(self.element, f"V{self.element}")
        elements = np.frombuffer(self.source.contents(), np.dtype(whole))[self.start :]
        strides = [stride * self.element for stride in self.strides]
        return bytes_of(np.lib.stride_tricks.as_strided(elements, self.shape, strides))


@dataclass(frozen=True)
class _Transformed:
    """A float32 constant whose first two dimensions are multiplied by a matrix and collapsed."""

    origin: str
    data: Content
    rows: np.ndarray[Any, Any]

    @property
    def size(self) -> int:
        made, given = (int(count) for count in self.rows.shape)
        return len(self.data) // (given * given) * (made * made)

    def contents(self) -> Content:
        size = self.rows.shape[1]
        given = np.frombuffer(self.data, np.float32).reshape(size, size, -1)
        made = np.einsum("ip,jq,pqx->ijx", self.rows, self.rows, given, optimize=True)
        return bytes_of(made.astype(np.float32))


@dataclass(frozen=True)
class _Packed(Mapping[str, Content]):
    """Unchanged constants and computed ones."""

    whole: Mapping[str, Content]
    made: Mapping[str, _Computed]

    def __getitem__(self, symbol: str) -> Content:
        made = self.made.get(symbol)
        return self.whole[symbol] if made is None else made.contents()

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self.whole, self.made)

    def __len__(self) -> int:
        return len(self.whole) + len(self.made)


def _globals(module: Operation) -> set[str]:
    operations = (op.operation for op in module.regions[0].blocks[0].operations)
    return {
        str(op.attributes["sym_name"].value)
        for op in operations
        if op.name in ("memref.global", "llvm.mlir.global")
    }
