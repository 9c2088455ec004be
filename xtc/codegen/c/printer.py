# SPDX-License-Identifier: Apache-2.0
"""Writes C statements for operations, and decides which values become variables.

A value with a single use in the same block remains an expression in the text of its user, as long
as the line is short and no write comes between a read and its use. Other values become variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xtc.codegen.c.expression import Expression
from xtc.codegen.c.layout import broken, node_of
from xtc.codegen.c.names import Names
from xtc.codegen.c.prelude import Prelude
from xtc.codegen.c.types import CType
from xtc.core.errors import CompileError
from xtc.ir.diagnostics import first_line, user_line
from xtc.ir.mlir import Block, BlockArgument, Operation, Value

Rule = Callable[["Printer", Operation], None]
"""Writes an operation."""

LINE = 100
_SHORTEST, _DECLARATION = 40, 28
_SHORT_INDEX, _LONG_INDEX = 20, 40


@dataclass
class Printer:
    """The state of the code generation of a function.

    Attributes:
        rules: the rule of each operation, by name.
        names: the C names in scope.
        prelude: the headers, types and helpers of the file.
        symbols: the C names of globals and functions, by MLIR symbol.
        fallible: the MLIR symbols of functions that return a status.
        read_only: whether each parameter of a function is only read, by MLIR symbol.
        suggested: suggested names for the parameters of callees, by MLIR symbol.
        definitions: texts that precede the function.
        constant: buffers that the function only reads.
        lines: the text so far.
        live: the C names of the heap buffers that are live at this point.
    """

    rules: Mapping[str, Rule]
    names: Names
    prelude: Prelude
    symbols: Mapping[str, str]
    fallible: frozenset[str] = frozenset()
    read_only: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    suggested: dict[str, list[str]] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)
    constant: frozenset[Value] = frozenset()
    lines: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    _depth: int = 1
    _node: str = ""
    _values: dict[Value, Expression] = field(default_factory=dict)
    _hints: dict[Value, str] = field(default_factory=dict)
    _pending: dict[Value, str] = field(default_factory=dict)

    def expression(self, value: Value) -> Expression:
        """The text of a value, to be used only once unless it is an atom."""
        self._pending.pop(value, None)
        return self._values[value]

    def atom(self, value: Value) -> Expression:
        """A value as a variable or a literal, which may be used repeatedly."""
        found = self.expression(value)
        if not found.is_atom:
            self._name(value, self.hint(value))
        return self._values[value]

    def operands(self, op: Operation) -> list[Expression]:
        """The texts of an operation's operands; long ones become variables to keep lines short."""
        values = list(op.operands)
        while sum(len(self._values[value].text) for value in values) > self._room:
            long = [value for value in values if not self._values[value].is_atom]
            if not long:
                break
            self.atom(max(long, key=lambda value: len(self._values[value].text)))
        return [self.expression(value) for value in values]

    @property
    def _room(self) -> int:
        """The characters left for an expression in the declaration of a variable."""
        return max(_SHORTEST, LINE - 2 * self._depth - _DECLARATION)

    def hint(self, value: Value) -> str:
        """The preferred name of a variable for this value; # stands for a number from 0."""
        return self._hints.get(value, "t")

    def set(self, value: Value, expression: Expression, hint: str = "") -> None:
        """Set the expression of a value, without writing anything."""
        self._values[value] = expression
        if hint:
            self._hints[value] = hint

    def define(self, value: Value, expression: Expression, hint: str) -> None:
        """Set the expression of a result; declare a variable unless it can remain an expression."""
        self.set(value, expression, hint)
        uses = [use.owner.operation for use in value.uses]
        if not uses or expression.is_atom or _is_handy_index(value, expression, len(uses)):
            return
        near = len(uses) == 1 and uses[0].block == value.owner.operation.block
        if not near or len(expression.text) > self._room:
            self._name(value, hint)
        elif expression.reads:
            self._pending[value] = hint

    def flush(self) -> None:
        """Declare variables for the pending expressions that read memory, before a write."""
        for value, hint in tuple(self._pending.items()):
            self._name(value, hint)

    def _name(self, value: Value, hint: str) -> None:
        self._pending.pop(value, None)
        expression, type = self._values[value], self.type_name(value)
        name = self.names.declare(hint)
        self.statement(f"const {type} {name} = {expression.text};")
        self._values[value] = expression.named(name)

    def type_of(self, value: Value) -> CType:
        """The C type of a value. Raises CompileError if there is none."""
        found = CType.of(value.type)
        if found is None:
            raise self.error(value.owner, f"values of type {value.type} cannot be written in C")
        return found

    def type_name(self, value: Value) -> str:
        """The name of a value's C type, which is declared."""
        type, known = self.type_of(value), self._values.get(value)
        if known is not None and known.mask_bits:
            type = type.with_element(f"i{known.mask_bits}")
        return self.prelude.type(type)

    def statement(self, text: str) -> None:
        """Write a line at the current depth; break it if it is too long."""
        indent = "  " * self._depth
        self.lines += [indent + line for line in broken(text, LINE - len(indent))]

    def mentions(self, name: str) -> bool:
        """Whether the text so far uses a name."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        return any(word.search(line.partition("//")[0]) for line in self.lines)

    @contextmanager
    def block(self, head: str, comment: str = "") -> Iterator[None]:
        """Write `head` and braces around the context's statements, with a scope for names."""
        self.statement(f"{head} {{  // {comment}" if comment else f"{head} {{")
        self._depth += 1
        node = self._node
        with self.names.scope():
            yield
        self._node = node
        self._depth -= 1
        self.statement("}")

    def operations(self, block: Block) -> None:
        """Write the operations of a block. Raises CompileError for an operation without a rule."""
        for op in block.operations:
            rule = self.rules.get(op.operation.name)
            if rule is None:
                raise self.error(op.operation, f"{op.operation.name} cannot be written in C")
            rule(self, op.operation)

    def comment_node(self, op: Operation) -> None:
        """Write a comment where the code of another node begins."""
        node = node_of(op)
        if node and node not in (self._node, self._node.partition(".")[0]):
            self._node = node
            self.statement(f"// {node}")

    def error(self, at: Operation | Block, why: str) -> CompileError:
        """An error that names the operation and its graph node."""
        op = at.owner.operation if isinstance(at, Block) else at.operation
        node = node_of(op)
        subject = f"'{node}': {why}" if node else why
        return CompileError(subject, where=user_line(op), notes=[first_line(op)])


def _is_handy_index(value: Value, expression: Expression, uses: int) -> bool:
    """Whether to repeat an index at its uses, which is readable and free to recompute."""
    if expression.reads or isinstance(value, BlockArgument) or str(value.type) != "index":
        return False
    return len(expression.text) <= (_LONG_INDEX if uses == 1 else _SHORT_INDEX)
