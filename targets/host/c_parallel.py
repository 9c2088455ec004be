# SPDX-License-Identifier: Apache-2.0
"""Parallel loops in C: prints the marked calls as calls through the table of parallel.h.

The C of a module declares the parts of csrc/parallel.h that it needs, so that it is one file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xtc.codegen.c import func
from xtc.codegen.c.functions import callee_of
from xtc.codegen.c.layout import broken, loop_paths
from xtc.codegen.c.memref import element_type, fail_unless, pointer
from xtc.codegen.c.names import Names
from xtc.codegen.c.printer import LINE, Printer, Rule
from xtc.ir.analysis.linalg_ops import operations_with
from xtc.ir.attributes import PARALLEL
from xtc.ir.mlir import MemRefType
from xtc_targets.host.pool_library import VARIABLE

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation, Value

RESERVED = ("xtc_loop", "xtc_loops", "xtc_parallel", "xtc_run_serially")
_FAILED = "failed"

_RUNTIME = f"""\
// How parallel loops run: whoever loads this code may write a pool of threads here.
typedef void xtc_loop(void *context, int64_t first, int64_t last);

struct xtc_parallel {{
  void (*run)(xtc_loop *loop, void *context, int64_t count, int64_t threads);
  int64_t threads;
}};

static void xtc_run_serially(xtc_loop *loop, void *context, int64_t count, int64_t threads) {{
  (void)threads;
  loop(context, 0, count);
}}

extern struct xtc_parallel xtc_loops
    __asm__("{VARIABLE}") __attribute__((visibility("protected")));
struct xtc_parallel xtc_loops = {{xtc_run_serially, 1}};"""


def is_parallel(lowered: Operation) -> bool:
    """Whether a module has loops that threads may share."""
    return bool(operations_with(lowered, PARALLEL))


def _call(printer: Printer, op: Operation) -> None:
    """Print a call; threads share a marked one."""
    if PARALLEL not in op.attributes:
        func.RULES["func.call"](printer, op)
        return
    *values, _, count = op.operands
    body = printer.symbols[callee_of(op)]
    failing = callee_of(op) in printer.fallible
    chunk = _define_chunk(printer, callee_of(op), values)
    context = printer.names.declare("parallel_loop")
    parts = [*(printer.expression(value).text for value in values), *(["0"] if failing else [])]
    printer.flush()
    printer.comment_node(op)
    printer.statement(f"// {' and '.join(loop_paths(op)) or 'a loop'} in parallel")
    printer.statement(f"struct {body}_context {context} = {{{', '.join(parts)}}};")
    printer.statement(
        f"xtc_loops.run({chunk}, &{context}, {printer.expression(count).text}, xtc_loops.threads);"
    )
    if failing:
        fail_unless(printer, f"{context}.{_FAILED} != 0")


def _define_chunk(printer: Printer, callee: str, values: Sequence[Value]) -> str:
    """Define the function that threads call, before the current function; returns its name."""
    body = printer.symbols[callee]
    names = _names(printer, values)
    printer.suggested[callee] = [*names, "first", "last"]
    fields = _fields(printer, callee, dict(zip(names, values, strict=True)))
    chunk = printer.names.declare(f"{body}_chunk")
    printer.definitions.append(_chunk(body, chunk, fields, callee in printer.fallible))
    printer.prelude.define("xtc_loops", _RUNTIME, "stdint.h")
    return chunk


def _names(printer: Printer, values: Sequence[Value]) -> list[str]:
    """New names for the values."""
    names = Names([_FAILED])
    texts = [printer.expression(value).text for value in values]
    return [names.declare(text if text.isidentifier() else "value") for text in texts]


def _fields(printer: Printer, callee: str, values: Mapping[str, Value]) -> dict[str, str]:
    """The declarations, by name, of the function's arguments other than the range."""
    fields = {}
    for (name, value), reads in zip(values.items(), printer.read_only[callee], strict=False):
        if not isinstance(value.type, MemRefType):
            fields[name] = f"{printer.type_name(value)} {name}"
            continue
        type = printer.prelude.type(element_type(printer, value))
        shape = list(MemRefType(value.type).shape)
        fields[name] = pointer(f"const {type}" if reads else type, name, shape)
    return fields


def _chunk(body: str, chunk: str, fields: Mapping[str, str], failing: bool) -> str:
    """The struct that holds the values, and the function that threads call with it."""
    declared = [*fields.values(), *([f"int {_FAILED}"] if failing else [])]
    arguments = ", ".join([*(f"values->{name}" for name in fields), "first", "last"])
    call = f"{body}({arguments})"
    failed = f"__atomic_store_n(&values->{_FAILED}, 1, __ATOMIC_RELAXED);"
    lines = [f"if ({call} != 0) {{", f"  {failed}", "}"] if failing else [f"{call};"]
    indented = [f"  {part}" for line in lines for part in broken(line, LINE - 2)]
    struct = [f"struct {body}_context {{", *(f"  {field};" for field in declared), "};"]
    return "\n".join(
        [
            *struct,
            "",
            f"static void {chunk}(void *context, int64_t first, int64_t last) {{",
            f"  struct {body}_context *values = context;",
            *indented,
            "}",
        ]
    )


RULES: dict[str, Rule] = {"func.call": _call}
