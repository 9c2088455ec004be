# SPDX-License-Identifier: Apache-2.0
"""Two external passes and an external operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xtc.core.errors import CompileError
from xtc.ir.mlir import Operation, UnitAttr, all_operations
from xtc.ir.passes import Pass
from xtc.ops.elementwise import FloatElementwise


@dataclass(frozen=True)
class MarkFills(Pass):
    name: ClassVar[str] = "mark-fills"
    mark: str = "filled"

    def run(self, module: Operation) -> None:
        for op in all_operations(module):
            if op.name == "linalg.fill":
                op.attributes[self.mark] = UnitAttr.get(module.context)


@dataclass(frozen=True)
class FailHere(Pass):
    name: ClassVar[str] = "fail-here"

    def run(self, module: Operation) -> None:
        raise CompileError("it always does")


@dataclass(frozen=True)
class Twice(FloatElementwise):
    name: ClassVar[str] = "twice"

    def scalar(self, body: Any, *elements: Any) -> Any:
        (x,) = elements
        return body.mul(x, body.constant(2.0, x.element))

    def reference(self, *arrays: Any) -> Any:
        (x,) = arrays
        return x * x.dtype.type(2.0)
