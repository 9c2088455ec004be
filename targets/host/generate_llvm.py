# SPDX-License-Identifier: Apache-2.0
"""Machine code from the llvm dialect, by LLVM in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtc.core.llvm import Machine, compile_ir, data_object
from xtc.interfaces.target import BuildRequest
from xtc_targets.host.build import Code, toolchain

if TYPE_CHECKING:
    from xtc.core.mlir import Operation


@dataclass(frozen=True)
class LlvmGenerator:
    """LLVM at one optimisation level for one machine."""

    machine: Machine
    opt_level: int

    def generate(self, lowered: Operation, request: BuildRequest) -> Code:
        """The code, and the constants where there are any, as relocatable objects."""
        code = compile_ir(_ir(lowered), self.machine, opt=self.opt_level, name=request.entry)
        if not request.constants:
            return Code((code,))
        return Code((code, data_object(request.constants, self.machine)))

    def text(self, lowered: Operation, request: BuildRequest) -> str:
        """The code as assembly."""
        ir, name = _ir(lowered), request.entry
        text = compile_ir(ir, self.machine, opt=self.opt_level, kind="assembly", name=name)
        return text.decode()

    def toolchain(self) -> dict[str, str]:
        """What shapes the code."""
        return toolchain("llvm", self.machine, self.opt_level)


def _ir(lowered: Operation) -> str:
    from xtc.core.mlir import translate_to_llvm_ir

    return translate_to_llvm_ir(lowered)
