# SPDX-License-Identifier: Apache-2.0
"""Contractions of an unsigned and a signed operand, which exist only in MLIR functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xtc.codegen.llvm import Machine
from xtc.core import discover
from xtc.driver.foreign import parse_module
from xtc.driver.mlir_function import MlirFunction, arguments_of, find_function
from xtc.ir import known_passes, mlir
from xtc.ir.pipeline import PassRunner, run_steps

pytestmark = pytest.mark.slow

HOST = discover.target("host")
M, N, K = 33, 41, 70
PRODUCT = f"""
#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: tensor<{M}x{K}xi8>, %b: tensor<{K}x{N}xi8>, %c: tensor<{M}x{N}xi32>)
    -> tensor<{M}x{N}xi32> {{
  %0 = linalg.generic {{indexing_maps = [#ik, #kj, #ij],
      iterator_types = ["parallel", "parallel", "reduction"], loop.dims = ["i", "j", "k"]}}
      ins(%a, %b : tensor<{M}x{K}xi8>, tensor<{K}x{N}xi8>) outs(%c : tensor<{M}x{N}xi32>) {{
  ^bb0(%x: i8, %y: i8, %s: i32):
    %1 = arith.extui %x : i8 to i32
    %2 = arith.extsi %y : i8 to i32
    %3 = arith.muli %1, %2 : i32
    %4 = arith.addi %s, %3 : i32
    linalg.yield %4 : i32
  }} -> tensor<{M}x{N}xi32>
  return %0 : tensor<{M}x{N}xi32>
}}
"""
OPTIONS: list[dict[str, Any]] = [{}, {"threads": 2, "l2_bytes": 4096}]
if Machine.host().triple.startswith("x86_64"):
    OPTIONS.append({"features": "-avx512f,-avxvnni"})


def compiled(options: dict[str, Any]) -> MlirFunction:
    module = parse_module(PRODUCT, "f.mlir")
    run_steps(module, [known_passes.passes()["memref-signature"]()])
    arguments = arguments_of(find_function(module, None))
    return MlirFunction(module, "f", arguments, HOST, HOST.options(**options))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_first_operand_is_unsigned(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    with mlir.Context():
        compilation = compiled(options)
        arrays = compilation.arrays(1)
        for array in arrays[:3]:
            limits = np.iinfo(array.dtype)
            array[...] = rng.integers(limits.min, limits.max, array.shape, array.dtype, True)
        with compilation.loaded(arrays) as (call, _):
            call()
    a, b = arrays[0].view(np.uint8).astype(np.int64), arrays[1].astype(np.int64)
    np.testing.assert_array_equal(arrays[3], (arrays[2] + a @ b).astype(np.int32))


@pytest.mark.parametrize(
    ("cpu", "word"), [("znver4", "vpdpbusd"), ("x86-64-v3", "vpmaddwd"), ("alderlake", "vpdpbusd")]
)
def test_the_unsigned_operand_is_used_directly(cpu: str, word: str) -> None:
    with mlir.Context():
        compilation = compiled({"triple": "x86_64-linux-gnu", "cpu": cpu})
        text = compilation.stage_text("code", PassRunner())
    assert word in text
