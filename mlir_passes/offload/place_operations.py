# SPDX-License-Identifier: Apache-2.0
"""place-operations: what only prepares the operands of a device's operations goes with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.attributes import DEVICE
from xtc.ir.mlir import Operation, StringAttr
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass

_PREPARES = (
    "bufferization.alloc_tensor",
    "linalg.fill",
    "tensor.cast",
    "tensor.collapse_shape",
    "tensor.empty",
    "tensor.expand_shape",
)


@dataclass(frozen=True)
class PlaceOperations(Pass):
    """Give operations without a device that of their only users, where they compute nothing.

    Before:
        %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
        %1 = linalg.add {xtc.device = "npu0"} ins(%a, %b : ...) outs(%0 : tensor<4xf32>) -> ...
    After:
        %0 = linalg.fill {xtc.device = "npu0"} ins(%zero : f32) outs(%empty : tensor<4xf32>) -> ...
        %1 = linalg.add {xtc.device = "npu0"} ins(%a, %b : ...) outs(%0 : tensor<4xf32>) -> ...

    Raises CompileError for an operation on a device that is not among `devices`, if they are given.
    """

    name: ClassVar[str] = "place-operations"

    devices: tuple[str, ...] = ()

    def run(self, module: Operation) -> None:
        for function in top_level(module):
            if function.name == "func.func":
                for block in function.regions[0].blocks:
                    for op in reversed([op.operation for op in block.operations]):
                        self._check(op)
                        _place(op)

    def _check(self, op: Operation) -> None:
        device = device_of(op)
        if device is not None and self.devices and device not in self.devices:
            raise CompileError(
                f"an operation '{op.name}' is on '{device}', which the module does not use",
                notes=[f"there are: {', '.join(self.devices)}", f"at {op.location}"],
            )


def _place(op: Operation) -> None:
    """Later operations first: what they need follows them."""
    if op.name not in _PREPARES or device_of(op) is not None:
        return
    users = {device_of(use.owner.operation) for result in op.results for use in result.uses}
    if len(users) == 1 and (device := users.pop()) is not None:
        op.attributes[DEVICE] = StringAttr.get(device, op.context)
