# SPDX-License-Identifier: Apache-2.0
"""Passes on single functions run per function, and produce the same IR."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from xtc.ir import mlir
from xtc.ir.nested_passes import nested_passes
from xtc.ir.pipeline import run_steps

FUNCTION = """
func.func @f{}(%a: memref<8xf32>, %n: index) {{
  %zero = arith.constant 0 : index
  %first = arith.constant 1 : index
  scf.for %i = %zero to %n step %first {{
    %v = memref.load %a[%i] : memref<8xf32>
    %w = memref.load %a[%i] : memref<8xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %a[%i] : memref<8xf32>
  }}
  return
}}
"""
PASSES = (
    *("canonicalize", "cse", "convert-scf-to-cf", "finalize-memref-to-llvm"),
    *("convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}", "convert-arith-to-llvm"),
    *("convert-cf-to-llvm", "reconcile-unrealized-casts", "canonicalize"),
)


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with mlir.Context():
        yield


def functions(count: int) -> mlir.Operation:
    return mlir.Module.parse("".join(map(FUNCTION.format, range(count)))).operation


def test_consecutive_function_passes_run_together() -> None:
    assert nested_passes(functions(2), PASSES) == (
        "any(canonicalize,cse,convert-scf-to-cf),finalize-memref-to-llvm,"
        "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},any(convert-arith-to-llvm),"
        "convert-cf-to-llvm,any(reconcile-unrealized-casts,canonicalize)"
    )


def test_the_ir_equals_that_of_passes_on_the_module() -> None:
    nested, whole = functions(3), functions(3)
    run_steps(nested, PASSES)
    mlir.PassManager.parse(f"builtin.module({','.join(PASSES)})").run(whole)
    assert str(nested) == str(whole)
    assert "llvm.func @f2" in str(nested)


@pytest.mark.parametrize(
    "text",
    [
        FUNCTION.format(0),
        FUNCTION.format(0) + "module @inner {" + FUNCTION.format(1) + "}",
        FUNCTION.format(0) + "func.func private @declared(index)",
    ],
)
def test_modules_with_one_function_are_not_split(text: str) -> None:
    assert nested_passes(mlir.Module.parse(text).operation, ("cse",)) == "cse"


@pytest.mark.parametrize("printed", [False, True])
def test_printed_vectors_declare_functions_in_the_module(printed: bool) -> None:
    print_it = "vector.print %v : f32" if printed else ""
    text = f"func.func @g(%v: f32) {{ {print_it} return }}" + FUNCTION.format(0)
    module = mlir.Module.parse(text).operation
    passes = nested_passes(module, ("convert-vector-to-llvm",))
    assert passes == ("convert-vector-to-llvm" if printed else "any(convert-vector-to-llvm)")
    run_steps(module, ("convert-vector-to-llvm",))
    assert ("@printF32" in str(module)) == printed
