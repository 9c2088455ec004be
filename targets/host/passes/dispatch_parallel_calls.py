# SPDX-License-Identifier: Apache-2.0
"""dispatch-parallel-calls: runs the calls of outline-parallel-loops on the thread pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import operations_with
from xtc.ir.attributes import PARALLEL
from xtc.ir.builders.functions import define
from xtc.ir.mlir import FlatSymbolRefAttr, Operation, StringAttr, UnitAttr
from xtc.ir.passes import Pass
from xtc_targets.host.pool_library import VARIABLE

_TABLE_TYPE = "!llvm.struct<(ptr, i64)>"
_TABLE_TEXT = f"""\
llvm.mlir.global external protected @{VARIABLE}() : {_TABLE_TYPE} {{
  %serial = llvm.mlir.addressof @{VARIABLE}.serial : !llvm.ptr
  %threads = llvm.mlir.constant(1 : i64) : i64
  %none = llvm.mlir.poison : {_TABLE_TYPE}
  %first = llvm.insertvalue %serial, %none[0] : {_TABLE_TYPE}
  %all = llvm.insertvalue %threads, %first[1] : {_TABLE_TYPE}
  llvm.return %all : {_TABLE_TYPE}
}}
llvm.func internal @{VARIABLE}.serial(%loop: !llvm.ptr, %context: !llvm.ptr, %count: i64,
                                   %threads: i64) {{
  %first = llvm.mlir.constant(0 : i64) : i64
  llvm.call %loop(%context, %first, %count) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
}}
"""


@dataclass(frozen=True)
class DispatchParallelCalls(Pass):
    """Run marked calls, in the llvm dialect, through the function in a table.

    Before:
        llvm.call @f.parallel.0(%a, %zero, %count) {xtc.parallel} : (!llvm.ptr, i64, i64) -> ()
    After:
        llvm.call @f.parallel.0.start(%a, %zero, %count) : (!llvm.ptr, i64, i64) -> ()
        // start calls table.run(@f.parallel.0.chunk, address of {%a}, %count, table.threads)
        // chunk calls @f.parallel.0(%a, %first, %last) for a part of the range

    If the body returns a status, `start` returns the bitwise or of the chunks' statuses. The table
    is the global `xtc.pool`, described in `csrc/parallel.h`. The function with the body is not
    inlined, so that LLVM keeps the aliasing attributes of its arguments.
    """

    name: ClassVar[str] = "dispatch-parallel-calls"

    def run(self, module: Operation) -> None:
        calls = operations_with(module, PARALLEL)
        if not calls:
            return
        functions = _functions(module)
        dispatched: set[str] = set()
        for call in calls:
            body = FlatSymbolRefAttr(call.attributes["callee"]).value
            if body not in dispatched:  # an unrolled loop has several calls of one body
                types = [str(operand.type) for operand in call.operands][:-2]
                text = _Dispatched(body, types, has_status=len(call.results) > 0).text()
                define(module, text, skip=(body, VARIABLE))
                functions[body].attributes["no_inline"] = UnitAttr.get(module.context)
                dispatched.add(body)
            call.attributes["callee"] = FlatSymbolRefAttr.get(f"{body}.start", module.context)
            del call.attributes[PARALLEL]
        define(module, _TABLE_TEXT)


def _functions(module: Operation) -> dict[str, Operation]:
    found = (op.operation for op in module.regions[0].blocks[0].operations)
    return {_symbol(op): op for op in found if op.name == "llvm.func"}


def _symbol(op: Operation) -> str:
    return str(StringAttr(op.attributes["sym_name"]).value)


@dataclass(frozen=True)
class _Dispatched:
    """The functions between a call and a body, which store the arguments and load them again.

    The status of all chunks follows the arguments, if the body returns one.
    """

    body: str
    types: Sequence[str]
    has_status: bool

    def text(self) -> str:
        """Both functions, with the declarations that they need."""
        declarations = (
            f"llvm.func @{self.body}({self._signature}){self._result}",
            f"llvm.mlir.global external @{VARIABLE}() : {_TABLE_TYPE}",
        )
        return "\n".join([*declarations, *self._start(), *self._chunk()])

    @property
    def _names(self) -> list[str]:
        return [f"%value{position}" for position in range(len(self.types))]

    @property
    def _signature(self) -> str:
        return ", ".join([*self.types, "i64", "i64"])

    @property
    def _result(self) -> str:
        return " -> i32" if self.has_status else ""

    @property
    def _context(self) -> str:
        types = [*self.types, "i32"] if self.has_status else self.types
        return f"!llvm.struct<({', '.join(types)})>"

    @property
    def _status_address(self) -> str:
        kind = f"(!llvm.ptr) -> !llvm.ptr, {self._context}"
        return f"%place = llvm.getelementptr %context[0, {len(self.types)}] : {kind}"

    def _start(self) -> list[str]:
        context, packed = self._context, "%packed{}".format
        pairs = zip(self._names, self.types, strict=True)
        typed = "".join(f"{name}: {type}, " for name, type in pairs)
        stored = [*self._names, "%zero"] if self.has_status else self._names
        pack = [
            f"{packed(n + 1)} = llvm.insertvalue {name}, {packed(n)}[{n}] : {context}"
            for n, name in enumerate(stored)
        ]
        read = ["%status = llvm.load %place : !llvm.ptr -> i32", "llvm.return %status : i32"]
        return [
            f"llvm.func internal @{self.body}.start({typed}%first: i64, %count: i64)"
            f"{self._result} {{",
            "%zero = llvm.mlir.constant(0 : i32) : i32",
            "%one = llvm.mlir.constant(1 : i64) : i64",
            f"%context = llvm.alloca %one x {context} : (i64) -> !llvm.ptr",
            f"{packed(0)} = llvm.mlir.poison : {context}",
            *pack,
            f"llvm.store {packed(len(stored))}, %context : {context}, !llvm.ptr",
            f"%address = llvm.mlir.addressof @{VARIABLE} : !llvm.ptr",
            f"%table = llvm.load %address : !llvm.ptr -> {_TABLE_TYPE}",
            f"%run = llvm.extractvalue %table[0] : {_TABLE_TYPE}",
            f"%threads = llvm.extractvalue %table[1] : {_TABLE_TYPE}",
            f"%chunk = llvm.mlir.addressof @{self.body}.chunk : !llvm.ptr",
            "llvm.call %run(%chunk, %context, %count, %threads)"
            " : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, i64) -> ()",
            *([self._status_address, *read] if self.has_status else ["llvm.return"]),
            "}",
        ]

    def _chunk(self) -> list[str]:
        arguments_type = f"!llvm.struct<({', '.join(self.types)})>"  # the head of the context
        unpack = [
            f"{name} = llvm.extractvalue %all[{n}] : {arguments_type}"
            for n, name in enumerate(self._names)
        ]
        arguments = ", ".join([*self._names, "%first", "%last"])
        call = f"llvm.call @{self.body}({arguments}) : ({self._signature}) -> "
        add = "%before = llvm.atomicrmw _or %place, %status monotonic : !llvm.ptr, i32"
        checked = [f"%status = {call}i32", self._status_address, add]
        return [
            f"llvm.func internal @{self.body}.chunk("
            "%context: !llvm.ptr, %first: i64, %last: i64) {",
            f"%all = llvm.load %context : !llvm.ptr -> {arguments_type}",
            *unpack,
            *(checked if self.has_status else [f"{call}()"]),
            "llvm.return",
            "}",
        ]
