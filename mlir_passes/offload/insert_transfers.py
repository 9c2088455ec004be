# SPDX-License-Identifier: Apache-2.0
"""insert-transfers: device functions get buffers on their device, and copies only where needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.effects import is_view, memrefs_of, written_memrefs
from xtc.ir.analysis.views import is_reshape, root
from xtc.ir.attributes import DEVICE, ON_DEVICE, RESULTS, SHARDS
from xtc.ir.builders.functions import call
from xtc.ir.mlir import (
    ArrayAttr,
    Attribute,
    Block,
    DenseI64ArrayAttr,
    DictAttr,
    FlatSymbolRefAttr,
    FunctionType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    StringAttr,
    TypeAttr,
    Value,
    all_operations,
    memref,
)
from xtc.ir.partition import symbol_of
from xtc.ir.passes import Pass
from xtc_passes.offload._device_buffers import (
    allocate,
    copy_in,
    copy_out,
    copy_within,
    in_space,
    on_device,
)


@dataclass(frozen=True)
class InsertTransfers(Pass):
    """Give calls of device functions buffers in memory space 1.

    Before:
        call @f.npu0.0(%a, %r) : (memref<4xf32>, memref<4xf32>) -> ()
    After:
        %0 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
        memref.copy %a, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
        %1 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
        call @f.npu0.0(%0, %1) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
        memref.copy %1, %r {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
        memref.dealloc %0 {xtc.device = "npu0"} : memref<4xf32, 1>

    An operand of a device function is copied in if its device has no valid copy. A result is copied
    out only when the host or another device reads it, or when the function returns it. An argument
    or constant with `memref.on_device` lives on its device: it is neither allocated nor copied for
    functions of that device. If the attribute names no device, it means the only one of `devices`,
    or of the module's functions. A copy between two such buffers stays on their device.

    `xtc.shards` of a device function gives the sharding of each argument over the device's
    memories. Buffers follow it. An argument or a constant on the device has the sharding that its
    first user needs. If two functions disagree, each has a separate buffer, and data is exchanged
    through the host.
    """

    name: ClassVar[str] = "insert-transfers"

    devices: tuple[str, ...] = ()

    def run(self, module: Operation) -> None:
        functions = {
            StringAttr(op.attributes["sym_name"]).value: op
            for op in (op.operation for op in module.regions[0].blocks[0].operations)
            if op.name == "func.func"
        }
        kernels = {name: op for name, op in functions.items() if DEVICE in op.attributes}
        with module.context:
            for op in functions.values():
                if DEVICE not in op.attributes and op.regions[0].blocks:
                    _Transfers(module, op, kernels, self.devices).insert()
            for kernel in kernels.values():
                _move_arguments(kernel)


@dataclass(frozen=True, order=True)
class _Memory:
    """The placement of a buffer on a device: replicated over its memories, or in shards."""

    device: str
    shards: int

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The attributes of an allocation with this placement."""
        device = {DEVICE: StringAttr.get(self.device)}
        if not self.shards:
            return device
        i64 = IntegerType.get_signless(64)
        return {**device, SHARDS: IntegerAttr.get(i64, self.shards)}


@dataclass(eq=False)
class _Buffer:
    """One allocation, as the host and the devices see it.

    Attributes:
        host: the host's memref.
        twins: the memrefs on devices, by placement.
        valid: the placements with the current contents; None stands for the host.
        home: the placement on a device in which the caller or the loader keeps it.
    """

    host: Value
    twins: dict[_Memory, Value] = field(default_factory=dict)
    valid: set[_Memory | None] = field(default_factory=set)
    home: _Memory | None = None


class _Transfers:
    """Walks one host function from top to bottom and keeps track of where contents are valid."""

    def __init__(
        self,
        module: Operation,
        function: Operation,
        kernels: dict[str, Operation],
        devices: Sequence[str],
    ) -> None:
        self._module = module
        self._function = function
        self._kernels = kernels
        self._devices = devices
        self._block: Block = function.regions[0].blocks[0]
        self._buffers: list[_Buffer] = []
        self._allocated: list[tuple[Value, str]] = []

    def insert(self) -> None:
        _write_results_directly(self._block)
        operations = [op.operation for op in self._block.operations]
        self._find_arguments()
        for op in operations:
            with op.location:
                if op.name in ("memref.alloc", "memref.get_global"):
                    self._define(op)
                elif self._kernel(op) is not None:
                    self._call(op)
                elif op.name == "func.return":
                    self._finish(op)
                elif op.name != "memref.dealloc" and not self._copy_within(op):
                    self._run_on_host(op)

    def _kernel(self, op: Operation) -> Operation | None:
        if op.name != "func.call":
            return None
        return self._kernels.get(FlatSymbolRefAttr(op.attributes["callee"]).value)

    def _find_arguments(self) -> None:
        attributes = self._function.attributes
        described = list(attributes["arg_attrs"]) if "arg_attrs" in attributes else []
        for position, argument in enumerate(self._block.arguments):
            home = _device_named(described[position], self._only_device) if described else None
            if home is None:
                self._buffers.append(_Buffer(argument, valid={None}))
            else:
                memory = self._wanted(argument, home)
                with self._function.location:
                    self._buffers.append(self._resident(argument, memory))
                described[position] = _with_shards(described[position], memory)
        if described:
            attributes["arg_attrs"] = ArrayAttr.get(described)
        _retype(self._function, self._block)

    def _wanted(self, memref: Value, device: str) -> _Memory:
        """The placement that the first function on `device` that uses a buffer needs."""
        for op in self._block.operations:
            kernel = self._kernel(op.operation)
            if kernel is not None and _device(kernel) == device:
                for position, operand in enumerate(op.operands):
                    if operand == memref:
                        return _Memory(device, _shards(kernel)[position])
        return _Memory(device, 0)

    def _define(self, op: Operation) -> None:
        memref = op.results[0]
        if op.name == "memref.alloc":
            self._buffers.append(_Buffer(memref))
            return
        symbol = FlatSymbolRefAttr(op.attributes["name"]).value
        declared = next(op for op in self._globals() if symbol_of(op) == symbol)
        home = _device_named(declared.attributes, self._only_device)
        if home is None:
            self._buffers.append(_Buffer(memref, valid={None}))
            return
        memory = self._wanted(memref, home)
        self._buffers.append(self._resident(memref, memory))
        for name, value in memory.attributes.items():
            op.attributes[name] = value
        declared.attributes["type"] = TypeAttr.get(memref.type)

    def _resident(self, memref: Value, home: _Memory) -> _Buffer:
        """A buffer that lives in `home`; the host gets a separate memref, dead unless used."""
        point = _after(memref, self._block)
        host = allocate(memref.type, {}, point)
        memref.replace_all_uses_with(host)
        memref.set_type(on_device(memref.type))
        return _Buffer(host, {home: memref}, {home}, home)

    def _call(self, op: Operation) -> None:
        kernel = self._kernel(op)
        if kernel is None:
            return
        device, shards = _device(kernel), _shards(kernel)
        memories = [_Memory(device, number) for number in shards]
        results = IntegerAttr(kernel.attributes[RESULTS]).value
        inputs = list(op.operands)[: len(op.operands) - results]
        outputs = list(op.operands)[len(inputs) :]
        ip = InsertionPoint(op)
        read, wrote = memories[: len(inputs)], memories[len(inputs) :]
        twins = [self._input(*pair, ip) for pair in zip(inputs, read, strict=True)]
        written = [self._buffer(value, ip) for value in outputs]
        for buffer, memory in zip(written, wrote, strict=True):
            twins.append(self._twin(buffer, memory, ip, read=False))
        call(symbol_of(kernel), twins, attributes={DEVICE: StringAttr.get(device)}, ip=ip)
        for buffer, value, memory in zip(written, outputs, wrote, strict=True):
            buffer.valid = {memory}
            if buffer.host != value:
                self._copy_back_view(buffer, value, InsertionPoint(op))
        op.erase()

    def _input(self, value: Value, memory: _Memory, ip: InsertionPoint) -> Value:
        """The kernel's operand for `value`: a memref on the device, or the number itself."""
        if not isinstance(value.type, MemRefType):
            return value
        if not memory.shards and _is_reshaped(value):
            source = self._input(value.owner.operation.operands[0], memory, ip)
            return _reshaped(value, source, ip)
        return self._twin(self._buffer(value, ip), memory, ip, read=True)

    def _twin(self, buffer: _Buffer, memory: _Memory, ip: InsertionPoint, *, read: bool) -> Value:
        """The buffer in `memory`: allocated if it is new, and up to date if it is to be read."""
        if memory not in buffer.twins:
            twin = allocate(on_device(buffer.host.type), memory.attributes, ip)
            buffer.twins[memory] = twin
            self._allocated.append((twin, memory.device))
        # An unwritten buffer has no contents to copy; the window of a pooling is an example.
        if read and buffer.valid and memory not in buffer.valid:
            self._make_host_valid(buffer, ip)
            copy_in(buffer.host, buffer.twins[memory], memory.device, ip)
            buffer.valid.add(memory)
        return buffer.twins[memory]

    def _make_host_valid(self, buffer: _Buffer, ip: InsertionPoint) -> None:
        if None not in buffer.valid and buffer.valid:
            source = sorted(memory for memory in buffer.valid if memory is not None)[0]
            copy_out(buffer.twins[source], buffer.host, source.device, ip)
            buffer.valid.add(None)

    def _copy_within(self, op: Operation) -> bool:
        """Copy on a device, if both the source and the result are kept there."""
        if op.name != "memref.copy":
            return False
        value, target = op.operands[0], self._root(op.operands[1])
        source = self._root(value)
        home = target.home if target is not None else None
        if source is None or target is None or home is None or home not in source.valid:
            return False
        if target.host != op.operands[1] or not _is_whole(value, source, home):
            return False
        ip = InsertionPoint(op)
        copy_within(self._input(value, home, ip), target.twins[home], home.device, ip)
        target.valid = {home}
        op.erase()
        return True

    def _run_on_host(self, op: Operation) -> None:
        """Let the host operation access the host's memrefs, updated first where it reads."""
        ip = InsertionPoint(op)
        touched = {
            id(found): found for value in memrefs_of(op) if (found := self._root(value)) is not None
        }
        written = {
            id(found) for value in written_memrefs(op) if (found := self._root(value)) is not None
        }
        overwritten = self._root(op.operands[1]) if op.name == "memref.copy" else None
        for key, buffer in touched.items():
            if buffer is not overwritten or buffer.host != op.operands[1]:
                self._make_host_valid(buffer, ip)
            if key in written:
                buffer.valid = {None}

    def _finish(self, op: Operation) -> None:
        """Copy the contents of arguments to where the caller reads them."""
        ip = InsertionPoint(op)
        for buffer in self._buffers[: len(self._block.arguments)]:
            if buffer.home is None:
                self._make_host_valid(buffer, ip)
            elif buffer.home not in buffer.valid:
                self._twin(buffer, buffer.home, ip, read=True)
        for twin, device in self._allocated:
            release = memref.dealloc(twin, ip=ip).operation
            release.attributes[DEVICE] = StringAttr.get(device)

    def _buffer(self, value: Value, ip: InsertionPoint) -> _Buffer:
        """The buffer behind `value`; a view of a buffer is copied like a buffer."""
        root = self._root(value)
        if root is None or root.host == value:
            return root or _Buffer(value, valid={None})
        self._make_host_valid(root, ip)
        return _Buffer(value, valid={None})

    def _copy_back_view(self, buffer: _Buffer, value: Value, ip: InsertionPoint) -> None:
        root = self._root(value)
        self._make_host_valid(buffer, ip)
        if root is not None:
            root.valid = {None}

    def _roots(self, values: Sequence[Value]) -> dict[int, _Buffer]:
        found = (self._root(value) for value in values)
        return {id(buffer): buffer for buffer in found if buffer is not None}

    def _root(self, value: Value) -> _Buffer | None:
        """The buffer that a memref, or the memref it is a view of, belongs to."""
        found = root(value)
        return next((buffer for buffer in self._buffers if buffer.host == found), None)

    def _globals(self) -> Iterator[Operation]:
        operations = (op.operation for op in self._module.regions[0].blocks[0].operations)
        return (op for op in operations if op.name == "memref.global")

    def _only_device(self) -> str:
        named = {StringAttr(kernel.attributes[DEVICE]).value for kernel in self._kernels.values()}
        return str(sorted(self._devices or named)[0])


def _write_results_directly(block: Block) -> None:
    """Replace a temporary that is only copied to an argument by that argument."""
    for op in [op.operation for op in block.operations]:
        if op.name != "memref.copy":
            continue
        source, target = op.operands
        only_here = len(list(target.uses)) == 1 and isinstance(target.owner, Block)
        if only_here and _is_allocation(source) and source.type == target.type:
            allocation = source.owner.operation
            op.erase()
            source.replace_all_uses_with(target)
            allocation.erase()


def _is_allocation(value: Value) -> bool:
    return not isinstance(value.owner, Block) and value.owner.operation.name == "memref.alloc"


def _device_named(attributes: object, only: Callable[[], str]) -> str | None:
    """The device that `memref.on_device` names; a unit attribute means the only device."""
    if ON_DEVICE not in attributes:  # type: ignore[operator]
        return None
    value: Attribute = attributes[ON_DEVICE]  # type: ignore[index]
    return str(value.value) if isinstance(value, StringAttr) else only()


def _device(kernel: Operation) -> str:
    return str(StringAttr(kernel.attributes[DEVICE]).value)


def _shards(kernel: Operation) -> list[int]:
    """The number of shards of each argument of a device function, except numbers."""
    if SHARDS in kernel.attributes:
        return list(DenseI64ArrayAttr(kernel.attributes[SHARDS]))
    kind = FunctionType(TypeAttr(kernel.attributes["function_type"]).value)
    return [0] * len(kind.inputs)


def _with_shards(attributes: Attribute, memory: _Memory) -> DictAttr:
    """An argument's attributes, with its sharding on its device."""
    kept = {named.name: named.attr for named in DictAttr(attributes)}
    if memory.shards:
        kept[SHARDS] = memory.attributes[SHARDS]
    return DictAttr.get(kept)


def _is_whole(value: Value, buffer: _Buffer, memory: _Memory) -> bool:
    """Whether `value` is the whole buffer, possibly reshaped."""
    while value != buffer.host and not memory.shards and _is_reshaped(value):
        value = value.owner.operation.operands[0]
    return bool(value == buffer.host)


def _is_reshaped(value: Value) -> bool:
    """Whether `value` is a reshape of another buffer."""
    return not isinstance(value.owner, Block) and is_reshape(value.owner.operation)


def _reshaped(value: Value, source: Value, ip: InsertionPoint) -> Value:
    """The reshape that `value` is on the host, applied to a source on a device."""
    view = value.owner.operation.clone(ip=ip)
    view.operands[0] = source
    view.results[0].set_type(on_device(view.results[0].type))
    return view.results[0]


def _after(memref: Value, block: Block) -> InsertionPoint:
    """The point right after the definition of `memref`."""
    if isinstance(memref.owner, Block):
        return InsertionPoint.at_block_begin(block)
    following = list(block.operations)
    position = next(i for i, op in enumerate(following) if op.operation == memref.owner.operation)
    return InsertionPoint(following[position + 1])


def _retype(function: Operation, block: Block) -> None:
    """Update the function's type from the types of its arguments."""
    kind = FunctionType(TypeAttr(function.attributes["function_type"]).value)
    new = FunctionType.get([argument.type for argument in block.arguments], kind.results)
    function.attributes["function_type"] = TypeAttr.get(new)


def _move_arguments(kernel: Operation) -> None:
    """Move the arguments of a device function, and the views of them, to its memory space."""
    block = kernel.regions[0].blocks[0]
    with kernel.location:
        for argument in block.arguments:
            if isinstance(argument.type, MemRefType):
                argument.set_type(on_device(argument.type))
        for op in all_operations(kernel):
            if is_view(op):
                source, view = op.operands[0], op.results[0]
                view.set_type(in_space(view.type, MemRefType(source.type).memory_space))
        _retype(kernel, block)
