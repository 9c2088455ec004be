# SPDX-License-Identifier: Apache-2.0
"""bf16-to-bits: bfloat16 values without arithmetic become 16-bit integers."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.mlir import (
    Attribute,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Operation,
    Type,
    TypeAttr,
    Value,
    all_operations,
)
from xtc.ir.passes import Pass

_UNTYPED = ("affine.", "arith.", "math.", "scf.", "vector.")
"""Dialects whose operations have no types in attributes."""


@dataclass(frozen=True)
class Bf16ToBits(Pass):
    """Replace the type bf16 by i16 everywhere, once `expand-bf16` has left no arithmetic on it.

    On processors with AVX512-BF16, LLVM 22 for x86-64 treats vectors of bfloat16 as legal but
    scalars as illegal, and aborts between the two ("Unexpected illegal type!"). On others it lowers
    a select to a call that libgcc 12 lacks. Integers with the same bits avoid both.

        %x = memref.load %a[%i] : memref<8xbf16>        %x = memref.load %a[%i] : memref<8xi16>
        %b = arith.bitcast %x : bf16 to i16         ->  %b = arith.bitcast %x : i16 to i16
    """

    name: ClassVar[str] = "bf16-to-bits"

    def run(self, module: Operation) -> None:
        with module.context:
            types = _Types()
            for op in all_operations(module):
                _rewrite(op, types)


@dataclass
class _Types:
    """The replacement of each type, computed once per type."""

    known: dict[Type, Type | None] = field(default_factory=dict)

    def change(self, value: Value) -> None:
        """Give a value its new type."""
        new = self.new(value.type)
        if new is not None:
            value.set_type(new)

    def new(self, type: Type) -> Type | None:
        """The type that replaces `type`, or None if it stays."""
        if type not in self.known:
            text = str(type)
            changed = "bf16" in text
            self.known[type] = Type.parse(text.replace("bf16", "i16")) if changed else None
        return self.known[type]


def _rewrite(op: Operation, types: _Types) -> None:
    kind = op.name
    if kind == "arith.constant" and types.new(op.results[0].type) is not None:
        op.attributes["value"] = _bits(op.attributes["value"], types)
    elif kind == "memref.global" and _has_new_content(op, types):
        op.attributes["initial_value"] = _bits(op.attributes["initial_value"], types)
    if kind != "llvm.bitcast":  # to the operand type of a bfloat16 instruction
        for result in op.results:
            types.change(result)
    for region in op.regions if len(op.regions) else ():
        for block in region.blocks:
            for argument in block.arguments:
                types.change(argument)
    for name in () if kind.startswith(_UNTYPED) else op.attributes:
        attribute = op.attributes[name]
        if isinstance(attribute, TypeAttr):
            new = types.new(attribute.value)
            if new is not None:
                op.attributes[name] = TypeAttr.get(new)


def _has_new_content(op: Operation, types: _Types) -> bool:
    """Whether the initial value of a global has a type that changes."""
    content = op.attributes.get("initial_value")
    return isinstance(content, DenseElementsAttr) and types.new(content.type) is not None


def _bits(value: Attribute, types: _Types) -> Attribute:
    """A constant's bits as an integer constant."""
    element = IntegerType.get_signless(16)
    if isinstance(value, FloatAttr):
        return IntegerAttr.get(element, _upper_half(value.value))
    dense = DenseElementsAttr(value)
    type = types.new(dense.type)
    if dense.is_splat:
        number = FloatAttr(dense.get_splat_value()).value
        return DenseElementsAttr.get_splat(type, IntegerAttr.get(element, _upper_half(number)))
    numbers = [IntegerAttr.get(element, bits) for bits in _element_bits(dense)]
    return DenseElementsAttr.get(numbers, type)


def _element_bits(dense: DenseElementsAttr) -> list[int]:
    """The bits of every element, from the text: MLIR's bindings do not read bfloat16."""
    text = str(dense).rpartition(" : ")[0]
    if '"0x' in text:  # all bytes in one string, as large constants are written
        content = bytes.fromhex(text.partition('"0x')[2].partition('"')[0])
        return [bits for (bits,) in struct.iter_unpack("<h", content)]
    return [
        _signed(int(word, 16)) if word.startswith("0x") else _upper_half(float(word))
        for word in re.findall(r"0x[0-9A-F]+|-?[0-9][0-9.Ee+-]*", text)
    ]


def _upper_half(number: float) -> int:
    """The bits of the nearest bfloat16: those of a float32, without the lower half."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return _signed(bits + 0x8000 >> 16)


def _signed(half: int) -> int:
    """Sixteen bits as a signed integer."""
    return half - (1 << 16) if half >= 1 << 15 else half
