# SPDX-License-Identifier: Apache-2.0
"""Prints device code as one C file, the same for the vendor's compiler and the simulator."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xtc.codegen.c import Printer, Rule, arith, c_source, scf
from xtc.codegen.c.expression import UNARY, Expression
from xtc.codegen.c.memref import element_type, pointer
from xtc.ir.attributes import LOCAL_BYTES
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
from xtc_targets.upmem.passes import _device_calls as device
from xtc_targets.upmem.passes.tile_for_tasklets import kernel_numbers

KERNEL_TEXT = Path(__file__).parent / "csrc" / "kernel"
MAX_BUFFERS = 32
_SHORT_BODY = 16  # most operations of a loop that is unrolled
_UNROLL = '_Pragma("clang loop unroll_count(8)")'
_LICENSE = re.compile(r"^/\* SPDX[^\n]*\n")
_MATH = re.compile(r"\b(expf|logf|tanhf|erff|sqrtf|fabsf|fmaf|floorf|ceilf)\(")
_MATH64 = re.compile(
    r"\b(fabs|floor|ceil|sqrt|exp|log|tanh|erf"
    r"|(trunc|rint|a?sinh?|a?cosh?|a?tanh?|atan2|erfc|expm1|log1p|exp2|log2|log10|pow|fmod)f?)\("
)


@dataclass(frozen=True)
class KernelCode:
    """A kernel from the host's point of view.

    Attributes:
        symbol: its name.
        each: for each buffer, the bytes of it on each DPU; 0 if it is replicated.
        nbytes: total bytes of each buffer.
        written: for each buffer, 0 if it is read, 1 if it is written whole, 2 for both.
    """

    symbol: str
    each: tuple[int, ...]
    nbytes: tuple[int, ...]
    written: tuple[int, ...]


@dataclass(frozen=True)
class DeviceCode:
    """C for DPUs, and its kernels in the order of their numbers."""

    text: str
    kernels: tuple[KernelCode, ...]


def device_code(lowered: Operation, symbol_in_c: Mapping[str, str]) -> DeviceCode:
    """The C file of a lowered device module. Raises CompileError if C cannot express it."""
    module = lowered.clone()
    kernels = functions(module)
    described = tuple(_described(kernel, symbol_in_c) for kernel in kernels)
    local = max((_number(kernel, LOCAL_BYTES) for kernel in kernels), default=0)
    with module.context:
        for kernel in kernels:
            kernel.attributes["sym_visibility"] = StringAttr.get("private")
    provided = [symbol_of(op) for op in top_level(module) if _is_declared(op)]
    source = c_source(module, _parameters(kernels), RULES, provided)
    body = _without_libc(source.text)
    names = [source.symbols[symbol_of(kernel)] for kernel in kernels]
    parts = [
        "/* Kernels for DPUs. Build: dpu-upmem-dpurte-clang -O2 -DNR_TASKLETS=... */",
        f"#define XTC_LOCAL_BYTES {max(8, (local + 7) // 8 * 8)}",
        f"#define XTC_MAX_BUFFERS {MAX_BUFFERS}",
        _text("kernel.h"),
        *([_text("mul8.h")] if "xtc_mul8(" in body else []),
        *([_text("math64.h")] if _MATH64.search(body) else []),
        *([_text("math.h")] if _MATH.search(body) else []),
        body,
        _main(names, described),
    ]
    return DeviceCode("\n".join(parts), described)


def _described(kernel: Operation, symbols: Mapping[str, str]) -> KernelCode:
    name = symbol_of(kernel)
    arguments = kernel.regions[0].blocks[0].arguments
    return KernelCode(
        symbols[name],
        tuple(kernel_numbers(kernel, device.EACH)),
        tuple(_nbytes(argument) for argument in arguments),
        tuple(kernel_numbers(kernel, device.WRITTEN)),
    )


def _nbytes(buffer: Value) -> int:
    from xtc_passes.local._view_layouts import nbytes

    return nbytes(MemRefType(buffer.type))


def _number(op: Operation, name: str) -> int:
    return int(IntegerAttr(op.attributes[name]).value) if name in op.attributes else 0


def _is_declared(op: Operation) -> bool:
    return op.name == "func.func" and not len(op.regions[0].blocks)


def _parameters(kernels: Sequence[Operation]) -> dict[str, list[str]]:
    return {
        symbol_of(kernel): [f"buffer{n}" for n in range(len(kernel.regions[0].blocks[0].arguments))]
        for kernel in kernels
    }


def _text(name: str) -> str:
    return _LICENSE.sub("", (KERNEL_TEXT / name).read_text())


def _without_libc(text: str) -> str:
    """The C without the include of a header whose functions DPUs lack."""
    return text.replace("#include <math.h>\n", "")


def _main(names: Sequence[str], kernels: Sequence[KernelCode]) -> str:
    cases = "".join(
        f"    case {number}:\n        {name}({_buffers(kernel)});\n        break;\n"
        for number, (name, kernel) in enumerate(zip(names, kernels, strict=True))
    )
    return f"int main(void)\n{{\n    switch (xtc_call[0]) {{\n{cases}    }}\n    return 0;\n}}\n"


def _buffers(kernel: KernelCode) -> str:
    return ", ".join(f"xtc_buffer({n}, {each})" for n, each in enumerate(kernel.each))


def _call(printer: Printer, op: Operation) -> None:
    name = FlatSymbolRefAttr(op.attributes["callee"]).value
    values = [printer.expression(value).text for value in op.operands]
    text = f"{name}({', '.join(values)})"
    if not len(op.results):
        printer.flush()
        printer.statement(f"{text};")
        return
    (result,) = op.results
    hints = {device.TASKLET: "tasklet", device.DPU: "dpu", device.LOCAL: "local"}
    variable = printer.names.declare(hints.get(name, "value"))
    type = "char *" if name == device.LOCAL else f"{printer.type_name(result)} "
    printer.statement(f"{type}const {variable} = {text};")
    printer.set(result, Expression(variable))


def _view(printer: Printer, op: Operation) -> None:
    """Print a tile at its offset in the tasklet's part of WRAM."""
    memory, start = (printer.expression(value) for value in op.operands)
    (result,) = op.results
    type = printer.prelude.type(element_type(printer, result))
    name = printer.names.declare("tile")
    declared = pointer(type, name, list(MemRefType(result.type).shape), "const ")
    address = memory.text if start.text == "0" else f"({memory.text} + {start.text})"
    printer.statement(f"{declared} = (void *){address};")
    printer.set(result, Expression(name), f"{name}#")


