# SPDX-License-Identifier: Apache-2.0
"""take-shards: lets kernels compute on the shards in their memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import SHARDS
from xtc.ir.mlir import DenseI64ArrayAttr, FunctionType, MemRefType, Operation, TypeAttr, Value
from xtc.ir.partition import top_level
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class TakeShards(Pass):
    """Give the arguments and buffers of sharded kernels the shape of a shard.

    Before:
        func.func @f.npu0.0(%a: memref<7x4xf32, 1>, %r: memref<7x4xf32, 1>)
            attributes {xtc.shards = array<i64: 2, 2>}
    After:
        func.func @f.npu0.0(%a: memref<4x4xf32, 1>, %r: memref<4x4xf32, 1>)

    All arguments of such a kernel are sharded alike; shard-rows ensures that.
    """

    name: ClassVar[str] = "take-shards"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in top_level(module):
                if op.name == "func.func" and SHARDS in op.attributes:
                    _take(op, DenseI64ArrayAttr(op.attributes[SHARDS])[0])


def _take(kernel: Operation, shards: int) -> None:
    block = kernel.regions[0].blocks[0]
    with kernel.location:
        for argument in block.arguments:
            _shrink(argument, shards)
        for op in block.operations:
            if op.operation.name == "memref.alloc":
                _shrink(op.operation.results[0], shards)
        kind = FunctionType(TypeAttr(kernel.attributes["function_type"]).value)
        types = [argument.type for argument in block.arguments]
        kernel.attributes["function_type"] = TypeAttr.get(FunctionType.get(types, kind.results))
    del kernel.attributes[SHARDS]


def _shrink(memref: Value, shards: int) -> None:
    type = MemRefType(memref.type)
    rows, *others = type.shape
    shape = [-(-rows // shards), *others]
    memref.set_type(MemRefType.get(shape, type.element_type, None, type.memory_space))
