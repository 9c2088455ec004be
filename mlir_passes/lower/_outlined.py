# SPDX-License-Identifier: Apache-2.0
"""Moves operations into a private function and calls it in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xtc.ir.analysis.captures import argument_attributes, captured, redirect
from xtc.ir.builders.functions import call, function
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    FunctionType,
    InsertionPoint,
    Operation,
    TypeAttr,
    func,
)
from xtc_passes.lower._vectors_in_memory import keep_vectors_in_memory


def outlined(
    name: str,
    operations: Sequence[Operation],
    around: Operation,
    attributes: Mapping[str, Attribute],
    alignments: Mapping[str, Attribute] | None = None,
) -> tuple[Operation, Operation]:
    """Move the operations into a function before `around`; returns the function and the call.

    Its arguments are the buffers and numbers that the operations use; vectors are passed in
    buffers. With `alignments`, which maps symbols of constants to alignments, constants are
    arguments too; otherwise the function reads them itself.
    """
    last = operations[-1]
    with last.location:
        mark = call(name, [], ip=InsertionPoint(last))
        linkage = {"llvm.linkage": Attribute.parse("#llvm.linkage<internal>")}
        result, block = function(
            name, [], private=True, attributes={**attributes, **linkage}, ip=InsertionPoint(around)
        )
        for op in operations:
            block.append(op)
        with InsertionPoint(block):
            func.return_([])
        keep_vectors_in_memory(result, block, mark, around)
        values = captured(result, constants=alignments is not None)
        arguments = [block.add_argument(value.type, last.location) for value in values]
        with InsertionPoint.at_block_begin(block):
            redirect(result, values, arguments)
        types = [value.type for value in values]
        result.attributes["function_type"] = TypeAttr.get(FunctionType.get(types, []))
        result.attributes["arg_attrs"] = ArrayAttr.get(
            argument_attributes(values, alignments or {})
        )
        caller = call(name, values, ip=InsertionPoint(mark))
        mark.erase()
    return result, caller
