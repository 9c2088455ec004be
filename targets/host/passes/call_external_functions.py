# SPDX-License-Identifier: Apache-2.0
"""call-external-functions: replaces tiles by calls of the external functions for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from xtc.core.errors import UserError
from xtc.ir.analysis.linalg_ops import node_id, operations_with
from xtc.ir.analysis.structured import Structured, element_bits, is_shaped, structured
from xtc.ir.attributes import EXTERNAL, EXTERNALS
from xtc.ir.builders.functions import call, declaration
from xtc.ir.builders.numbers import add, as_value, multiply
from xtc.ir.builders.view_offsets import view_offset
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    DenseI64ArrayAttr,
    DictAttr,
    IndexType,
    InsertionPoint,
    MemRefType,
    Operation,
    StringAttr,
    Value,
    memref,
)
from xtc.ir.passes import Pass
from xtc_targets.host.external_signature import Signature, Tile, caller

_T = TypeVar("_T")
_C_TYPES = {
    "f32": "float",
    "f64": "double",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "i1": "uint8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
}


@dataclass(frozen=True)
class CallExternalFunctions(Pass):
    """Call the function that a schedule names on each tile, with the tile's addresses.

    Before:
        linalg.generic {xtc.external = {function = "f", ...}} ins(%a, %b) outs(%c) : (views)
    After:
        func.call @xtc_f_tile0(%c_address, %a_address, %b_address) : (index, index, index) -> ()

    `xtc_f_tile0` is a C function that calls `f` with the extents and strides of one form of tiles,
    and stores its status. The module's `xtc.externals` has its text.
    """

    name: ClassVar[str] = "call-external-functions"

    def run(self, module: Operation) -> None:
        found = operations_with(module, EXTERNAL)
        if not found:
            return
        functions: dict[str, _Function] = {}
        with module.context:
            for op in found:
                _replace(op, functions)
            _check_names(module, functions)
            with InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
                for function in functions.values():
                    function.declare()
            parts = [function.attribute for function in functions.values()]
            module.attributes[EXTERNALS] = ArrayAttr.get(parts)


@dataclass
class _Function:
    """An external function, and its callers for the forms of tiles.

    Attributes:
        signature: the signature of all its calls.
        fields: its entries in the schedule.
        callers: names of its callers.
    """

    signature: Signature
    fields: Mapping[str, Attribute]
    callers: dict[Tile, str] = field(default_factory=dict)

    def caller(self, tile: Tile) -> str:
        """The name of the caller for such tiles."""
        name = f"xtc_{self.signature.function}_tile{len(self.callers)}"
        return self.callers.setdefault(tile, name)

    def declare(self) -> None:
        """Declare the callers of the function."""
        for name in self.callers.values():
            declaration(name, [IndexType.get()] * len(self.signature.types))

    @property
    def attribute(self) -> DictAttr:
        """The function's description for code generators."""
        texts = {
            "function": self.signature.function,
            "declaration": self.signature.declaration,
            "callers": "\n".join(caller(name, tile) for tile, name in self.callers.items()),
        }
        lists = {name: self.fields[name] for name in ("sources", "flags")}
        return DictAttr.get({n: StringAttr.get(text) for n, text in texts.items()} | lists)


def _check_names(module: Operation, functions: Collection[str]) -> None:
    """Raise UserError if an external function has the name of one of the module's functions."""
    for op in module.regions[0].blocks[0].operations:
        name = StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""
        if name in functions:
            raise UserError(
                f"'{name}' is the graph's function and an external one",
                hints=["give one of them another name"],
            )


def _replace(op: Operation, functions: dict[str, _Function]) -> None:
    """Call the function that computes the operation."""
    fields = {entry.name: entry.attr for entry in DictAttr(op.attributes[EXTERNAL])}
    nest = structured(op)
    if nest is None or not all(map(is_shaped, op.operands)):
        raise UserError(
            f"{node_id(op)} cannot be computed by a function",
            notes=["its operands are not all arrays whose elements lie at constant strides"],
        )
    tile = _tile(nest, fields)
    name = tile.signature.function
    function = functions.setdefault(name, _Function(tile.signature, fields))
    if function.signature != tile.signature:
        raise UserError(
            f"'{name}' is to compute tiles with two signatures",
            notes=[function.signature.declaration, tile.signature.declaration],
            hints=["give it two names"],
        )
    with op.location, InsertionPoint(op):
        addresses = [_address(nest, number) for number in _result_first(range(len(nest.indices)))]
        call(function.caller(tile), addresses)
    op.erase()


def _tile(nest: Structured, fields: Mapping[str, Attribute]) -> Tile:
    loops = tuple(DenseI64ArrayAttr(fields["loops"]))
    names = tuple(StringAttr(name).value for name in ArrayAttr(fields["names"]))
    numbers = _result_first(range(len(nest.indices)))
    types = tuple(_c_type(nest.op.operands[number]) for number in numbers)
    strides = tuple(tuple(_stride(nest, number, loop) for loop in loops) for number in numbers)
    signature = Signature(str(StringAttr(fields["function"]).value), types, names)
    return Tile(signature, tuple(nest.extents[loop] for loop in loops), strides)


def _c_type(value: Value) -> str:
    return _C_TYPES[str(MemRefType(value.type).element_type)]


def _strides(nest: Structured, number: int) -> list[int]:
    strides, _ = MemRefType(nest.op.operands[number].type).get_strides_and_offset()
    return list(strides)


def _stride(nest: Structured, number: int, loop: int) -> int:
    """The distance in elements between consecutive iterations of a loop in an operand."""
    pairs = zip(nest.indices[number], _strides(nest, number), strict=True)
    return sum(index.factor(loop) * stride for index, stride in pairs)


def _address(nest: Structured, number: int) -> Value:
    """The address of the first element of an operand."""
    value = nest.op.operands[number]
    buffer, start = view_offset(value)
    pairs = zip(nest.indices[number], _strides(nest, number), strict=True)
    first = add(start, sum(index.offset * stride for index, stride in pairs))
    nbytes = max(1, element_bits(value) // 8)
    base = memref.extract_aligned_pointer_as_index(buffer)
    return as_value(add(base, multiply(first, nbytes)))


def _result_first(operands: Sequence[_T]) -> list[_T]:
    """The operands with the result, which is the last one, first."""
    return [operands[-1], *operands[:-1]]
