# SPDX-License-Identifier: Apache-2.0
"""define-micro-kernels: defines the micro-kernels on vectors, for LLVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import InsertionPoint, Module, Operation
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_targets.mppa.passes.call_micro_kernels import PREFIX

ACCUMULATORS = {"f32": "f32", "f64": "f64", "f16": "f32", "i8": "i32", "i32": "i32"}
"""The types of accumulators, by the types of operands."""

_BYTES = {"f16": 2, "f32": 4, "f64": 8, "i8": 1, "i32": 4}
_ARGUMENTS = ("k", "a", "a_row", "a_k", "b", "b_k", "c", "c_row")


@dataclass(frozen=True)
class DefineMicroKernels(Pass):
    """Replace declarations of micro-kernels by functions on vectors.

    Before:
        func.func private @uk_mma_4x16_f32(index, index, index, index, index, index, index, index)
    After:
        func.func private @uk_mma_4x16_f32(%k: index, %a: index, ..) {
          %sums:4 = scf.for %p = 0 to %k iter_args(..) { .. vector.fma .. : vector<16xf32> .. } .. }

    The accumulators of a row form one vector, which stays in registers for all of K. A row of b is
    loaded once for all rows of a.
    """

    name: ClassVar[str] = "define-micro-kernels"

    def run(self, module: Operation) -> None:
        for op in top_level(module):
            if op.name != "func.func" or not symbol_of(op).startswith(PREFIX):
                continue
            text = _Text(*micro_kernel(symbol_of(op))).function(symbol_of(op))
            with module.context, InsertionPoint(op):
                parsed = Module.parse(text)
                parsed.body.operations[0].operation.clone()
            op.erase()


def micro_kernel(name: str) -> tuple[int, int, str]:
    """Rows, columns and type of operands from a micro-kernel's name."""
    shape, _, dtype = name.removeprefix(PREFIX).partition("_")
    rows, _, columns = shape.partition("x")
    return int(rows), int(columns), dtype


class _Text:
    """Writes one micro-kernel."""

    def __init__(self, rows: int, columns: int, dtype: str) -> None:
        self._rows, self._dtype, self._accumulator = range(rows), dtype, ACCUMULATORS[dtype]
        self._operands = f"vector<{columns}x{dtype}>"
        self._accumulators = f"vector<{columns}x{self._accumulator}>"

    def function(self, name: str) -> str:
        arguments = ", ".join(f"%{argument}: index" for argument in _ARGUMENTS)
        lines = [
            f"func.func private @{name}({arguments})",
            "    attributes {llvm.linkage = #llvm.linkage<internal>} {",
            "%zero = arith.constant 0 : index",
            "%one = arith.constant 1 : index",
            *(self._number(n) for n in self._rows),
            *self._begin(),
            *self._loop(),
            *self._end(),
            "return",
            "}",
        ]
        return "\n".join(lines)

    def _number(self, row: int) -> str:
        return f"%row{row} = arith.constant {row} : index"

    def _at(self, name: str, base: str, offset: str, dtype: str) -> list[str]:
        """The address of an element, `offset` elements after `base`."""
        return [
            f"%{name}_size = arith.constant {_BYTES[dtype]} : index",
            f"%{name}_far = arith.muli {offset}, %{name}_size : index",
            f"%{name}_sum = arith.addi %{base}, %{name}_far : index",
            f"%{name}_number = arith.index_cast %{name}_sum : index to i64",
            f"%{name} = llvm.inttoptr %{name}_number : i64 to !llvm.ptr",
        ]

    def _load(self, name: str, address: str, type: str, dtype: str) -> str:
        aligned = f"{{alignment = {_BYTES[dtype]} : i64}}"
        return f"%{name} = llvm.load %{address} {aligned} : !llvm.ptr -> {type}"

    def _begin(self) -> list[str]:
        lines = []
        for n in self._rows:
            lines += [
                f"%c_ahead{n} = arith.muli %row{n}, %c_row : index",
                *self._at(f"c_at{n}", "c", f"%c_ahead{n}", self._accumulator),
                self._load(f"first{n}", f"c_at{n}", self._accumulators, self._accumulator),
            ]
        return lines

    def _loop(self) -> list[str]:
        inits = ", ".join(f"%sum{n} = %first{n}" for n in self._rows)
        types = ", ".join(self._accumulators for _ in self._rows)
        lines = [
            f"%last:{len(self._rows)} = scf.for %p = %zero to %k step %one "
            f"iter_args({inits}) -> ({types}) {{",
            "%b_ahead = arith.muli %p, %b_k : index",
            *self._at("b_at", "b", "%b_ahead", self._dtype),
            *self._widened("b_row", "b_at", self._operands, self._accumulators),
            "%a_ahead = arith.muli %p, %a_k : index",
        ]
        for n in self._rows:
            lines += self._product(n)
        totals = ", ".join(f"%total{n}" for n in self._rows)
        return [*lines, f"scf.yield {totals} : {types}", "}"]

    def _product(self, n: int) -> list[str]:
        lines = [
            f"%a_down{n} = arith.muli %row{n}, %a_row : index",
            f"%a_place{n} = arith.addi %a_down{n}, %a_ahead : index",
            *self._at(f"a_at{n}", "a", f"%a_place{n}", self._dtype),
            *self._widened(f"a{n}", f"a_at{n}", self._dtype, self._accumulator),
            f"%a_all{n} = vector.broadcast %a{n} : {self._accumulator} to {self._accumulators}",
        ]
        if self._accumulator.startswith("f"):
            lines.append(
                f"%total{n} = vector.fma %a_all{n}, %b_row, %sum{n} : {self._accumulators}"
            )
        else:
            lines.append(f"%product{n} = arith.muli %a_all{n}, %b_row : {self._accumulators}")
            lines.append(f"%total{n} = arith.addi %product{n}, %sum{n} : {self._accumulators}")
        return lines

    def _widened(self, name: str, address: str, type: str, wide: str) -> list[str]:
        """Load operands, widened to the type of the accumulators."""
        if type == wide:
            return [self._load(name, address, type, self._dtype)]
        kind = "extf" if self._accumulator.startswith("f") else "extsi"
        return [
            self._load(f"{name}_narrow", address, type, self._dtype),
            f"%{name} = arith.{kind} %{name}_narrow : {type} to {wide}",
        ]

    def _end(self) -> list[str]:
        aligned = f"{{alignment = {_BYTES[self._accumulator]} : i64}}"
        return [
            f"llvm.store %last#{n}, %c_at{n} {aligned} : {self._accumulators}, !llvm.ptr"
            for n in self._rows
        ]
