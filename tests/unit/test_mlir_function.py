# SPDX-License-Identifier: Apache-2.0
"""Functions written in MLIR run as written, on buffers and on tensors, scheduled or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from xtc.core import discover
from xtc.core.errors import UserError
from xtc.driver.foreign import parse_module
from xtc.driver.mlir_function import MlirFunction, arguments_of, check_bounded, find_function
from xtc.evaluate import MismatchError
from xtc.ir import known_passes, mlir
from xtc.ir.pipeline import run_steps

HOST = discover.target("host")
SCHEDULE = 'loop.dims = ["i", "j", "k"], loop.schedule = {"j", "k", "i", "i#3" = {"unroll"}}'
BUFFERS = f"""
func.func @f(%c: memref<7x5xf32>, %a: memref<7x7xf32>, %b: memref<7x5xf32>) {{
  %t = memref.alloc() : memref<7x7xf32>
  linalg.negf ins(%a : memref<7x7xf32>) outs(%t : memref<7x7xf32>)
  linalg.matmul {{{SCHEDULE}}}
    ins(%t, %b : memref<7x7xf32>, memref<7x5xf32>) outs(%c : memref<7x5xf32>)
  linalg.negf ins(%t : memref<7x7xf32>) outs(%t : memref<7x7xf32>)
  linalg.matmul {{{SCHEDULE}}}
    ins(%t, %c : memref<7x7xf32>, memref<7x5xf32>) outs(%b : memref<7x5xf32>)
  linalg.negf ins(%b : memref<7x5xf32>) outs(%b : memref<7x5xf32>)
  memref.dealloc %t : memref<7x7xf32>
  return
}}
"""
TENSORS = f"""
func.func @f(%a: tensor<7x7xf32>, %b: tensor<7x5xf32>, %c: tensor<7x5xf32>)
    -> (tensor<7x5xf32>, tensor<7x7xf32>) {{
  %0 = linalg.matmul {{{SCHEDULE}}} ins(%a, %b : tensor<7x7xf32>, tensor<7x5xf32>)
    outs(%c : tensor<7x5xf32>) -> tensor<7x5xf32>
  return %0, %a : tensor<7x5xf32>, tensor<7x7xf32>
}}
"""


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with mlir.Context():
        yield


def function(text: str) -> MlirFunction:
    module = parse_module(text, "f.mlir")
    run_steps(module, [known_passes.passes()["memref-signature"]()])
    arguments = arguments_of(find_function(module, None))
    return MlirFunction(module, "f", arguments, HOST, HOST.options())


@pytest.mark.slow
def test_buffers_are_read_and_written_in_order() -> None:
    wrapped = function(BUFFERS)
    assert [argument.role for argument in wrapped.arguments] == ["output", "input", "output"]
    arrays = wrapped.arrays(3)
    c, a, b = (array.astype(np.float64) for array in arrays)
    with wrapped.loaded(arrays) as (call, _):
        call()
    c = c - a @ b
    b = -(b + a @ c)
    np.testing.assert_allclose(arrays[0], c, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(arrays[2], b, rtol=1e-4, atol=1e-2)


def test_returned_values_are_written_after_the_arguments() -> None:
    wrapped = function(TENSORS)
    assert [argument.role for argument in wrapped.arguments] == ["input"] * 3 + ["output"] * 2
    arrays = wrapped.arrays(5)
    a, b, c = (array.copy() for array in arrays[:3])
    with wrapped.loaded(arrays) as (call, _):
        call()
        call()
    for given, now in zip((a, b, c), arrays[:3], strict=True):
        np.testing.assert_array_equal(given, now)
    np.testing.assert_allclose(arrays[3], c + a @ b, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(arrays[4], a)


UNARY = """
func.func @f(%a: memref<9xf32>) {{
  linalg.{operation} ins(%a : memref<9xf32>) outs(%a : memref<9xf32>)
  return
}}
"""


@pytest.mark.slow
def test_a_difference_is_detected() -> None:
    negated, same = (function(UNARY.format(operation="negf")) for _ in range(2))
    assert [check.ok for check in negated.check(same, 0)] == [True]
    with pytest.raises(MismatchError, match="argument0"):
        negated.check(function(UNARY.format(operation="abs")), 0)


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ("func.call @f(%x) : (memref<4xf32>) -> ()", "func.call"),
        ("%i = arith.constant 9 : index\n %e = memref.load %x[%i] : memref<4xf32>", "memref.load"),
        ('"llvm.intr.trap"() : () -> ()', "llvm.intr.trap"),
    ],
)
def test_unbounded_accesses_are_not_run(body: str, operation: str) -> None:
    module = parse_module(f"func.func @f(%x: memref<4xf32>) {{\n{body}\nreturn\n}}", "f.mlir")
    with pytest.raises(UserError, match=f"{operation} is not run"):
        check_bounded(module)


GUARDED = """
func.func @f(%a: memref<8xf32>, %r: memref<12xf32>) {{
  %zero = arith.constant 0.0 : f32
  %t = bufferization.to_tensor %a restrict : memref<8xf32> to tensor<8xf32>
  %empty = tensor.empty() : tensor<12xf32>
  %padded = linalg.generic
      {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      outs(%empty : tensor<12xf32>) {{
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %least = arith.constant 0 : index
    %two = arith.constant 2 : index
    %limit = arith.constant {limit} : index
    %at = {index}
    %low = arith.cmpi sge, %at, %least : index
    %high = arith.cmpi {below} : index
    %inside = arith.{both} %low, %high : i1
    %element = scf.if %inside -> (f32) {{
      {then}
      scf.yield %x : f32
    }} else {{
      {otherwise}
      scf.yield %x : f32
    }}
    linalg.yield %element : f32
  }} -> tensor<12xf32>
  bufferization.materialize_in_destination %padded in restrict writable %r
      : (tensor<12xf32>, memref<12xf32>) -> ()
  return
}}
"""
_READ, _ZERO = "%x = tensor.extract %t[%at] : tensor<8xf32>", "%x = arith.addf %zero, %zero : f32"


def _guarded(
    index: str = "arith.subi %i, %two : index",
    below: str = "slt, %at, %limit",
    limit: int = 8,
    both: str = "andi",
    *,
    swap: bool = False,
) -> str:
    then, otherwise = (_ZERO, _READ) if swap else (_READ, _ZERO)
    return GUARDED.format(
        index=index, below=below, limit=limit, both=both, then=then, otherwise=otherwise
    )


@pytest.mark.slow
def test_guarded_elements_are_read() -> None:
    padded = function(_guarded())
    assert [check.ok for check in padded.check(padded, 0)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        _guarded(limit=7),
        _guarded(below="sgt, %limit, %at"),
        _guarded(below="sle, %at, %limit", limit=7),
        _guarded(below="ult, %at, %limit", both="andi"),
        _guarded("arith.addi %two, %two : index"),
        _guarded("arith.muli %two, %two : index", both="ori"),
    ],
)
def test_bounded_indices_are_accepted(text: str) -> None:
    check_bounded(parse_module(text, "f.mlir"))


@pytest.mark.parametrize(
    "text",
    [
        _guarded(limit=9),
        _guarded(below="sle, %at, %limit"),
        _guarded(below="sge, %at, %limit"),
        _guarded(below="slt, %i, %limit", limit=11),
        _guarded(both="ori"),
        _guarded(both="xori"),
        _guarded(swap=True),
        _guarded("arith.divsi %i, %two : index", below="ne, %at, %limit"),
    ],
)
def test_unbounded_indices_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="its indices are not known to stay inside"):
        check_bounded(parse_module(text, "f.mlir"))
