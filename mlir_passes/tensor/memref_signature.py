# SPDX-License-Identifier: Apache-2.0
"""memref-signature: rewrites functions to take buffers and to compute on tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xtc.core.errors import UserError
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    ArrayAttr,
    Block,
    DenseI32ArrayAttr,
    DictAttr,
    FunctionType,
    InsertionPoint,
    MemRefType,
    Operation,
    RankedTensorType,
    Type,
    TypeAttr,
    UnitAttr,
    Value,
    all_operations,
    bufferization,
    func,
)
from xtc.ir.passes import Pass
from xtc_passes.tensor._scheduled import location_of

_TEMPORARY = ("memref.alloc", "memref.alloca")


@dataclass(frozen=True)
class MemrefSignature(Pass):
    """Bring a function with a single block into the form of the stage `source`.

    Before:
        func.func @f(%a: memref<4xf32>, %c: memref<4xf32>) {
          linalg.exp ins(%a : memref<4xf32>) outs(%c : memref<4xf32>) ... }
    After:
        func.func @f(%a: memref<4xf32> {llvm.noalias}, %c: memref<4xf32> {llvm.noalias}) {
          %0 = bufferization.to_tensor %a restrict ...
          %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(...) -> tensor<4xf32>
          bufferization.materialize_in_destination %1 in restrict writable %c ... }

    Tensor arguments become buffers that the function reads. Results become buffers that it writes,
    after the other arguments. The function may also store tensors to buffers with
    `bufferization.materialize_in_destination`. It assumes that its arguments do not overlap.
    """

    name: ClassVar[str] = "memref-signature"

    def run(self, module: Operation) -> None:
        functions = [op for op in all_operations(module) if op.name == "func.func"]
        with module.context, module.location:
            for op in functions:
                if len(op.regions[0].blocks) == 1 and _needs_it(op):
                    _check_types(op)
                    _Rewriting(op).run()


def _needs_it(function: Operation) -> bool:
    block = function.regions[0].blocks[0]
    end = list(block.operations)[-1]
    values = [*block.arguments, *end.operation.operands]
    if any(isinstance(value.type, RankedTensorType) for value in values):
        return True
    return any(_outputs(op.operation) != [] for op in block.operations)


def _is_linalg(op: Operation) -> bool:
    return str(op.name).startswith("linalg.")


def _buffers(op: Operation) -> list[Value]:
    return [value for value in op.operands if isinstance(value.type, MemRefType)]


def _check_types(function: Operation) -> None:
    for argument in function.regions[0].blocks[0].arguments:
        if isinstance(argument.type, RankedTensorType | MemRefType):
            _check_array(argument, function)


def _check_array(value: Value, at: Operation) -> None:
    """Raise UserError unless an array is dense and its sizes are known."""
    type = value.type
    if not type.has_static_shape:
        why = "whose sizes are not all known"
    elif isinstance(type, MemRefType) and type != _memref(type):
        why = "which is not dense, or has a memory space"
    else:
        return
    raise UserError(f"{at.name} has an array {type}, {why}", where=location_of(at))


@dataclass
class _Rewriting:
    """Rewrites one function; `held` has the tensor that each buffer currently holds."""

    function: Operation
    held: dict[Value, Value] = field(default_factory=dict)
    written: list[Value] = field(default_factory=list)

    @property
    def block(self) -> Block:
        return self.function.regions[0].blocks[0]

    def run(self) -> None:
        ops = [view.operation for view in self.block.operations]
        temporaries = [op for op in ops if op.name in _TEMPORARY]
        self._arguments({value for op in ops for value in (*_outputs(op), *_stored(op))})
        for op in ops:
            self._operation(op)
        for op in temporaries:
            op.erase()

    def _arguments(self, outputs: set[Value]) -> None:
        """Turn tensor arguments into buffers, and read the contents of buffers as tensors."""
        start = InsertionPoint.at_block_begin(self.block)
        for argument in list(self.block.arguments):
            if isinstance(argument.type, RankedTensorType):
                tensor = argument.type
                users = [(use.owner, use.operand_number) for use in argument.uses]
                argument.set_type(_memref(tensor))
                value = _to_tensor(argument, tensor, start, writable=False)
                for user, number in users:
                    user.operands[number] = value
            elif isinstance(argument.type, MemRefType):
                writable = argument in outputs
                tensor = _tensor(argument.type)
                self.held[argument] = _to_tensor(argument, tensor, start, writable=writable)

    def _operation(self, op: Operation) -> None:
        if op.name in _TEMPORARY:
            self._temporary(op)
        elif op.name == "memref.dealloc" and op.operands[0] in self.held:
            op.erase()
        elif op.name == "func.return":
            self._end(op)
        elif _is_linalg(op) and _buffers(op):
            self._on_tensors(op)
        elif _stored(op) and _stored(op)[0] in self.held:
            self._store(op)
        else:
            _check_no_buffers(op)

    def _temporary(self, op: Operation) -> None:
        _check_array(op.results[0], op)
        type, ip = _tensor(op.results[0].type), InsertionPoint(op)
        self.held[op.results[0]] = bufferization.alloc_tensor(type, [], ip=ip)

    def _store(self, op: Operation) -> None:
        """Record that a buffer holds a tensor from here on."""
        (buffer,) = _stored(op)
        self.held[buffer] = op.operands[0]
        self.written.append(buffer)
        op.erase()

    def _on_tensors(self, op: Operation) -> None:
        """Rewrite an operation to use the tensors that its buffers hold, and record its results."""
        _check_inside(op)
        outputs = _outputs(op)
        operands = [self._value(op, value) for value in op.operands]
        types = [_tensor(value.type) for value in outputs]
        with op.location:
            new = rebuilt(op, operands, types, ip=InsertionPoint(op))
        for old, region in zip(op.regions, new.regions, strict=True):
            old.blocks[0].append_to(region)
        for value, result in zip(outputs, new.results, strict=True):
            self.held[value] = result
            self.written.append(value)
        op.erase()

    def _value(self, op: Operation, value: Value) -> Value:
        if not isinstance(value.type, MemRefType):
            return value
        if value not in self.held:
            raise _foreign_buffer(op)
        return self.held[value]

    def _end(self, op: Operation) -> None:
        """Store the results to their buffers, and return nothing."""
        ip = InsertionPoint(op)
        arguments = list(self.block.arguments)
        for buffer in dict.fromkeys(self.written):
            if buffer in arguments:
                _write(self.held[buffer], buffer, ip)
        for value in list(op.operands):
            if not isinstance(value.type, RankedTensorType):
                raise UserError(
                    f"the function returns {value.type}; tensors alone become arguments",
                    where=location_of(op),
                )
            _check_array(value, op)
            _write(value, self.block.add_argument(_memref(value.type), op.location), ip)
        func.return_([], ip=ip)
        op.erase()
        self._sign()

    def _sign(self) -> None:
        types: list[Type] = [argument.type for argument in self.block.arguments]
        self.function.attributes["function_type"] = TypeAttr.get(FunctionType.get(types, []))
        self.function.attributes["arg_attrs"] = ArrayAttr.get(
            [
                DictAttr.get({"llvm.noalias": UnitAttr.get()} if _is_memref(type) else {})
                for type in types
            ]
        )
        if "res_attrs" in self.function.attributes:
            del self.function.attributes["res_attrs"]


def _is_memref(type: Type) -> bool:
    return isinstance(type, MemRefType)


def _outputs(op: Operation) -> list[Value]:
    """The buffers that a linalg operation writes."""
    if not _is_linalg(op) or not _buffers(op):
        return []
    if "operandSegmentSizes" in op.attributes:
        count = DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[1]
    else:
        count = len(op.operands) // 2 if op.name == "linalg.reduce" else 1
    return list(op.operands)[len(op.operands) - count :]


def _stored(op: Operation) -> list[Value]:
    """The buffer that a whole tensor is stored to."""
    if op.name != "bufferization.materialize_in_destination" or len(op.results):
        return []
    return [value for value in _buffers(op)[-1:] if value == op.operands[1]]


def _check_inside(op: Operation) -> None:
    """Raise UserError unless bodies compute only on elements."""
    for inner in all_operations(op):
        if inner != op and _buffers(inner):
            raise _foreign_buffer(inner)


def _check_no_buffers(op: Operation) -> None:
    inside = all_operations(op)
    if any(_buffers(inner) or any(_is_memref(r.type) for r in inner.results) for inner in inside):
        raise _foreign_buffer(op)


def _foreign_buffer(op: Operation) -> UserError:
    return UserError(
        f"{op.name} uses a buffer; only linalg operations, memref.alloc and memref.dealloc may",
        where=location_of(op),
        hints=["write the function on tensors"],
    )


def _tensor(type: MemRefType) -> RankedTensorType:
    return RankedTensorType.get(type.shape, type.element_type)


def _memref(type: RankedTensorType | MemRefType) -> MemRefType:
    """The type of a dense buffer of this shape."""
    return MemRefType.get(type.shape, type.element_type)


def _to_tensor(
    buffer: Value, type: RankedTensorType, ip: InsertionPoint, *, writable: bool
) -> Value:
    return bufferization.to_tensor(type, buffer, restrict=True, writable=writable, ip=ip)


def _write(value: Value, buffer: Value, ip: InsertionPoint) -> None:
    bufferization.materialize_in_destination(
        None, value, buffer, restrict=True, writable=True, ip=ip
    )
