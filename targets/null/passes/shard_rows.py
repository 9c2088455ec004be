# SPDX-License-Identifier: Apache-2.0
"""shard-rows: divides the rows of elementwise kernels among the memories of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.attributes import SHARDS
from xtc.ir.mlir import (
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    DenseI64ArrayAttr,
    MemRefType,
    Operation,
)
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_BESIDE = ("arith.constant", "memref.alloc", "memref.dealloc", "func.return")


@dataclass(frozen=True)
class ShardRows(Pass):
    """Divide the rows of elementwise kernels equally among the memories.

    Before:
        func.func private @f.npu0.0(%a: memref<7x4xf32>, %r: memref<7x4xf32>) {
          linalg.generic {indexing_maps = [#identity, #identity], ...} ins(%a) outs(%r) { ... } }
    After, for 2 memories:
        the same with attributes {xtc.shards = array<i64: 2, 2>}

    Each memory computes 4 rows, the last of which is padding in the second memory. Arguments of
    other kernels are replicated in every memory.

    Attributes:
        memories: number of memories of the device.
    """

    name: ClassVar[str] = "shard-rows"
    memories: int = 2

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for op in top_level(module):
                if op.name == "func.func" and op.regions[0].blocks and _is_elementwise(op):
                    count = len(op.regions[0].blocks[0].arguments)
                    op.attributes[SHARDS] = DenseI64ArrayAttr.get([self.memories] * count)


def _is_elementwise(function: Operation) -> bool:
    block = function.regions[0].blocks[0]
    types = {str(argument.type) for argument in block.arguments}
    memrefs = [argument.type for argument in block.arguments if _is_memref(argument)]
    if len({tuple(MemRefType(type).shape) for type in memrefs}) != 1:
        return False
    operations = [op.operation for op in block.operations if op.operation.name not in _BESIDE]
    return all("memref" in type for type in types) and all(map(_is_map, operations))


def _is_memref(value: object) -> bool:
    return isinstance(value.type, MemRefType)  # type: ignore[attr-defined]


def _is_map(op: Operation) -> bool:
    """Whether `op` is an elementwise linalg operation on whole arrays."""
    if op.name != "linalg.generic":
        return False
    maps = [
        AffineMapAttr(index_map).value for index_map in ArrayAttr(op.attributes["indexing_maps"])
    ]
    rank = maps[0].n_dims
    inner = {nested.operation.name for nested in op.regions[0].blocks[0].operations}
    return (
        rank > 0
        and "linalg.index" not in inner
        and all(index_map == AffineMap.get_identity(rank) for index_map in maps)
    )
