# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text of lowered modules: equal to that of the bindings, without their leaks."""

from __future__ import annotations

import gc

import psutil
import pytest

from tests.unit.cache_graphs import matmul_graph
from xtc.core.errors import CompileError
from xtc.driver import prepare
from xtc.ir import mlir
from xtc.ir.llvm_ir import translate_to_llvm_ir


def test_the_text_equals_that_of_the_bindings() -> None:
    from mlir.dialects.llvm import translate_module_to_llvmir  # noqa: TID251  the door is tested

    with mlir.Context():
        module = mlir.Module.parse(prepare(matmul_graph()).stage_text("lowered")).operation
        assert translate_to_llvm_ir(module) == translate_module_to_llvmir(module)


@pytest.mark.parametrize("text", ["func.func private @f()", "llvm.func @f() { ub.unreachable }"])
def test_untranslatable_operations_are_named(text: str) -> None:
    with mlir.Context(), pytest.raises(CompileError, match=r"'(func\.func|ub\.unreachable)' is"):
        translate_to_llvm_ir(mlir.Module.parse(text).operation)


@pytest.mark.slow
def test_translation_leaks_nothing() -> None:
    process = psutil.Process()
    with mlir.Context():
        text = f'llvm.mlir.global @g("{"x" * 100_000}")'
        module = mlir.Module.parse(text).operation

        def translate(times: int) -> int:
            for _ in range(times):
                assert len(translate_to_llvm_ir(module)) > 100_000
            gc.collect()
            return process.memory_info().rss

        before = translate(20)
        assert translate(300) - before < 20 * 100_000
