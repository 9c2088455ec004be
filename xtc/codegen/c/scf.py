# SPDX-License-Identifier: Apache-2.0
"""The scf dialect in C: loops and branches; loop-carried values are variables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from xtc.codegen.c.expression import Expression, assignment
from xtc.codegen.c.layout import loop_paths
from xtc.codegen.c.printer import Printer, Rule
from xtc.ir.mlir import Block, BlockArgument, Operation, OpResult, Value


def _for(printer: Printer, op: Operation) -> None:
    """A loop, after the variables of its carried values."""
    lower, upper, step, *inits = op.operands
    block = op.regions[0].blocks[0]
    index, *carried = block.arguments
    bounds = [printer.expression(bound).text for bound in (lower, upper, step)]
    variables = [_carried(printer, init) for init in inits]
    printer.flush()
    printer.comment_node(op)
    with printer.names.scope():
        name, comment = _index_name(printer, op)
        advance = f"++{name}" if bounds[2] == "1" else f"{name} += {bounds[2]}"
        head = f"for (ptrdiff_t {name} = {bounds[0]}; {name} < {bounds[1]}; {advance})"
        printer.set(index, Expression(name))
        for value, variable in zip(carried, variables, strict=True):
            printer.set(value, Expression(variable), f"{variable}#")
        with printer.block(head, comment=comment):
            printer.operations(block)
            _update(printer, block, variables)
    for result, variable in zip(op.results, variables, strict=True):
        printer.set(result, Expression(variable), f"{variable}#")


def _forall(printer: Printer, op: Operation) -> None:
    """A loop nest that one thread runs."""
    if len(op.operands):
        raise printer.error(
            op, "scf.forall on tensors or with dynamic bounds cannot be written in C"
        )
    block = op.regions[0].blocks[0]
    names = ("staticLowerBound", "staticUpperBound", "staticStep")
    bounds = list(zip(*(list(op.attributes[name]) for name in names), strict=True))
    printer.flush()
    printer.comment_node(op)
    with ExitStack() as loops:
        loops.enter_context(printer.names.scope())
        for index, (lower, upper, step) in zip(block.arguments, bounds, strict=True):
            name, comment = _index_name(printer, op if len(bounds) == 1 else None)
            printer.set(index, Expression(name))
            advance = f"++{name}" if step == 1 else f"{name} += {step}"
            head = f"for (ptrdiff_t {name} = {lower}; {name} < {upper}; {advance})"
            loops.enter_context(printer.block(head, comment=comment))
        printer.operations(block)


def _index_name(printer: Printer, op: Operation | None) -> tuple[str, str]:
    """The name of the induction variable, and a comment with the loop's name if C reserves it."""
    paths = loop_paths(op) if op is not None else []
    if not paths:
        return printer.names.declare_loop(), ""
    path = " and ".join(paths)
    wish = path.replace("#", "") if len(paths) == 1 else "iteration"
    name = printer.names.declare(wish)
    return name, "" if name == path else path


def _carried(printer: Printer, init: Value) -> str:
    """The variable of a carried value: that of its initial value if it has no other uses."""
    value = printer.expression(init)
    if value.is_atom and _is_variable(init) and len(list(init.uses)) == 1:
        return value.text
    name = printer.names.declare(printer.hint(init))
    printer.statement(f"{printer.type_name(init)} {name} = {value.text};")
    return name


def _is_variable(value: Value) -> bool:
    """Whether a value is the variable of an enclosing or earlier loop."""
    if isinstance(value, BlockArgument):
        owner = value.owner.owner
        return bool(owner.operation.name == "scf.for") and value.arg_number > 0
    return isinstance(value, OpResult) and value.owner.name in ("scf.for", "scf.if")


def _update(printer: Printer, block: Block, variables: Sequence[str]) -> None:
    """Assign the values that a block yields to variables, as if simultaneously."""
    last = list(block.operations)[-1].operation
    values = [printer.expression(value) for value in last.operands]
    printer.flush()
    if _is_hazard(variables, values):
        values = [_kept(printer, *pair) for pair in zip(last.operands, values, strict=True)]
    for variable, value in zip(variables, values, strict=True):
        if value.text != variable:
            printer.statement(assignment(variable, value))


def _is_hazard(variables: Sequence[str], values: Sequence[Expression]) -> bool:
    """Whether a value would read a variable after its assignment."""
    return any(
        later.mentions(variable)
        for position, variable in enumerate(variables)
        for later in values[position + 1 :]
    )


def _kept(printer: Printer, source: Value, value: Expression) -> Expression:
    """The value in a separate variable that is never assigned again."""
    name = printer.names.declare("next#")
    printer.statement(f"const {printer.type_name(source)} {name} = {value.text};")
    return value.named(name)


def _if(printer: Printer, op: Operation) -> None:
    """A branch; its results are variables that both branches assign."""
    condition = printer.expression(op.operands[0])
    printer.flush()
    printer.comment_node(op)
    names = [printer.names.declare("chosen#") for _ in op.results]
    for result, name in zip(op.results, names, strict=True):
        printer.statement(f"{printer.type_name(result)} {name};")
        printer.set(result, Expression(name), f"{name}#")
    blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
    with printer.block(f"if ({condition.text})"):
        printer.operations(blocks[0])
        _update(printer, blocks[0], names)
    if (len(blocks) > 1 and len(list(blocks[1].operations)) > 1) or names:
        with printer.block("else"):
            printer.operations(blocks[1])
            _update(printer, blocks[1], names)


def _yield(printer: Printer, op: Operation) -> None:
    """Nothing: the enclosing operation writes it."""


RULES: dict[str, Rule] = {
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.forall.in_parallel": _yield,
    "scf.if": _if,
    "scf.yield": _yield,
}
