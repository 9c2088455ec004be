# SPDX-License-Identifier: Apache-2.0
"""lower-device-commands: lowers device buffers, copies and launches to calls of the runtime."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.interfaces.target import kernel_symbol
from xtc.ir.analysis.effects import is_view, memrefs_of
from xtc.ir.analysis.views import is_reshape, root
from xtc.ir.attributes import (
    BEFORE_FAILURE,
    CONTENTS,
    KERNEL_NODES,
    KERNELS,
    LAUNCH_GRID,
    NODES,
    OVERLAP,
    RESIDENTS,
)
from xtc.ir.builders import numbers
from xtc.ir.builders.functions import call, declaration
from xtc.ir.mlir import (
    AffineMap,
    AffineMapAttr,
    ArrayAttr,
    Block,
    DictAttr,
    FlatSymbolRefAttr,
    FunctionType,
    IndexType,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    Location,
    MemRefType,
    Operation,
    StringAttr,
    Type,
    TypeAttr,
    Value,
    affine,
    all_operations,
    arith,
    memref,
)
from xtc.ir.partition import device_module, device_of, symbol_of, top_level
from xtc.ir.passes import Pass
from xtc_passes.offload._device_buffers import DEVICE_MEMORY, shard_bytes, shards_of
from xtc_passes.offload._device_functions import callee
from xtc_passes.offload._element_bytes import element_bytes

INTEGERS = ("i32", "i64", "index")
"""The types of kernel arguments that may determine a grid."""
SIGNATURES = {
    "xtc_allocate": (2, 1),  # device, bytes -> address
    "xtc_free": (2, 0),  # device, address
    "xtc_resident": (1, 1),  # number -> address
    "xtc_copy_to": (5, 0),  # device, address, host address, bytes, flags
    "xtc_copy_from": (5, 0),  # device, host address, address, bytes, flags
    "xtc_copy_within": (5, 0),  # device, address, address, bytes, flags
    "xtc_launch": (5, 0),  # kernel, address of the arguments, blocks in x, y and z
    "xtc_after": (2, 0),  # device, the device that it waits for
    "xtc_wait": (1, 0),  # device
    "xtc_abandon": (0, 0),
    "xtc_allocate_sharded": (3, 1),  # device, bytes, bytes of a shard -> address
}
"""The functions of `program.h` in its order, with their numbers of arguments and results."""


@dataclass(frozen=True)
class LowerDeviceCommands(Pass):
    """Lower device commands to calls of `xtc_*` functions, which take 64-bit words.

    Before:
        %0 = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
        memref.copy %a, %0 {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
        call @f.npu0.0(%0, %n) {xtc.device = "npu0"} : (memref<4xf32, 1>, i32) -> ()
    After:
        %0 = call @xtc_allocate(%npu0, %c16) : (i64, i64) -> i64
        call @xtc_copy_to(%npu0, %0, %address_of_a, %c16, %flags) : (i64, i64, i64, i64, i64) -> ()
        call @xtc_launch(%kernel, %address_of_arguments, %x, %y, %z) : (i64, ...) -> ()

    Devices are numbered in the order of `devices`, which may include unused devices, or else of the
    names in the program. Kernels and constants on devices are numbered in the order of the module's
    attributes `xtc.kernels` and `xtc.residents`. A kernel that is launched for different graph
    nodes has a number for each of them; `xtc.kernel_nodes` lists the nodes. A kernel takes
    addresses, and integers and floats of 32 and 64 bits, each in the low bytes of a 64-bit word.
    Its grid is 0, 0, 0, which means the grid of the image, unless the device function has the
    attribute `xtc.grid`. Commands are asynchronous: the host waits before it accesses memory that a
    copy uses, and at the end.
    """

    name: ClassVar[str] = "lower-device-commands"

    devices: tuple[str, ...] = ()

    def run(self, module: Operation) -> None:
        functions = [op for op in top_level(module) if op.name == "func.func"]
        kernels = [op for op in functions if device_of(op) is not None]
        with module.context, Location.unknown():
            found = {kernel.key: kernel for kernel in (_Kernel.of(module, op) for op in kernels)}
            program = _Program(module, found, sorted(self.devices) or _named_devices(module))
            for function in functions:
                if device_of(function) is None and function.regions[0].blocks:
                    _Function(program, function).lower()
            for kernel in kernels:
                kernel.erase()
            program.finish()


@dataclass(frozen=True)
class _Kernel:
    """A device function from the host's point of view, and the graph nodes that it computes."""

    device: str
    symbol: str
    types: tuple[str, ...]
    nodes: tuple[str, ...]
    grid: AffineMap | None

    @property
    def key(self) -> tuple[str, str]:
        """Its device and its symbol."""
        return self.device, self.symbol

    @staticmethod
    def of(module: Operation, declared: Operation) -> _Kernel:
        device, symbol = str(device_of(declared)), symbol_of(declared)
        inputs = FunctionType(TypeAttr(declared.attributes["function_type"]).value).inputs
        types = tuple(argument_type(type, declared) for type in inputs)
        nodes = _nodes_of(declared)
        return _Kernel(device, symbol, types, nodes, _grid_of(module, device, symbol))


def _nodes_of(op: Operation) -> tuple[str, ...]:
    """The graph nodes that a declaration or a call names."""
    nodes = ArrayAttr(op.attributes[NODES]) if NODES in op.attributes else ()
    return tuple(str(StringAttr(node).value) for node in nodes)


def argument_type(type: Type, function: Operation) -> str:
    """The name of a kernel argument's type. Raises CompileError if `type` has none."""
    if isinstance(type, MemRefType):
        return "address"
    found = _TYPES.get(str(type))
    if found is None:
        raise CompileError(
            f"kernel '{symbol_of(function)}' takes a {type}",
            where=str(function.location),
            notes=[f"a kernel takes buffers and values of type {', '.join(_TYPES)}"],
        )
    return found


_TYPES = {"i32": "int32", "i64": "int64", "index": "int64", "f32": "float32", "f64": "float64"}


def _grid_of(module: Operation, device: str, symbol: str) -> AffineMap | None:
    own = device_module(module, device)
    for op in top_level(own) if own is not None else ():
        if LAUNCH_GRID in op.attributes and kernel_symbol(symbol_of(op)) == kernel_symbol(symbol):
            return AffineMapAttr(op.attributes[LAUNCH_GRID]).value
    return None


@dataclass
class _Program:
    """The state that the functions of a module share.

    Attributes:
        declared: the device functions, by device and symbol.
        kernels: those that are launched, with the nodes of the launches, by number.
    """

    module: Operation
    declared: dict[tuple[str, str], _Kernel]
    devices: list[str]
    kernels: dict[_Kernel, int] = field(default_factory=dict)
    residents: list[tuple[str, str, str]] = field(default_factory=list)
    uploaded: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def launched(self, op: Operation, device: str) -> tuple[_Kernel, int]:
        """The kernel that a call launches, with the call's nodes, and its number."""
        kernel = self.declared[device, str(callee(op))]
        if NODES in op.attributes:
            kernel = replace(kernel, nodes=_nodes_of(op))
        return kernel, self.kernels.setdefault(kernel, len(self.kernels))

    def contents(self, symbol: str) -> str:
        """The constant with the contents of a global on a device: the original, if it is a copy."""
        globals = (op for op in top_level(self.module) if op.name == "memref.global")
        found = next(op for op in globals if symbol_of(op) == symbol)
        if CONTENTS not in found.attributes:
            return symbol
        return str(FlatSymbolRefAttr(found.attributes[CONTENTS]).value)

    def finish(self) -> None:
        """Declare the called functions, and list kernels and constants."""
        body = self.module.regions[0].blocks[0]
        for op in top_level(self.module):
            if op.name == "memref.global" and symbol_of(op) in self.uploaded:
                op.erase()
        word = IntegerType.get_signless(64)
        for name in sorted(self.used):
            takes, gives = SIGNATURES[name]
            begin = InsertionPoint.at_block_begin(body)
            declaration(name, [word] * takes, [word] * gives, ip=begin)
        kernels = [(kernel.device, kernel.symbol, *kernel.types) for kernel in self.kernels]
        self.module.attributes[KERNELS] = _text_lists(kernels)
        nodes = [kernel.nodes for kernel in self.kernels]
        self.module.attributes[KERNEL_NODES] = _text_lists(nodes)
        self.module.attributes[RESIDENTS] = _text_lists(self.residents)


def _named_devices(module: Operation) -> list[str]:
    """The devices that operations of the host's functions name."""
    functions = [op for op in top_level(module) if op.name == "func.func"]
    operations = [inner for op in functions for inner in all_operations(op)]
    return sorted({name for op in operations if (name := device_of(op)) is not None})


def _text_lists(lists: Sequence[Sequence[str]]) -> ArrayAttr:
    return ArrayAttr.get([ArrayAttr.get(list(map(StringAttr.get, texts))) for texts in lists])


class _Function:
    """Lowers one host function; device memrefs become words that hold addresses."""

    def __init__(self, program: _Program, function: Operation) -> None:
        self._program = program
        self._function = function
        self._block: Block = function.regions[0].blocks[0]
        self._words: dict[Value, Value] = {}
        self._pending: dict[str, set[Value]] = {}  # host buffers that copies use, by device
        self._busy: set[str] = set()  # devices with commands that have not been awaited
        self._word = IntegerType.get_signless(64)

    def lower(self) -> None:
        operations = [op.operation for op in self._block.operations]
        addresses = [argument for argument in self._block.arguments if _on_device(argument)]
        self._words = dict(zip(addresses, addresses, strict=True))
        done = []
        for op in operations:
            with op.location:
                ip = InsertionPoint(op)
                if self._lower_one(op, ip):
                    done.append(op)
                else:
                    self._run_on_host(op, ip)
        for op in reversed(done):
            op.erase()
        if done:  # issued commands still use the host's buffers
            abandon = "xtc_abandon"
            self._program.used.add(abandon)
            self._function.attributes[BEFORE_FAILURE] = FlatSymbolRefAttr.get(abandon)
        self._retype(addresses)

    def _lower_one(self, op: Operation, ip: InsertionPoint) -> bool:
        if is_reshape(op) and op.operands[0] in self._words:
            self._words[op.results[0]] = self._words[op.operands[0]]
            return True
        device = device_of(op)
        if device is None:
            return False
        if op.name == "memref.get_global":
            self._words[op.results[0]] = self._resident(op, ip)
        elif op.name == "memref.alloc":
            self._words[op.results[0]] = self._allocate(op.results[0], device, ip)
        elif op.name == "memref.dealloc":
            self._wait(device, ip)
            self._call("xtc_free", device, [self._words[op.operands[0]]], ip)
        elif op.name == "memref.copy":
            self._copy(op, device, ip)
        elif op.name == "func.call":
            self._launch(op, device, ip)
        return True

    def _allocate(self, buffer: Value, device: str, ip: InsertionPoint) -> Value:
        nbytes, shards = _nbytes(buffer), shards_of(buffer)
        if not shards:
            return self._call("xtc_allocate", device, [nbytes], ip)
        words = [nbytes, shard_bytes(buffer.type, shards)]
        return self._call("xtc_allocate_sharded", device, words, ip)

    def _copy(self, op: Operation, device: str, ip: InsertionPoint) -> None:
        source, target = op.operands
        flags = 1 if OVERLAP in op.attributes else 0
        name = "xtc_copy_within"
        for host in (end for end in (source, target) if not _on_device(end)):
            name = "xtc_copy_to" if host == source else "xtc_copy_from"
            self._order_after_others(device, root(host), ip)
            self._pending.setdefault(device, set()).add(root(host))
        words = [self._address(target, ip), self._address(source, ip), _nbytes(source), flags]
        self._call(name, device, words, ip)
        self._busy.add(device)

    def _order_after_others(self, device: str, host: Value, ip: InsertionPoint) -> None:
        """Order the command after other devices' copies of the same host buffer."""
        for other, buffers in self._pending.items():
            if other != device and host in buffers:
                number = self._program.devices.index(other)
                self._call("xtc_after", device, [number], ip)

    def _launch(self, op: Operation, device: str, ip: InsertionPoint) -> None:
        kernel, number = self._program.launched(op, device)
        type = MemRefType.get([max(len(op.operands), 1)], self._word)
        arguments = memref.alloca(type, [], [], ip=InsertionPoint.at_block_begin(self._block))
        for position, value in enumerate(op.operands):
            word, index = self._argument(value, ip), numbers.index_constant(position, ip)
            memref.store(word, arguments, [index], ip=ip)
        grid = self._grid(kernel, op, ip)
        self._call_words("xtc_launch", [number, self._address(arguments, ip), *grid], ip)
        self._busy.add(device)

    def _argument(self, value: Value, ip: InsertionPoint) -> Value:
        """A kernel argument in the low bytes of 64 bits."""
        if value in self._words:
            return self._words[value]
        type = str(value.type)
        if type == "index":
            return arith.index_cast(self._word, value, ip=ip)
        if type in ("f32", "f64"):
            width = IntegerType.get_signless(int(type[1:]))
            value = arith.bitcast(width, value, ip=ip)
        return value if value.type == self._word else arith.extui(self._word, value, ip=ip)

    def _grid(self, kernel: _Kernel, call: Operation, ip: InsertionPoint) -> list[Value | int]:
        """Blocks in x, y and z, from the kernel's map and the integer arguments of a call."""
        if kernel.grid is None:
            return [0, 0, 0]
        index = IndexType.get()
        integers = [value for value in call.operands if str(value.type) in INTEGERS]
        indices = [
            value if value.type == index else arith.index_cast(index, value, ip=ip)
            for value in integers
        ]
        maps = [AffineMap.get(len(indices), 0, [size]) for size in kernel.grid.results]
        sizes = [affine.apply(AffineMapAttr.get(size), indices, ip=ip) for size in maps]
        return [arith.index_cast(self._word, size, ip=ip) for size in sizes]

    def _run_on_host(self, op: Operation, ip: InsertionPoint) -> None:
        """Wait for the copies that an operation of the host conflicts with; at the end, for all."""
        if op.name == "func.return":
            for device in sorted(self._busy):
                self._wait(device, ip)
        if is_view(op) or op.name == "memref.alloc":
            return
        touched = {root(value) for value in memrefs_of(op)}
        for device in sorted(self._pending):
            if touched & self._pending[device]:
                self._wait(device, ip)

    def _wait(self, device: str, ip: InsertionPoint) -> None:
        if device in self._busy:
            self._busy.remove(device)
            self._pending.pop(device, None)
            self._call("xtc_wait", device, [], ip)

    def _resident(self, op: Operation, ip: InsertionPoint) -> Value:
        """The address of a constant that is uploaded when the program is loaded."""
        shards = shards_of(op.results[0])
        shard = shard_bytes(op.results[0].type, shards) if shards else 0
        symbol = str(FlatSymbolRefAttr(op.attributes["name"]).value)
        resident = (str(device_of(op)), self._program.contents(symbol), str(shard))
        self._program.uploaded.add(symbol)
        if resident not in self._program.residents:
            self._program.residents.append(resident)
        number = self._program.residents.index(resident)
        return self._call_words("xtc_resident", [number], ip)

    def _call(
        self, name: str, device: str, words: Sequence[Value | int], ip: InsertionPoint
    ) -> Value:
        return self._call_words(name, [self._program.devices.index(device), *words], ip)

    def _call_words(self, name: str, words: Sequence[Value | int], ip: InsertionPoint) -> Value:
        self._program.used.add(name)
        operands = [numbers.as_value(word, ip, self._word) for word in words]
        result = call(name, operands, [self._word] * SIGNATURES[name][1], ip=ip)
        return result.results[0] if len(result.results) else operands[0]

    def _address(self, value: Value, ip: InsertionPoint) -> Value:
        if value in self._words:
            return self._words[value]
        index = memref.extract_aligned_pointer_as_index(value, ip=ip)
        return arith.index_cast(self._word, index, ip=ip)

    def _retype(self, addresses: Sequence[Value]) -> None:
        for argument in addresses:
            argument.set_type(self._word)
        kind = FunctionType(TypeAttr(self._function.attributes["function_type"]).value)
        new = FunctionType.get([argument.type for argument in self._block.arguments], kind.results)
        self._function.attributes["function_type"] = TypeAttr.get(new)
        if "arg_attrs" in self._function.attributes:
            described = list(self._function.attributes["arg_attrs"])
            for argument in addresses:  # an address is an integer and has no aliasing attributes
                kept = {named.name: named.attr for named in described[argument.arg_number]}
                kept.pop("llvm.noalias", None)
                described[argument.arg_number] = DictAttr.get(kept)
            self._function.attributes["arg_attrs"] = ArrayAttr.get(described)


def _on_device(value: Value) -> bool:
    """Whether `value` is a memref in a device's memory."""
    if not isinstance(value.type, MemRefType):
        return False
    space = MemRefType(value.type).memory_space
    return space is not None and IntegerAttr(space).value == DEVICE_MEMORY


def _nbytes(buffer: Value) -> int:
    type = MemRefType(buffer.type)
    return int(math.prod(type.shape)) * element_bytes(type.element_type)
