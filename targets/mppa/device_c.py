# SPDX-License-Identifier: Apache-2.0
"""Prints device code as one C file: extends the printer in `xtc/codegen/c` for device code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xtc.codegen.c import Printer, Rule, c_source
from xtc.codegen.c.expression import UNARY, Expression, cast
from xtc.codegen.c.memref import element_type, pointer
from xtc.codegen.c.types import array_suffix
from xtc.ir.attributes import UNITS
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    IntegerAttr,
    MemRefType,
    Operation,
    OpResult,
    StringAttr,
    Value,
)
from xtc.ir.partition import symbol_of, top_level
from xtc_passes.local._functions import functions
from xtc_targets.mppa.passes import _device_calls as device
from xtc_targets.mppa.passes.call_micro_kernels import PREFIX
from xtc_targets.mppa.passes.define_micro_kernels import ACCUMULATORS, micro_kernel

_DIRECTIONS = ("DEV_GET", "DEV_PUT")
_TYPES = ("DEV_F32", "DEV_F16", "DEV_I8", "DEV_OTHER")
_C_TYPES = {"f16": "_Float16", "f32": "float", "f64": "double", "i8": "int8_t", "i32": "int32_t"}
_HEADERS = '#include "dev.h"\n#include "uk_mma.h"\n'


def device_source(lowered: Operation) -> str:
    """The C file of a lowered device module. Raises CompileError if C cannot express it."""
    module = lowered.clone()
    with module.context:
        for kernel in device.kernels(module):
            name = f"{symbol_of(kernel)}.control"
            kernel.attributes["sym_name"] = StringAttr.get(name)
            kernel.attributes["sym_visibility"] = StringAttr.get("private")
    unit = _Unit()
    provided = [symbol_of(op) for op in top_level(module) if _is_declared(op)]
    rules: dict[str, Rule] = {
        "func.call": unit.call,
        "memref.view": _view,
        "memref.alloca": _alloca,
        "memref.extract_aligned_pointer_as_index": _address,
    }
    source = c_source(module, _parameters(module), rules, provided)
    for kernel in device.kernels(module):
        unit.export(kernel, source.symbols[symbol_of(kernel)])
    kernels = [_definition(name) for name in provided if name.startswith(PREFIX)]
    parts = [_HEADERS, *kernels, *unit.heads, source.text, *unit.tails]
    return "\n".join(parts)


def _parameters(module: Operation) -> dict[str, list[str]]:
    """The names of parameters; the number of a PE is the first one."""
    names = {}
    for function in functions(module):
        values = list(function.regions[0].blocks[0].arguments)
        first = [] if device.KERNEL in function.attributes else ["pe"]
        rest = values[len(first) :]
        names[symbol_of(function)] = [
            *first,
            *(
                f"{'buffer' if _is_buffer(argument) else 'value'}{n}"
                for n, argument in enumerate(rest)
            ),
        ]
    return names


def _is_declared(op: Operation) -> bool:
    return op.name == "func.func" and not len(op.regions[0].blocks)


def _definition(name: str) -> str:
    rows, columns, dtype = micro_kernel(name)
    operand, total = _C_TYPES[dtype], _C_TYPES[ACCUMULATORS[dtype]]
    return f"UK_MMA({name}, {rows}, {columns}, {operand}, {total})\n"


@dataclass
class _Unit:
    """The C before and after the functions that the printer writes."""

    heads: list[str] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)

    def call(self, printer: Printer, op: Operation) -> None:
        """Print a call of dev.h or of a micro-kernel, or a launch of PEs."""
        name = FlatSymbolRefAttr(op.attributes["callee"]).value
        if UNITS in op.attributes:
            self._launch(printer, op, name)
        elif name == device.SMEM:
            variable = printer.names.declare("smem")
            printer.statement(f"char *const {variable} = dev_smem();")
            printer.set(op.results[0], Expression(variable))
        else:
            _call(printer, op, name)

    def _launch(self, printer: Printer, op: Operation, callee: str) -> None:
        """Store the arguments of PEs in a structure on the stack, and launch the PEs."""
        printer.flush()
        printer.comment_node(op)
        name, values = printer.symbols[callee], list(op.operands)[1:]
        pes = int(IntegerAttr(op.attributes[UNITS]).value)
        types = [
            "void *" if _is_buffer(value) else f"{printer.type_name(value)} " for value in values
        ]
        texts = [_member(printer, value) for value in values]
        if values:
            context = printer.names.declare("context")
            printer.statement(f"struct {name}_context {context} = {{{', '.join(texts)}}};")
            context = f"&{context}"
        else:
            context = "NULL"
        printer.statement(f"dev_pe_launch({name}_run, {context}, {pes});")
        self._run(name, types)

    def _run(self, name: str, types: Sequence[str]) -> None:
        """Define the structure, and the function that unpacks it on a PE."""
        head = f"static void {name}_run(uint32_t pe, void *context)"
        members = [f"    {type}value{n};\n" for n, type in enumerate(types)]
        if members:
            self.heads.append(f"struct {name}_context {{\n{''.join(members)}}};")
        self.heads.append(f"{head};\n")
        used = f"const struct {name}_context *c = context;" if members else "(void)context;"
        arguments = ", ".join(["pe", *(f"c->value{n}" for n in range(len(types)))])
        self.tails.append(f"{head}\n{{\n    {used}\n    {name}({arguments});\n}}\n")

    def export(self, kernel: Operation, control: str) -> None:
        """Define the function that the host launches."""
        count = len(kernel.regions[0].blocks[0].arguments)
        name = device.exported(symbol_of(kernel).removesuffix(".control"))
        arguments = ", ".join(f"(void *)arguments[{n}]" for n in range(count))
        head = f"void {name}(const uint64_t *arguments)"
        unused = "" if count else "    (void)arguments;\n"
        self.tails.append(f"{head};\n{head}\n{{\n{unused}    {control}({arguments});\n}}\n")


def _is_buffer(value: Value) -> bool:
    return isinstance(value.type, MemRefType)


def _member(printer: Printer, value: Value) -> str:
    text = printer.expression(value)
    return cast("void *", text).text if _is_buffer(value) else text.text


def _call(printer: Printer, op: Operation, name: str) -> None:
    values = [printer.expression(operand) for operand in op.operands]
    for position, text in _arguments(name, op, values).items():
        values[position] = text
    printer.flush()
    expression = f"{name}({', '.join(value.text for value in values)})"
    if not len(op.results):
        printer.statement(f"{expression};")
        return
    type = printer.type_name(op.results[0])
    variable = printer.names.declare("cluster" if name == device.CLUSTER_ID else "transfer")
    printer.statement(f"const {type} {variable} = {expression};")
    printer.set(op.results[0], Expression(variable))


def _arguments(name: str, op: Operation, values: Sequence[Expression]) -> dict[int, Expression]:
    """Arguments that have another name or type in C."""
    if name == device.DMA:
        pointers = {n: cast("void *", values[n]) for n in (1, 3)}
        return {0: Expression(_DIRECTIONS[_number(op.operands[0])]), **pointers}
    if name == device.ACCESS:
        return {n: cast("const void *", values[n]) for n in (0, 1)}
    if name == device.COUNT:
        return {0: Expression(_TYPES[_number(op.operands[0])])}
    if name.startswith(PREFIX):
        dtype = micro_kernel(name)[2]
        operand, total = _C_TYPES[dtype], _C_TYPES[ACCUMULATORS[dtype]]
        types = {1: f"const {operand} *", 4: f"const {operand} *", 6: f"{total} *"}
        return {n: cast(type, values[n]) for n, type in types.items()}
    return {}


def _number(value: Value) -> int:
    return int(IntegerAttr(OpResult(value).owner.attributes["value"]).value)


def _view(printer: Printer, op: Operation) -> None:
    """Print a buffer at its offset in SMEM."""
    memory, start = (printer.expression(operand) for operand in op.operands)
    (result,) = op.results
    type = printer.prelude.type(element_type(printer, result))
    name = printer.names.declare("tile")
    shape = list(MemRefType(result.type).shape)
    declared = pointer(type, name, shape, "const ")
    address = memory.text if start.text == "0" else f"({memory.text} + {start.text})"
    printer.statement(f"{declared} = (void *){address};")
    printer.set(result, Expression(name), f"{name}#")


def _alloca(printer: Printer, op: Operation) -> None:
    """Print an array on the stack: numbers of transfers, or a temporary."""
    (result,) = op.results
    type = printer.prelude.type(element_type(printer, result))
    is_tags = str(MemRefType(result.type).element_type) == "i32"
    name = printer.names.declare("transfers" if is_tags else "temporary")
    shape = list(MemRefType(result.type).shape)
    begins = " = {0}" if is_tags else ""
    printer.statement(f"{type} {name}{array_suffix(shape) or '[1]'}{begins};")
    printer.set(result, Expression(name), f"{name}#")


def _address(printer: Printer, op: Operation) -> None:
    buffer = printer.expression(op.operands[0])
    printer.set(op.results[0], Expression(f"(ptrdiff_t){buffer.text}", UNARY), "address")
