# SPDX-License-Identifier: Apache-2.0
"""Detection of contractions, and the roles of their loops."""

from __future__ import annotations

import pytest

import xtc.ops as O
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.ir.analysis.contractions import Contraction, Roles, contraction, multiply_add
from xtc.ir.analysis.function_view import functions
from xtc.ir.mlir import Context, Module, all_operations
from xtc.ops import graph as new_graph

TEMPLATE = """
func.func @f(%a: tensor<{a}x{ta}>, %b: tensor<{b}x{tb}>, %c: tensor<{c}x{tc}>)
    -> tensor<{c}x{tc}> {{
  %r = linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({ia})>,
      affine_map<({loops}) -> ({ib})>, affine_map<({loops}) -> ({ic})>],
      iterator_types = [{kinds}]}} ins(%a, %b : tensor<{a}x{ta}>, tensor<{b}x{tb}>)
      outs(%c : tensor<{c}x{tc}>) {{
    ^bb0(%x: {ta}, %y: {tb}, %z: {tc}):
    {body}
  }} -> tensor<{c}x{tc}>
  return %r : tensor<{c}x{tc}>
}}"""
BODY = "%p = arith.mulf %x, %y : f32 %s = arith.addf %z, %p : f32 linalg.yield %s : f32"
WIDENED = (
    "%u = arith.extui %x : i8 to i32 %v = arith.extsi %y : i8 to i32 "
    "%p = arith.muli %v, %u : i32 %s = arith.addi %p, %z : i32 linalg.yield %s : i32"
)


def found(
    a: str, b: str, c: str, indices: tuple[str, str, str], kinds: str, body: str = BODY
) -> Contraction | None:
    """The contraction of an operation with loops d0, d1, ... of these kinds."""
    narrow = body == WIDENED
    text = TEMPLATE.format(
        a=a,
        b=b,
        c=c,
        ia=indices[0],
        ib=indices[1],
        ic=indices[2],
        ta="i8" if narrow else "f32",
        tb="i8" if narrow else "f32",
        tc="i32" if narrow else "f32",
        loops=", ".join(f"d{number}" for number in range(len(kinds))),
        kinds=", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds),
        body=body,
    )
    with Context():
        module = Module.parse(text).operation
        (view,) = functions(module)
        (nest,) = view.nests.values()
        return contraction(nest)


def roles(a: str, b: str, c: str, indices: tuple[str, str, str], kinds: str) -> Roles | None:
    result = found(a, b, c, indices, kinds)
    return None if result is None else result.roles


def test_matmul() -> None:
    indices = ("d0, d2", "d2, d1", "d0, d1")
    assert roles("4x8", "8x6", "4x6", indices=indices, kinds="ppr") == Roles((), (0,), (1,), (2,))


def test_batched_matmul_of_transposed_operands() -> None:
    indices = ("d0, d3, d1", "d0, d2, d3", "d0, d1, d2")
    assert roles("2x8x4", "2x6x8", "2x4x6", indices=indices, kinds="pppr") == Roles(
        (0,), (1,), (2,), (3,)
    )


def test_matrix_times_vector() -> None:
    indices = ("d0, d1", "d1", "d0")
    assert roles("4x8", "8", "4", indices=indices, kinds="pr") == Roles((), (0,), (), (1,))


def test_convolution_with_strides() -> None:
    indices = (
        "d0, d1 * 2 + d3, d2 * 2 + d4, d5",
        "d3, d4, d5, d6",
        "d0, d1, d2, d6",
    )
    assert roles("1x9x9x3", "3x3x3x5", "1x4x4x5", indices=indices, kinds="ppprrrp") == Roles(
        (), (0, 1, 2), (6,), (3, 4, 5)
    )


def test_strided_convolution_with_a_window_of_one_pixel() -> None:
    indices = ("d0, d1 * 2, d2", "d2, d3", "d0, d1, d3")
    assert roles("1x9x3", "3x5", "1x5x5", indices=indices, kinds="pprp") == Roles(
        (), (0, 1), (3,), (2,)
    )


def test_depthwise_convolution() -> None:
    indices = ("d0, d1 + d3, d2", "d3, d2", "d0, d1, d2")
    assert roles("1x9x4", "3x4", "1x7x4", indices=indices, kinds="pppr") == Roles(
        (2,), (0, 1), (), (3,)
    )


@pytest.mark.parametrize(
    ("indices", "kinds"),
    [
        (("d0, d1", "d0, d1", "d0, d1"), "pp"),  # nothing is reduced
        (("d0, d1", "d0", "d0"), "pr"),  # only one operand has the reduction
    ],
)
def test_other_operations_are_no_contractions(indices: tuple[str, str, str], kinds: str) -> None:
    shape = {2: "4x4", 1: "4"}
    a, b, c = (shape[row.count(",") + 1] for row in indices)
    assert roles(a, b, c, indices, kinds) is None


def test_widened_operands_in_either_order() -> None:
    result = found("4x8", "8x6", "4x6", ("d0, d2", "d2, d1", "d0, d1"), "ppr", WIDENED)
    assert result is not None
    assert result.widenings == ("arith.extui", "arith.extsi")


@pytest.mark.parametrize(
    "body",
    [
        "%p = arith.mulf %x, %x : f32 %s = arith.addf %z, %p : f32 linalg.yield %s : f32",
        "%p = arith.mulf %x, %y : f32 %s = arith.subf %z, %p : f32 linalg.yield %s : f32",
        "%p = arith.mulf %x, %y : f32 %s = arith.addf %p, %p : f32 linalg.yield %s : f32",
        "%p = arith.addf %x, %y : f32 %s = arith.addf %z, %p : f32 linalg.yield %s : f32",
        "%p = arith.mulf %x, %y : f32 %s = arith.addf %z, %p : f32 linalg.yield %p : f32",
        "linalg.yield %z : f32",
    ],
)
def test_bodies_without_a_multiply_add_are_no_contractions(body: str) -> None:
    assert found("4x8", "8x6", "4x6", ("d0, d2", "d2, d1", "d0, d1"), "ppr", body) is None


def test_columns_decide_which_operand_is_b() -> None:
    result = found("8x4", "6x8", "6x4", ("d2, d1", "d0, d2", "d0, d1"), "ppr")
    assert result is not None
    assert result.roles == Roles((), (1,), (0,), (2,))
    turned = result.with_columns(1)
    assert turned is not None
    assert (turned.a, turned.b, turned.roles) == (1, 0, Roles((), (0,), (1,), (2,)))
    assert result.with_columns(2) is None


def matmul_graph() -> Graph:
    a = O.tensor((4, 8), "float16", name="a")
    b = O.tensor((8, 6), "float16", name="b")
    with new_graph(name="g") as builder:
        O.matmul(a, b, name="C")
    return builder.graph


def test_the_operators_own_matmul_is_recognized() -> None:
    with Context():
        module = Module.parse(prepare(matmul_graph()).stage_text("source")).operation
        (op,) = [op for op in all_operations(module) if op.name == "linalg.matmul"]
        assert multiply_add(op) == ("arith.extf", "arith.extf")
