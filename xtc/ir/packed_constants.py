# SPDX-License-Identifier: Apache-2.0
"""Constants that are kept in the order in which code reads them, as pack-constants wants it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.ir.attributes import PACKED

if TYPE_CHECKING:
    from xtc.ir.mlir import MemRefType, Operation

_WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}  # NumPy moves them faster than bytes of no type


Content = bytes | memoryview


def bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    """The elements' bytes in row-major order, copied only where they lie in another one."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def packed_constants(module: Operation, constants: Mapping[str, Content]) -> Mapping[str, Content]:
    """The contents of `constants` by symbol, as the module's globals have them.

    Those in another order are put into it each time that they are looked up, so that all together
    never take memory a second time.
    """
    from xtc.ir.mlir import FlatSymbolRefAttr, MemRefType, TypeAttr

    if PACKED not in module.attributes:
        return dict(constants)
    kept = _globals(module)
    views: dict[str, _View] = {}
    origins = set()
    for entry in module.attributes[PACKED]:
        symbol, view = entry.attr
        origin = FlatSymbolRefAttr(symbol).value
        origins.add(origin)
        if entry.name in kept:
            views[entry.name] = _View.of(constants[origin], MemRefType(TypeAttr(view).value))
    left = {name: data for name, data in constants.items() if name in kept or name not in origins}
    return _Packed(left, views)


def all_contents(module: Operation, constants: Mapping[str, Content]) -> Mapping[str, Content]:
    """The same, with those that code reads no more: they are on devices."""
    from xtc.ir.mlir import FlatSymbolRefAttr, MemRefType, TypeAttr

    views = {
        entry.name: _View.of(
            constants[FlatSymbolRefAttr(entry.attr[0]).value],
            MemRefType(TypeAttr(entry.attr[1]).value),
        )
        for entry in module.attributes.get(PACKED, ())
    }
    return _Packed(constants, views)


def packed_origins(module: Operation) -> set[str]:
    """The symbols of the constants that packed ones of the module are copies of."""
    from xtc.ir.mlir import FlatSymbolRefAttr

    if PACKED not in module.attributes:
        return set()
    return {FlatSymbolRefAttr(entry.attr[0]).value for entry in module.attributes[PACKED]}


@dataclass(frozen=True)
class _View:
    """The elements of a strided view of a constant, sizes and strides in elements."""

    data: Content
    element: int
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def of(data: Content, view: MemRefType) -> _View:
        strides, start = view.get_strides_and_offset()
        return _View(data, -(-view.element_type.width // 8), start, tuple(view.shape), (*strides,))

    def copied(self) -> memoryview:
        """The elements, one after the other."""
        whole = _WORDS.get(self.element, f"V{self.element}")
        elements = np.frombuffer(self.data, np.dtype(whole))[self.start :]
        strides = [stride * self.element for stride in self.strides]
        return bytes_of(np.lib.stride_tricks.as_strided(elements, self.shape, strides))


@dataclass(frozen=True)
class _Packed(Mapping[str, Content]):
    """Constants as they are, and views of constants."""

    whole: Mapping[str, Content]
    views: Mapping[str, _View]

    def __getitem__(self, symbol: str) -> Content:
        view = self.views.get(symbol)
        return self.whole[symbol] if view is None else view.copied()

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self.whole, self.views)

    def __len__(self) -> int:
        return len(self.whole) + len(self.views)


def _globals(module: Operation) -> set[str]:
    operations = (op.operation for op in module.regions[0].blocks[0].operations)
    return {
        str(op.attributes["sym_name"].value)
        for op in operations
        if op.name in ("memref.global", "llvm.mlir.global")
    }
