# SPDX-License-Identifier: Apache-2.0
"""Writes C statements for operations: decides what gets a name and what stays an expression.

A value that one operation of the same block uses stays an expression in that operation's text, as
long as the line is short and no write comes between a read and its use. Everything else becomes a
variable.
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
"""Writes one operation."""

LINE = 100
_SHORTEST, _DECLARATION = 40, 28
_SHORT_INDEX, _LONG_INDEX = 20, 40


@dataclass
class Printer:
    """The state of writing one function.

    Attributes:
        rules: how operations are written, by their names.
        names: the C names in scope.
        prelude: what the code needs before it.
        symbols: C names of globals and functions, by their MLIR symbols.
        fallible: functions that return whether they failed, by their MLIR symbols.
        read_only: for each function, which of its parameters it only reads, by MLIR symbols.
        suggested: what the parameters of functions that are called here are best called.
        definitions: texts that the function needs before it.
        constant: buffers that the function only reads.
        lines: the text so far.
        live: C names of the heap buffers that exist at this point.
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
        """The text of a value, to be used once where it is not an atom."""
        self._pending.pop(value, None)
        return self._values[value]

    def atom(self, value: Value) -> Expression:
        """A value as a variable or a literal, which may be used again and again."""
        found = self.expression(value)
        if not found.is_atom:
            self._name(value, self.hint(value))
        return self._values[value]

    def operands(self, op: Operation) -> list[Expression]:
        """The texts of an operation's operands; long ones get names, so that lines stay short."""
        values = list(op.operands)
        while sum(len(self._values[value].text) for value in values) > self._room:
            long = [value for value in values if not self._values[value].is_atom]
            if not long:
                break
            self.atom(max(long, key=lambda value: len(self._values[value].text)))
        return [self.expression(value) for value in values]

    @property
    def _room(self) -> int:
        """Characters for an expression in the line that declares a variable."""
        return max(_SHORTEST, LINE - 2 * self._depth - _DECLARATION)

    def hint(self, value: Value) -> str:
        """What a variable for this value is best called; the # stands for a number from 0."""
        return self._hints.get(value, "t")

    def set(self, value: Value, expression: Expression, hint: str = "") -> None:
        """Say what a value is, without writing anything."""
        self._values[value] = expression
        if hint:
            self._hints[value] = hint

    def define(self, value: Value, expression: Expression, hint: str) -> None:
        """Say what an operation's result is; writes a variable unless it can stay an expression."""
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
        """Name every expression that reads memory, before something writes it."""
        for value, hint in tuple(self._pending.items()):
            self._name(value, hint)

    def _name(self, value: Value, hint: str) -> None:
        self._pending.pop(value, None)
        expression, type = self._values[value], self.type_name(value)
        name = self.names.declare(hint)
        self.statement(f"const {type} {name} = {expression.text};")
        self._values[value] = expression.named(name)

    def type_of(self, value: Value) -> CType:
        """The C type of a value. Raises CompileError if it has none."""
        found = CType.of(value.type)
        if found is None:
            raise self.error(value.owner, f"values of type {value.type} cannot be written in C")
        return found

    def type_name(self, value: Value) -> str:
        """The name of a value's C type, declared."""
        type, known = self.type_of(value), self._values.get(value)
        if known is not None and known.mask_bits:
            type = type.with_element(f"i{known.mask_bits}")
        return self.prelude.type(type)

    def statement(self, text: str) -> None:
        """A line at the present depth; one that is too long is broken."""
        indent = "  " * self._depth
        self.lines += [indent + line for line in broken(text, LINE - len(indent))]

    def mentions(self, name: str) -> bool:
        """Whether the text so far uses a name."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        return any(word.search(line.partition("//")[0]) for line in self.lines)

    @contextmanager
    def block(self, head: str, comment: str = "") -> Iterator[None]:
        """Braces after `head` around what is written inside, with separate names and node."""
        self.statement(f"{head} {{  // {comment}" if comment else f"{head} {{")
        self._depth += 1
        node = self._node
        with self.names.scope():
            yield
        self._node = node
        self._depth -= 1
        self.statement("}")

    def operations(self, block: Block) -> None:
        """Write the operations of a block. Raises CompileError for one that C cannot express."""
        for op in block.operations:
            rule = self.rules.get(op.operation.name)
            if rule is None:
                raise self.error(op.operation, f"{op.operation.name} cannot be written in C")
            rule(self, op.operation)

    def comment_node(self, op: Operation) -> None:
        """A comment where the code of another node begins."""
        node = node_of(op)
        if node and node not in (self._node, self._node.partition(".")[0]):
            self._node = node
            self.statement(f"// {node}")

    def error(self, at: Operation | Block, why: str) -> CompileError:
        """An error that names the operation and the node of the graph that it came from."""
        op = at.owner.operation if isinstance(at, Block) else at.operation
        node = node_of(op)
        subject = f"'{node}': {why}" if node else why
        return CompileError(subject, where=user_line(op), notes=[first_line(op)])


def _is_handy_index(value: Value, expression: Expression, uses: int) -> bool:
    """Indices read best where they are used, and cost nothing to compute again."""
    if expression.reads or isinstance(value, BlockArgument) or str(value.type) != "index":
        return False
    return len(expression.text) <= (_LONG_INDEX if uses == 1 else _SHORT_INDEX)