def _address(printer: Printer, op: Operation) -> None:
    buffer = printer.expression(op.operands[0])
    printer.set(op.results[0], Expression(f"(ptrdiff_t){buffer.text}", UNARY), "address")


def _loop(printer: Printer, op: Operation) -> None:
    """Print a loop; short innermost ones are unrolled, as counting costs as much as the body."""
    body = [inner.operation for inner in op.regions[0].blocks[0].operations]
    begin = len(printer.lines)
    _PLAIN_LOOP(printer, op)
    if len(body) > _SHORT_BODY or not all(map(_is_simple, body)):
        return
    for position in range(begin, len(printer.lines)):
        line = printer.lines[position]
        if line.lstrip().startswith("for ("):
            indent = line[: len(line) - len(line.lstrip())]
            printer.lines.insert(position, f"{indent}{_UNROLL}")
            return


def _is_simple(op: Operation) -> bool:
    return not len(op.regions) and op.name != "func.call"


def _multiply(printer: Printer, op: Operation) -> None:
    """Print a multiplication: of bytes as an instruction, of others as a call of a routine."""
    if not all(_is_byte(value) for value in op.operands):
        _PLAIN_MULTIPLY(printer, op)
        return
    a, b = (printer.expression(value).text for value in op.operands)
    printer.define(op.results[0], Expression(f"xtc_mul8({a}, {b})"), "product")


def _is_byte(value: Value) -> bool:
    """Whether a value is a widened signed byte."""
    if not isinstance(value, OpResult) or value.owner.name != "arith.extsi":
        return False
    return str(value.owner.operands[0].type) == "i8" and str(value.type) == "i32"


_PLAIN_MULTIPLY = arith.RULES["arith.muli"]
_PLAIN_LOOP = scf.RULES["scf.for"]
RULES: dict[str, Rule] = {
    "func.call": _call,
    "memref.view": _view,
    "memref.extract_aligned_pointer_as_index": _address,
    "arith.muli": _multiply,
    "scf.for": _loop,
}
