# SPDX-License-Identifier: Apache-2.0
"""The base of passes that rewrite structured ops for a number of multiprocessors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xtc.ir.analysis.function_view import functions
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import H100


@dataclass(frozen=True)
class NestPass(Pass):
    """Visits each structured op of each function.

    Attributes:
        sms: multiprocessors that run a kernel.
    """

    sms: int = H100.sms

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for view in functions(module):
                for nest in list(view.nests.values()):
                    self.rewrite(nest)

    @abstractmethod
    def rewrite(self, nest: Structured) -> None:
        """Rewrite an operation, or leave it unchanged."""
