# SPDX-License-Identifier: Apache-2.0
"""use-dot-products: lowers contractions of interleaved operands to dot-product instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import operations_with
from xtc.ir.analysis.structured import structured
from xtc.ir.attributes import DOT
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    InsertionPoint,
    IntegerType,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    Type,
    Value,
    VectorType,
    arith,
    memref,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.passes import Pass
from xtc_targets.host.passes._dot_instructions import Dot, dot_for

_WORD = 32  # bits of an accumulator, and of the group of elements that an instruction adds to it


@dataclass(frozen=True)
class UseDotProducts(Pass):
    """Replace `c[j] += a[t] * b[j][t]` on buffers by instructions that reduce over t.

    Before:
        linalg.generic {xtc.dot} ins(%a, %b : memref<2xbf16>, memref<16x2xbf16>)
                                 outs(%c : memref<16xf32>)
    After:
        %lanes = vector.broadcast %a01 : i32 to vector<16xi32>
        %d = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%c, %lanes, %b)
        vector.store %d, %c[%0] : memref<16xf32>, vector<16xf32>

    Operations on strided memory, or with a remainder, are left to be lowered to loops.

    Attributes:
        features: the features given to `interleave-operands`.
    """

    name: ClassVar[str] = "use-dot-products"
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        dot_for(self.features, "")

    def run(self, module: Operation) -> None:
        with module.context:
            for op in operations_with(module, DOT):
                dot = self._dot(op)
                if dot is not None and _is_innermost(op, dot):
                    with op.location, InsertionPoint(op):
                        _rewrite(op, dot)
                    op.erase()

    def _dot(self, op: Operation) -> Dot | None:
        element = getattr(op.operands[0].type, "element_type", None)
        return dot_for(self.features, str(element))


def _is_innermost(op: Operation, dot: Dot) -> bool:
    """Whether there is one loop over results and one over K, both contiguous."""
    nest = structured(op)
    if nest is None or not all(isinstance(value.type, MemRefType) for value in op.operands):
        return False
    rows = [[index.loop for index in row] for row in nest.indices]
    results = nest.extents[0]
    return (
        rows == [[1], [0, 1], [0]]
        and nest.extents[1] == dot.group
        and results % min(dot.intrinsics) == 0
        and all(_is_dense(value) for value in op.operands)
    )


def _is_dense(value: Value) -> bool:
    strides, _ = MemRefType(value.type).get_strides_and_offset()
    expected = 1
    for size, stride in reversed(list(zip(value.type.shape, strides, strict=True))):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _rewrite(op: Operation, dot: Dot) -> None:
    a, panel, results = op.operands
    element = a.type.element_type
    zero = index_constant(0, InsertionPoint(op))
    elements = vector.load(VectorType.get([dot.group], element), a, [zero])
    word = vector.extract(vector.bitcast(_words(1), elements), [], [0])
    flat = _flat(panel)
    start, end = 0, MemRefType(results.type).shape[0]
    while start < end:
        lanes = max(count for count in dot.intrinsics if start + count <= end)
        a_lanes = _as_operand(vector.broadcast(_words(lanes), word), dot, element)
        _add(dot, lanes, a_lanes, flat, results, start)
        start += lanes


def _add(dot: Dot, lanes: int, a_lanes: Value, panel: Value, results: Value, start: int) -> None:
    """Append the instruction for the results from `start` on."""
    here = InsertionPoint.current
    element, total = MemRefType(panel.type).element_type, MemRefType(results.type).element_type
    loaded = VectorType.get([lanes * dot.group], element)
    first = index_constant(start * dot.group, here)
    words = vector.bitcast(_words(lanes), vector.load(loaded, panel, [first]))
    operands = [a_lanes, _as_operand(words, dot, element)]
    offset = index_constant(start, here)
    type = VectorType.get([lanes], total)
    old = vector.load(type, results, [offset])
    if dot.adds:
        new = _call(dot.intrinsics[lanes], type, [old, *operands])
    else:
        new = arith.addi(old, _call(dot.intrinsics[lanes], type, operands))
    vector.store(new, results, [offset])


def _words(lanes: int) -> Type:
    return VectorType.get([lanes], IntegerType.get_signless(_WORD))


def _as_operand(words: Value, dot: Dot, element: Type) -> Value:
    """Words as a vector of the instruction's operand type."""
    lanes = VectorType(words.type).shape[0] * dot.group
    return llvm.bitcast(VectorType.get([lanes], element), words)


def _call(name: str, type: Type, operands: list[Value]) -> Value:
    return llvm.call_intrinsic(type, name, operands, [], [])


def _flat(panel: Value) -> Value:
    """The panel's tile as one row."""
    old = MemRefType(panel.type)
    size = old.shape[0] * old.shape[1]
    _, offset = old.get_strides_and_offset()
    is_strided = isinstance(old.layout, StridedLayoutAttr)
    layout = StridedLayoutAttr.get(offset, [1]) if is_strided else None
    type = MemRefType.get([size], old.element_type, layout, old.memory_space)
    return memref.collapse_shape(type, panel, [[0, 1]])
