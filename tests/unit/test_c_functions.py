# SPDX-License-Identifier: Apache-2.0
"""Functions of generated C: their order, their parameters, and calls."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.unit.test_c_source import run, text_of
from xtc.codegen.c import Printer, c_source
from xtc.core.errors import CompileError, UserError
from xtc.ir import mlir

CALLS = """
func.func @f(%a: memref<2x2xf32>, %b: memref<2x2xf32>) {
  %c0 = arith.constant 0 : index
  func.call @copy_first(%a, %b, %c0) : (memref<2x2xf32>, memref<2x2xf32>, index) -> ()
  return
}
func.func private @copy_first(%x: memref<2x2xf32> {llvm.noalias}, %y: memref<2x2xf32>, %i: index)
    attributes {no_inline} {
  func.call @copy_one(%x, %y, %i) : (memref<2x2xf32>, memref<2x2xf32>, index) -> ()
  return
}
func.func private @copy_one(%x: memref<2x2xf32>, %y: memref<2x2xf32>, %i: index) {
  %v = memref.load %x[%i, %i] : memref<2x2xf32>
  memref.store %v, %y[%i, %i] : memref<2x2xf32>
  return
}
"""


def test_callees_come_first_and_parameters_have_the_arguments_names() -> None:
    text = text_of(CALLS, ["from", "to"])
    single = "static void copy_one(const float from[2][2], float to[2][2], ptrdiff_t value) {"
    first = "static __attribute__((noinline)) void copy_first("
    entry = "void f(const float from[2][2], float to[2][2]) {\n  copy_first(from, to, 0);\n}"
    assert text.index(single) < text.index(first) < text.index(entry)


def test_calls_compute_what_the_mlir_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CC", "cc -Wall -Wextra -Werror")
    a, b = np.full((2, 2), 3, np.float32), np.zeros((2, 2), np.float32)
    run(CALLS, a, b)
    assert b.tolist() == [[3, 0], [0, 0]]


def test_external_functions_may_write_their_arguments(tmp_path: Path) -> None:
    module = """
    func.func private @other(memref<4xf32>)
    func.func @f(%a: memref<4xf32>, %unused: memref<4xf32>) {
      func.call @other(%a) : (memref<4xf32>) -> ()
      return
    }"""
    text = text_of(module, ["a", "b"])
    assert "void other(float *);" in text
    assert "void f(float a[4], const float b[4]) {\n  (void)b;\n  other(a);\n}" in text
    (tmp_path / "f.c").write_text(text)
    words = ["cc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(tmp_path / "f.c")]
    subprocess.run(words, check=True)


def test_a_targets_text_precedes_its_function() -> None:
    def barrier(printer: Printer, _: mlir.Operation) -> None:
        printer.definitions.append("extern void fence(void);")
        printer.statement("fence();")

    with mlir.Context():
        module = mlir.Module.parse("func.func @f() { gpu.barrier return }").operation
        text = c_source(module, rules={"gpu.barrier": barrier}, reserved=["fence"]).text
        assert "extern void fence(void);\n\nvoid f(void) {\n  fence();\n}" in text
        with pytest.raises(CompileError, match=r"gpu\.barrier cannot be written in C"):
            c_source(module)


def test_a_targets_names_are_reserved() -> None:
    with mlir.Context():
        module = mlir.Module.parse("func.func @fence() { return }").operation
        with pytest.raises(UserError, match="a C function cannot be called 'fence'"):
            c_source(module, reserved=["fence"])
