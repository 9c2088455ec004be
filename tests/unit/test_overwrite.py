# SPDX-License-Identifier: Apache-2.0
"""Values share buffers in sequence, but few enough that bufferization is fast."""

from __future__ import annotations

import pytest

import xtc
import xtc.ops as O
from xtc.driver import prepare
from xtc.ir import mlir
from xtc.ir.analysis.linalg_ops import owner
from xtc_passes.tensor import _overwrite

MOST = _overwrite._MOST_VALUES


def chain(length: int) -> xtc.Graph:
    x = O.tensor((4, 8), name="x")
    with O.graph(name="chain") as builder:
        value = x
        for _ in range(length):
            value = O.softmax(value)
    return builder.graph


def values_in_buffers(graph: xtc.Graph) -> list[int]:
    """The number of consecutive operations that write to the same tensor, by the last of them."""
    with mlir.Context():
        module = mlir.Module.parse(prepare(graph).stage_text("scheduled")).operation
        written: dict[mlir.Operation, int] = {}
        for op in mlir.all_operations(module):
            if op.name == "linalg.generic":
                before = owner(op.operands[len(op.operands) - 1])
                written[op] = 1 + (written.pop(before, 0) if before is not None else 0)
        return list(written.values())


@pytest.mark.slow
def test_a_long_chain_has_several_buffers() -> None:
    assert max(values_in_buffers(chain(2 * MOST))) == MOST


@pytest.mark.slow
def test_a_short_chain_has_a_single_buffer() -> None:
    assert max(values_in_buffers(chain(4))) == 2 * 4


@pytest.mark.slow
def test_a_long_chain_is_computed() -> None:
    with xtc.compile(chain(MOST), cache=False) as module:
        module.check()
