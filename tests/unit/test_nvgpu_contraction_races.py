# SPDX-License-Identifier: Apache-2.0
"""The interpreter of tile kernels on those of contractions: correct and race-free, and every
synchronization is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from xtc.ir.mlir import Context, DenseI64ArrayAttr, Module, Operation, all_operations
from xtc.tile.interpreter.report import DeadlockError, RaceError
from xtc.tile.interpreter.run import interpret
from xtc_targets.nvgpu.passes._kernels import GRID
from xtc_targets.nvgpu.passes.infer_tile_layouts import InferTileLayouts
from xtc_targets.nvgpu.passes.use_tensor_cores import UseTensorCores

pytestmark = pytest.mark.slow
M, N, K = 264, 136, 200
SOURCE = f"""
#whole = affine_map<(i, j) -> (i, j)>
#other = affine_map<(i, j) -> (OTHER)>
func.func @f(%a: memref<{M}x{K}xf16, 1>, %b: memref<{K}x{N}xf16, 1>, %x: memref<SHAPExf16, 1>,
             %c: memref<{M}x{N}xf16, 1>) {{
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<{M}x{N}xf32, 1>
  linalg.fill {{xtc.kernel = 0 : i64}} ins(%zero : f32) outs(%s : memref<{M}x{N}xf32, 1>)
  linalg.matmul {{xtc.kernel = 0 : i64}}
    ins(%a, %b : memref<{M}x{K}xf16, 1>, memref<{K}x{N}xf16, 1>) outs(%s : memref<{M}x{N}xf32, 1>)
  linalg.generic {{indexing_maps = [#whole, #other, #whole],
      iterator_types = ["parallel", "parallel"]}}
    ins(%s, %x : memref<{M}x{N}xf32, 1>, memref<SHAPExf16, 1>) outs(%c : memref<{M}x{N}xf16, 1>)
    attrs = {{xtc.kernel = 0 : i64}} {{
  ^bb0(%in: f32, %y: f16, %out: f16):
    %n = arith.truncf %in : f32 to f16
    %v = arith.addf %n, %y : f16
    linalg.yield %v : f16
  }}
  return
}}
"""
OTHERS = {"bias": ("j", (N,)), "factors": ("i, 0", (M, 1)), "residual": ("i, j", (M, N))}
"""Operands of the epilogue: where an element of the result has its own, and their shapes."""
ORDERS = (
    *("tile.sync", "tile.fence_proxy", "tile.mbarrier_wait", "tile.mbarrier_arrive"),
    *("tile.tma_wait", "tile.wgmma_fence", "tile.wgmma_wait", "tile.wait_group"),
)


@contextmanager
def kernel(other: str, *, bulk_copies: bool, sms: int = 1) -> Iterator[Operation]:
    """The kernel of a contraction, with layouts."""
    indices, shape = OTHERS[other]
    text = SOURCE.replace("OTHER", indices).replace("SHAPE", "x".join(map(str, shape)))
    with Context():
        module = Module.parse(text)
        use = UseTensorCores(sms=sms, warpgroups=True, bulk_copies=bulk_copies)
        for each in (use, InferTileLayouts()):
            each.run(module.operation)
        assert module.operation.verify()
        yield module.body.operations[0].operation


def require_correct(function: Operation, other: str) -> None:
    """Run the kernel; raises RaceError or DeadlockError."""
    generator = np.random.default_rng(0)
    shapes = (M, K), (K, N), OTHERS[other][1]
    a, b, x = (generator.integers(-4, 5, shape).astype(np.float16) for shape in shapes)
    c = np.zeros((M, N), np.float16)
    grid = list(DenseI64ArrayAttr(function.attributes[GRID]))
    stays = any(op.name == "tile.tma_load" for op in all_operations(function))
    interpret(function, [a, b, x, c], [1, 1, 1] if stays else grid)  # one block computes all tiles
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16) + x
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("bulk_copies", [True, False])
def test_the_kernel_is_correct_and_race_free(other: str, bulk_copies: bool) -> None:
    with kernel(other, bulk_copies=bulk_copies) as function:
        names = {op.name for op in all_operations(function)}
        assert ("tile.tma_load" in names) is bulk_copies
        assert ("tile.tma_store" in names) is (bulk_copies and other != "residual")
        require_correct(function, other)


def ordering(other: str, bulk_copies: bool) -> list[str]:
    """The names of the synchronizing operations, in the kernel's order."""
    with kernel(other, bulk_copies=bulk_copies) as function:
        return [op.name for op in all_operations(function) if op.name in ORDERS]


def erase_operation(function: Operation, number: int, name: str) -> None:
    """Erase one of the synchronizing operations."""
    ops = [op for op in all_operations(function) if op.name in ORDERS]
    assert ops[number].name == name
    ops[number].erase()


SPARE = ("bias", False, 6, "tile.sync")
"""The barrier before accumulators overwrite the slots. The tiles of this kernel have one warpgroup,
whose wait for its last multiplication orders them too; several warpgroups need the barrier."""
CASES = [
    (other, bulk, number, name)
    for other, bulk in (("bias", True), ("residual", True), ("bias", False))
    for number, name in enumerate(ordering(other, bulk))
    if (other, bulk, number, name) != SPARE
]


@pytest.mark.parametrize(("other", "bulk_copies", "number", "name"), CASES)
def test_every_synchronization_is_needed(
    other: str, bulk_copies: bool, number: int, name: str
) -> None:
    with kernel(other, bulk_copies=bulk_copies) as function:
        erase_operation(function, number, name)
        with pytest.raises((RaceError, DeadlockError)):
            require_correct(function, other)


def test_the_wait_of_one_warpgroup_replaces_a_barrier() -> None:
    other, bulk_copies, number, name = SPARE
    with kernel(other, bulk_copies=bulk_copies) as function:
        erase_operation(function, number, name)
        require_correct(function, other)
