# SPDX-License-Identifier: Apache-2.0
"""place-local-buffers: every local buffer gets an offset in local memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.attributes import LOCAL_BYTES, UNITS
from xtc.ir.builders import numbers
from xtc.ir.builders.functions import call
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    Type,
    Value,
    all_operations,
    memref,
)
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import called_functions, declare, function_of, functions
from xtc_passes.local._lifetimes import Buffer, buffers_of, offsets
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._view_layouts import nbytes


@dataclass(frozen=True)
class PlaceLocalBuffers(Pass):
    """Replace allocations by views of local memory; buffers with disjoint lifetimes may overlap.

    Before:
        %a = memref.alloc() : memref<16x64xf32>
    After, with `symbol=local_memory`:
        %memory = call @local_memory() : () -> memref<65536xi8>
        %a = memref.view %memory[%c4096][] : memref<65536xi8> to memref<16x64xf32>

    A buffer that a function of several units allocates is private: each unit has a copy, and the
    first argument of the function is the number of the unit. The largest buffer is placed first,
    each at the lowest offset that is free during its lifetime. The attribute `xtc.local_bytes` of a
    kernel is the total. Raises UserError if the buffers do not fit.

    Attributes:
        local_bytes: bytes of local memory that buffers may take.
        alignment: alignment of each buffer, in bytes.
        symbol: the function that returns local memory; empty if it is on the kernel's stack.
        space: the memory space of local buffers; None if kernels allocate buffers only there.
        announce: the function that a kernel calls first, with the offset and the bytes of each
            buffer, once per unit for private buffers; empty for none.
    """

    name: ClassVar[str] = "place-local-buffers"
    local_bytes: int = 64 << 10
    alignment: int = 64
    symbol: str = ""
    space: int | None = None
    announce: str = ""

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        memory = LocalMemory(self.space)
        with module.context, module.location:
            if self.symbol:
                declare(module, self.symbol, [], [self._type])
            for kernel in _kernels(module):
                buffers = buffers_of(module, kernel, memory, self.alignment)
                placed = offsets(buffers)
                used = max((at + buffer.nbytes for buffer, at in placed.items()), default=0)
                if used > self.local_bytes:
                    raise self._too_much(kernel, buffers, used)
                i64 = IntegerType.get_signless(64)
                kernel.attributes[LOCAL_BYTES] = IntegerAttr.get(i64, used)
                if self.announce:
                    self._announce(module, kernel, placed)
                self._replace(placed)

    @property
    def _type(self) -> Type:
        i64 = IntegerType.get_signless(64)
        space = None if self.space is None else IntegerAttr.get(i64, self.space)
        return MemRefType.get([self.local_bytes], IntegerType.get_signless(8), None, space)

    def _too_much(self, kernel: Operation, buffers: Sequence[Buffer], used: int) -> UserError:
        largest = sorted(buffers, key=lambda buffer: -buffer.nbytes)
        return UserError(
            f"kernel '{symbol_of(kernel)}' needs {used} bytes of local memory, "
            f"which has {self.local_bytes} for buffers",
            where=str(kernel.location) if kernel.location.is_a_file() else None,
            notes=[_described(buffer) for buffer in largest],
            hints=["choose smaller tiles", "double buffering takes two or three times a tile"],
        )

    def _announce(self, module: Operation, kernel: Operation, placed: Mapping[Buffer, int]) -> None:
        i64 = IntegerType.get_signless(64)
        declare(module, self.announce, [i64, i64])
        with InsertionPoint.at_block_begin(kernel.regions[0].blocks[0]):
            for buffer, offset in placed.items():
                exact = nbytes(MemRefType(buffer.alloc.results[0].type))
                for copy in range(buffer.copies):
                    begin = offset + copy * buffer.size
                    call(self.announce, [numbers.constant(n, i64) for n in (begin, exact)])

    def _replace(self, placed: Mapping[Buffer, int]) -> None:
        memories: dict[Operation, Value] = {}
        for buffer, offset in placed.items():
            alloc = buffer.alloc
            function = function_of(alloc)
            if function not in memories:
                begin = InsertionPoint.at_block_begin(function.regions[0].blocks[0])
                with alloc.location, begin:
                    memories[function] = self._memory()
            with alloc.location, InsertionPoint(alloc):
                view = _view(buffer, offset, function, memories[function])
                alloc.results[0].replace_all_uses_with(view)
            alloc.erase()

    def _memory(self) -> Value:
        """Local memory, at the current insertion point."""
        if self.symbol:
            return call(self.symbol, [], [self._type]).results[0]
        return memref.alloca(self._type, [], [], alignment=self.alignment)


def _kernels(module: Operation) -> list[Operation]:
    """The functions that are not run by the units of another."""
    calls = [op for op in all_operations(module) if UNITS in op.attributes]
    by_units = called_functions(module, calls)
    return [function for function in functions(module) if function not in by_units]


def _described(buffer: Buffer) -> str:
    each = f", one for each of {buffer.copies} units" if buffer.copies > 1 else ""
    return f"{buffer.nbytes} bytes: {buffer.alloc.results[0].type}{each}"


def _view(buffer: Buffer, offset: int, function: Operation, memory: Value) -> Value:
    """The buffer at its offset; for a private buffer, the copy of the unit that runs."""
    start = numbers.constant(offset)
    if buffer.copies > 1:
        unit = function.regions[0].blocks[0].arguments[0]
        start = numbers.as_value(numbers.add(numbers.multiply(unit, buffer.size), offset))
    type = buffer.alloc.results[0].type
    return memref.view(type, memory, start, [])
