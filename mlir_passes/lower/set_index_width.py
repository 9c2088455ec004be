# SPDX-License-Identifier: Apache-2.0
"""set-index-width: writes the width of an index into the module's data layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import Attribute, Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_LAYOUT = "dlti.dl_spec"


@dataclass(frozen=True)
class SetIndexWidth(Pass):
    """Write the width of `index` into the module's data layout.

    `convert-to-llvm{dynamic=1}` takes the type of every index from there; the passes for single
    dialects, such as `convert-vector-to-llvm`, assume 64 bits.

    Before:
        module {
    After:
        module attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>} {
    """

    name: ClassVar[str] = "set-index-width"
    bits: int = 64

    def run(self, module: Operation) -> None:
        require_positive(self)
        with module.context:
            layout = Attribute.parse(f"#dlti.dl_spec<index = {self.bits} : i64>")
            module.attributes[_LAYOUT] = layout
