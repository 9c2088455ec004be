# SPDX-License-Identifier: Apache-2.0
"""A large module in the llvm dialect is split into several."""

from __future__ import annotations

import pytest

from xtc.codegen.llvm import Machine, compile_ir
from xtc.ir import llvm_units as units
from xtc.ir.llvm_ir import translate_to_llvm_ir
from xtc.ir.mlir import Context, Module

_MODULE = """
llvm.mlir.global external protected @table(0 : i64) : i64
llvm.mlir.global internal constant @half(5 : i64) : i64
llvm.mlir.global external constant @weights() : !llvm.array<4 x i8>
llvm.func internal @helper(%x: i64) -> i64 { llvm.return %x : i64 }
llvm.func internal @both(%x: i64) -> i64 { llvm.return %x : i64 }
llvm.func internal @first(%x: i64) -> i64 attributes {no_inline} {
  %a = llvm.mlir.addressof @half : !llvm.ptr
  %h = llvm.load %a : !llvm.ptr -> i64
  %y = llvm.call @helper(%h) : (i64) -> i64
  %z = llvm.call @both(%y) : (i64) -> i64
  llvm.return %z : i64 }
llvm.func internal @second(%x: i64) -> i64 attributes {no_inline} {
  %a = llvm.mlir.addressof @half : !llvm.ptr
  %h = llvm.load %a : !llvm.ptr -> i64
  %t = llvm.mlir.addressof @table : !llvm.ptr
  %y = llvm.load %t : !llvm.ptr -> i64
  %z = llvm.call @both(%y) : (i64) -> i64
  llvm.return %z : i64 }
llvm.func @entry(%x: i64) -> i64 {
  %w = llvm.mlir.addressof @weights : !llvm.ptr
  %y = llvm.call @first(%x) : (i64) -> i64
  %z = llvm.call @second(%y) : (i64) -> i64
  llvm.return %z : i64 }
"""


def _texts(size: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(units, "UNIT_OPERATIONS", size)
    with Context():
        module = Module.parse(_MODULE).operation
        found = units.llvm_units(module, "entry")
        for unit in found:
            unit.verify()
        return [translate_to_llvm_ir(unit) for unit in found]


def _defined(text: str) -> set[str]:
    lines = text.splitlines()
    functions = {line.split("@")[1].split("(")[0] for line in lines if line.startswith("define")}
    return functions | {
        line.split(" ")[0][1:]
        for line in lines
        if line.startswith("@") and "external" not in line.split("=")[1].split(" ")[1:2]
    }


def test_small_modules_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(_texts(100, monkeypatch)) == 1


def test_each_symbol_is_defined_once_and_private_constants_with_their_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = _texts(1, monkeypatch)
    assert [_defined(text) for text in texts] == [
        {"both", "entry"},
        {"half", "second", "table"},
        {"half", "helper", "first"},
    ]


def test_only_referenced_symbols_are_visible_to_other_units(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry, _, first = _texts(1, monkeypatch)
    assert "define hidden i64 @first" in first
    assert "define internal i64 @helper" in first
    assert "declare i64 @first" in entry
    assert "define hidden i64 @both" in entry


def test_units_are_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine.host()
    codes = [[compile_ir(t, machine) for t in _texts(1, monkeypatch)] for _ in range(2)]
    assert codes[0] == codes[1]
