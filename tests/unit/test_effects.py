# SPDX-License-Identifier: Apache-2.0
"""Read and write effects are known for all forms of linalg operations."""

from __future__ import annotations

import pytest

from xtc.ir.analysis.effects import read_memrefs, written_memrefs
from xtc.ir.mlir import Context, Module, Operation, all_operations

REDUCE = "(%x: f32, %y: f32) { %s = arith.addf %x, %y : f32 linalg.yield %s : f32 }"
CASES = {
    "linalg.exp ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)": ([0, 1], [1]),
    "linalg.transpose ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) permutation = [1, 0]": (
        [0, 1],
        [1],
    ),
    "linalg.broadcast ins(%c : memref<4xf32>) outs(%b : memref<4x4xf32>) dimensions = [0]": (
        [2, 1],
        [1],
    ),
    f"linalg.reduce ins(%a : memref<4x4xf32>) outs(%c : memref<4xf32>) dimensions = [0] {REDUCE}": (
        [0, 2],
        [2],
    ),
    "linalg.map { arith.addf } ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) "
    "outs(%a : memref<4x4xf32>)": ([0, 1, 0], [0]),
    "memref.copy %a, %b : memref<4x4xf32> to memref<4x4xf32>": ([0], [1]),
}


@pytest.mark.parametrize("text", CASES, ids=lambda text: text.split()[0])
def test_reads_and_writes(text: str) -> None:
    head = "func.func @f(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4xf32>)"
    with Context():
        module: Operation = Module.parse(f"{head} {{ {text} return }}").operation
        function = next(op for op in all_operations(module) if op.name == "func.func")
        arguments = list(function.regions[0].blocks[0].arguments)
        name = text.split()[0]
        op = next(operation for operation in all_operations(module) if operation.name == name)
        found = tuple(
            [arguments.index(value) for value in side(op)]
            for side in (read_memrefs, written_memrefs)
        )
    assert found == CASES[text]
