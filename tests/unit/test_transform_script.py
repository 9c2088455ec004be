# SPDX-License-Identifier: Apache-2.0
"""Transform scripts change the payload, and their errors are quoted."""

from __future__ import annotations

import pytest

from xtc.core.errors import CompileError
from xtc.ir import mlir
from xtc.ir.transform import apply_script

PAYLOAD = """
func.func @f(%a: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = linalg.matmul {product} ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>)
                     outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %m : tensor<4x4xf32>
}
"""
ANY = "(!transform.any_op) -> !transform.any_op"


def applied(script: str) -> str:
    with mlir.Context():
        module = mlir.Module.parse(PAYLOAD).operation
    apply_script(module, script)
    return str(module)


def test_a_script_rewrites_what_it_matches() -> None:
    text = applied(
        f"%m = transform.structured.match attributes {{product}} in %root : {ANY}\n"
        f"%g = transform.structured.generalize %m : {ANY}"
    )
    assert "linalg.generic" in text
    assert "linalg.matmul" not in text


def test_a_transform_that_does_not_apply_is_quoted() -> None:
    with pytest.raises(CompileError, match="does not apply") as caught:
        applied(
            f'%f = transform.structured.match ops {{["func.func"]}} in %root : {ANY}\n'
            f"%g = transform.structured.generalize %f : {ANY}"
        )
    assert any("wrong op kind" in note for note in caught.value.notes)
    assert caught.value.notes[-1].startswith("script: %g = transform.structured.generalize")


def test_a_script_that_does_not_parse_is_quoted() -> None:
    with pytest.raises(CompileError, match="not valid") as caught:
        applied("\n%x = transform.no_such_thing %root")
    assert caught.value.notes[-1] == "script: %x = transform.no_such_thing %root"
