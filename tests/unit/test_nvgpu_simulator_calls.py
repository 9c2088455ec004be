# SPDX-License-Identifier: Apache-2.0
"""Instructions that the simulator does not support are errors."""

from __future__ import annotations

import pytest

from xtc.core.errors import CompileError
from xtc.ir.mlir import Context, Module
from xtc_targets.nvgpu.passes.call_simulator import CallSimulator

KERNEL = """
llvm.func @f.nvgpu0.0(%x: f32, %y: i32)
    attributes {{nvgpu.block = array<i64: 32, 1, 1>, nvgpu.grid = array<i64: 1, 1, 1>}} {{
  {}
  llvm.return
}}
"""


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        ("%r = nvvm.barrier #nvvm.reduction<and> %y -> i32", "nvvm.barrier"),
        (
            "%r = nvvm.shfl.sync bfly %y, %x, %y, %y {return_value_and_is_valid} "
            ": f32 -> !llvm.struct<(f32, i1)>",
            "nvvm.shfl.sync",
        ),
        ("%r = nvvm.read.ptx.sreg.ntid.x : i32", "nvvm.read.ptx.sreg.ntid.x"),
        ("%r = nvvm.convert.float.to.tf32 %x {rnd = #nvvm.fp_rnd_mode<rn>}", "tf32"),
        ("nvvm.fence.sc.cluster", "nvvm.fence.sc.cluster"),
    ],
)
def test_an_instruction_without_a_call_is_refused(instruction: str, name: str) -> None:
    with Context():
        module = Module.parse(KERNEL.format(instruction))
        with pytest.raises(CompileError, match="the simulator has no") as error:
            CallSimulator().run(module.operation)
    assert name in error.value.what
    assert error.value.where
