# SPDX-License-Identifier: Apache-2.0
"""place-operations: places fills, reshapes and the like on the device of their users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.attributes import DEVICE, ON_DEVICE
from xtc.ir.mlir import Block, InsertionPoint, Operation, StringAttr
from xtc.ir.partition import device_of, top_level
from xtc.ir.passes import Pass

_PREPARES = (
    "bufferization.alloc_tensor",
    "linalg.fill",
    "tensor.cast",
    "tensor.empty",
)
_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


@dataclass(frozen=True)
class PlaceOperations(Pass):
    """Give operations that compute nothing and have no device the device of all their users.

    Before:
        %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
        %1 = linalg.add {xtc.device = "npu0"} ins(%a, %b : ...) outs(%0 : tensor<4xf32>) -> ...
    After:
        %0 = linalg.fill {xtc.device = "npu0"} ins(%zero : f32) outs(%empty : tensor<4xf32>) -> ...
        %1 = linalg.add {xtc.device = "npu0"} ins(%a, %b : ...) outs(%0 : tensor<4xf32>) -> ...

    A reshape, which costs nothing, is placed wherever its result is read, whatever device it names.

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
                        self._place(op)

    def _check(self, op: Operation) -> None:
        device = device_of(op)
        if device is not None and self.devices and device not in self.devices:
            raise CompileError(
                f"an operation '{op.name}' is on '{device}', which the module does not use",
                notes=[f"there are: {', '.join(self.devices)}", f"at {op.location}"],
            )

    def _place(self, op: Operation) -> None:
        """Later operations come first, so that their operands can follow them."""
        if op.name in _RESHAPES:
            self._place_reshape(op)
        elif op.name in _PREPARES and device_of(op) is None:
            users = {device_of(use.owner.operation) for value in op.results for use in value.uses}
            if len(users) == 1:
                _set_device(op, users.pop())

    def _place_reshape(self, op: Operation) -> None:
        """Give each device that reads a reshaped tensor, and the host, a separate reshape."""
        readers: dict[str | None, list[tuple[Operation, int]]] = {}
        for use in op.results[0].uses:
            reader = use.owner.operation
            readers.setdefault(self._reader(reader, op), []).append((reader, use.operand_number))
        for number, (device, uses) in enumerate(readers.items()):
            view = op.clone(ip=InsertionPoint(op)) if number else op
            _set_device(view, device)
            for reader, operand in uses:
                reader.operands[operand] = view.results[0]

    def _reader(self, op: Operation, reshape: Operation) -> str | None:
        """The device that reads a reshaped tensor: that of an operator, or of a result."""
        if op.name == "bufferization.to_buffer":
            return device_of(reshape)
        if op.name != "bufferization.materialize_in_destination":
            return device_of(op)
        target = op.operands[1]
        attributes = target.owner.owner.attributes if isinstance(target.owner, Block) else {}
        described = attributes["arg_attrs"][target.arg_number] if "arg_attrs" in attributes else {}
        if ON_DEVICE not in described:
            return None
        home = described[ON_DEVICE]
        return str(home.value) if isinstance(home, StringAttr) else device_of(reshape)


def _set_device(op: Operation, device: str | None) -> None:
    if device is not None:
        op.attributes[DEVICE] = StringAttr.get(device, op.context)
    elif DEVICE in op.attributes:
        del op.attributes[DEVICE]
