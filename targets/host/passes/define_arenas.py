# SPDX-License-Identifier: Apache-2.0
"""define-arenas: defines the functions that acquire and release arenas, in the llvm dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import ARENA
from xtc.ir.builders.functions import define
from xtc.ir.mlir import DenseI64ArrayAttr, Operation
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass
from xtc_targets.host.build import RELEASE
from xtc_targets.host.passes.keep_arenas import GIVE, TAKE

_KEPT = 8  # most arenas that are kept between calls; others are freed
_LINE = 64
_HUGE = 2 << 20  # bytes of a huge page on x86-64, and on AArch64 with 4 KiB pages
_MADV_HUGEPAGE = 14  # <asm-generic/mman-common.h> of Linux


@dataclass(frozen=True)
class DefineArenas(Pass):
    """Define the functions that keep-arenas declares.

    Before:
        llvm.func @net.arena.take() -> !llvm.ptr
        llvm.func @net.arena.give(!llvm.ptr)
    After:
        llvm.mlir.global internal @net.arena.kept() : !llvm.array<8 x ptr> llvm.func internal
        @net.arena.take() -> !llvm.ptr   // a kept one, or a new one, or null llvm.func internal
        @net.arena.give(%arena: !llvm.ptr)  // keep it if a slot is free llvm.func
        @xtc.arenas.release()                     // free the kept ones

    Slots are exchanged atomically, so that concurrent calls have separate arenas. With
    `huge_pages`, huge pages are requested from Linux for arenas of at least one huge page.
    """

    name: ClassVar[str] = "define-arenas"
    huge_pages: bool = False

    def run(self, module: Operation) -> None:
        functions = {
            symbol_of(op.operation): op.operation
            for op in module.regions[0].blocks[0].operations
            if op.operation.name == "llvm.func"
        }
        owners = [name.removesuffix(TAKE) for name in functions if name.endswith(TAKE)]
        if not owners:
            return
        texts, totals = [_RUNTIME], [0, 0]
        for owner in owners:
            take, give = functions[f"{owner}{TAKE}"], functions[f"{owner}{GIVE}"]
            size, least = DenseI64ArrayAttr(take.attributes[ARENA])
            totals = [totals[0] + size, totals[1] + least]
            texts.append(self._functions(owner, size))
            take.erase()
            give.erase()
        present = [name for name in ("free", "madvise") if name in functions]
        define(module, "\n".join([*texts, _release(owners, totals)]), skip=present)

    def _functions(self, owner: str, size: int) -> str:
        is_huge = self.huge_pages and size >= _HUGE
        unit = _HUGE if is_huge else _LINE
        numbers = {"bytes": -(-size // unit) * unit, "align": unit, "slots": _KEPT}
        advise = _ADVISE.format(advice=_MADV_HUGEPAGE) if is_huge else ""
        return _FUNCTIONS.format(owner=owner, advise=advise, **numbers)


_RUNTIME = """\
llvm.func @free(!llvm.ptr)
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @madvise(!llvm.ptr, i64, i32) -> i32
"""

_ADVISE = """\
  %advice = llvm.mlir.constant({advice} : i32) : i32
  %ignored = llvm.call @madvise(%new, %bytes, %advice) : (!llvm.ptr, i64, i32) -> i32
"""

_FUNCTIONS = """\
llvm.mlir.global internal @{owner}.arena.kept() : !llvm.array<{slots} x ptr> {{
  %none = llvm.mlir.zero : !llvm.array<{slots} x ptr>
  llvm.return %none : !llvm.array<{slots} x ptr>
}}
llvm.func internal @{owner}.arena.take() -> !llvm.ptr {{
  %first = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %slots = llvm.mlir.constant({slots} : i64) : i64
  %bytes = llvm.mlir.constant({bytes} : i64) : i64
  %align = llvm.mlir.constant({align} : i64) : i64
  %nothing = llvm.mlir.zero : !llvm.ptr
  %kept = llvm.mlir.addressof @{owner}.arena.kept : !llvm.ptr
  llvm.br ^look(%first : i64)
^look(%number: i64):
  %is_slot = llvm.icmp "ult" %number, %slots : i64
  llvm.cond_br %is_slot, ^try, ^make
^try:
  %slot = llvm.getelementptr %kept[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %found = llvm.atomicrmw xchg %slot, %nothing acq_rel : !llvm.ptr, !llvm.ptr
  %is_empty = llvm.icmp "eq" %found, %nothing : !llvm.ptr
  %next = llvm.add %number, %one : i64
  llvm.cond_br %is_empty, ^look(%next : i64), ^return(%found : !llvm.ptr)
^make:
  %new = llvm.call @aligned_alloc(%align, %bytes) : (i64, i64) -> !llvm.ptr
{advise}  llvm.br ^return(%new : !llvm.ptr)
^return(%arena: !llvm.ptr):
  llvm.return %arena : !llvm.ptr
}}
llvm.func internal @{owner}.arena.give(%arena: !llvm.ptr) {{
  %first = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %slots = llvm.mlir.constant({slots} : i64) : i64
  %nothing = llvm.mlir.zero : !llvm.ptr
  %kept = llvm.mlir.addressof @{owner}.arena.kept : !llvm.ptr
  llvm.br ^look(%first : i64)
^look(%number: i64):
  %is_slot = llvm.icmp "ult" %number, %slots : i64
  llvm.cond_br %is_slot, ^try, ^free
^try:
  %slot = llvm.getelementptr %kept[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %exchanged = llvm.cmpxchg %slot, %nothing, %arena acq_rel monotonic : !llvm.ptr, !llvm.ptr
  %was_empty = llvm.extractvalue %exchanged[1] : !llvm.struct<(ptr, i1)>
  %next = llvm.add %number, %one : i64
  llvm.cond_br %was_empty, ^return, ^look(%next : i64)
^free:
  llvm.call @free(%arena) : (!llvm.ptr) -> ()
  llvm.br ^return
^return:
  llvm.return
}}
"""


def arena_bytes(lowered: Operation) -> tuple[int, int] | None:
    """Bytes of a module's arenas, and the lower bound of any plan; None without arenas."""
    for op in (op.operation for op in lowered.regions[0].blocks[0].operations):
        if op.name == "llvm.func" and symbol_of(op) == RELEASE:
            size, least = DenseI64ArrayAttr(op.attributes[ARENA])
            return size, least
    return None


def _release(owners: Sequence[str], totals: Sequence[int]) -> str:
    """The function that frees all arenas; no call may be in flight."""
    sizes = f"attributes {{{ARENA} = array<i64: {totals[0]}, {totals[1]}>}}"
    lines = [f"llvm.func @{RELEASE}() {sizes} {{", "%none = llvm.mlir.zero : !llvm.ptr"]
    for n, owner in enumerate(owners):
        lines.append(f"%kept{n} = llvm.mlir.addressof @{owner}.arena.kept : !llvm.ptr")
        for slot in range(_KEPT):
            name = f"{n}_{slot}"
            lines += [
                f"%slot{name} = llvm.getelementptr %kept{n}[{slot}]"
                " : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr",
                f"%arena{name} = llvm.atomicrmw xchg %slot{name}, %none acq_rel"
                " : !llvm.ptr, !llvm.ptr",
                f"llvm.call @free(%arena{name}) : (!llvm.ptr) -> ()",
            ]
    return "\n".join([*lines, "llvm.return", "}"])
