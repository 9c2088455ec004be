# SPDX-License-Identifier: Apache-2.0
"""Transcribes a kernel's method from Python syntax to the tile dialect."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from types import FunctionType
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.mlir import InsertionPoint
from xtc.tile.instructions.elements import bind_attribute, of_kind, with_part
from xtc.tile.instructions.groups import ThreadGroup, group_left
from xtc.tile.transcription import branches
from xtc.tile.transcription.block_prints import block_of, print_result
from xtc.tile.transcription.choices import truth
from xtc.tile.transcription.evaluation import Frame, bound_to, computed
from xtc.tile.transcription.exits import InnerFunction, KernelEnd, left_in_group
from xtc.tile.transcription.functions import LocalFunction, require_local, signature_of
from xtc.tile.transcription.kernel_ends import ENDED, Ends, ended_in
from xtc.tile.transcription.loops import Loops
from xtc.tile.transcription.returns import (
    VALUE,
    early_returns,
    fitted,
    like,
    returning_loop,
    returns_value,
    with_end,
    with_values,
)
from xtc.tile.transcription.slots import Ended, Unset
from xtc.tile.transcription.syntax import in_parts, loaded, syntax_of
from xtc.tile.transcription.trials import Trial
from xtc.tile.types import DataType
from xtc.tile.values import arithmetic
from xtc.tile.values.idioms import of_python
from xtc.tile.values.runtime import Data, GlobalTensor, RegisterTensor, SharedTensor

_DEEPEST = 64


class Transcriber(Loops):
    """Transcribes a method at the current insertion point."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.ends = Ends(lambda function: syntax_of(function)[0])

    def call_function(
        self, function: FunctionType, arguments: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        """Transcribe a function and return its result. Raises KernelError, which quotes it."""
        self._require_depth()
        node, source = syntax_of(function)
        bound = bound_to(function, arguments, named)
        bound.apply_defaults()
        self.frames.append(Frame(function, source, dict(bound.arguments)))
        if len(self.frames) == 1:
            self.frame.names[ENDED] = Ended()
        try:
            self._function(node)
            return self.frame.names.get(VALUE)
        finally:
            self.frames.pop()

    def _innerfunction_statement(self, node: InnerFunction) -> None:
        definition = node.definition
        require_local(definition)
        signature = signature_of(definition, self.evaluate)
        run = partial(self._run_local, self.frame)
        self.frame.names[definition.name] = LocalFunction(definition, signature, run)

    def _run_local(self, outer: Frame, function: LocalFunction, given: dict[str, Any]) -> Any:
        """Transcribe a call of a function that a kernel defines."""
        self._require_depth()
        seen = {name: value for name, value in outer.names.items() if name.isidentifier()}
        self.frames.append(Frame(outer.function, outer.source, {**seen, **given}))
        try:
            self._function(function.definition)
            return self.frame.names.get(VALUE)
        finally:
            outer.read |= self.frames.pop().read

    def _require_depth(self) -> None:
        if len(self.frames) >= _DEEPEST:
            raise UserError(
                f"calls are nested {_DEEPEST} deep: a kernel cannot recurse",
                notes=["methods are inlined where they are called"],
                hints=["write a loop"],
            )

    def called(self, function: Any, given: Sequence[Any], made: Any) -> None:
        block = block_of(type(self.frames[0].names.get("self")))
        if block is not None:
            print_result(self._names(), block, function, given, made)

    def _function(self, node: ast.FunctionDef) -> None:
        body = node.body
        conditional = early_returns(body)
        if (group := left_in_group(body)) is not None:
            with self.at(group):
                raise group_left()
        if conditional:
            self._refuse_early(body, conditional[0])
            self.frame.names[VALUE] = None
            loop = returning_loop(body)
            body = with_values(body if loop is None else with_end(body, loop))
            if loop is not None:
                self._find_result(body, loop)
        self.block(body)

    def _refuse_early(self, body: Sequence[ast.stmt], first: ast.stmt) -> None:
        """Raise UserError for a return of None in a branch or loop, and of a value in a kernel."""
        if not returns_value(body):
            with self.at(first):
                raise UserError(
                    "'return None' in a branch or loop",
                    notes=["a bare return there ends the kernel, not only the method"],
                    hints=["write return to end the kernel, or make the rest conditional"],
                )
        if len(self.frames) == 1:
            with self.at(first):
                raise kernel_returns()

    def _find_result(self, body: Sequence[ast.stmt], loop: ast.stmt) -> None:
        """Transcribe a method that returns in a loop once for the types of what it returns."""
        frame = self.frame
        found: list[tuple[Any, Any]] = []
        frame.returned = found
        outer = InsertionPoint.current.block
        Trial(self._names(), partial(self.block, body), is_kept=False)
        frame.returned = None
        if any(block != outer for _, block in found):
            with self.at(loop):
                frame.result = like([value for value, _ in found])
            frame.names[VALUE] = frame.result

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Transcribe statements up to a return, those after a possible end conditionally."""
        for number, statement in enumerate(statements):
            with self.at(statement):
                method: Callable[[Any], None] | None = getattr(
                    self, f"_{type(statement).__name__.lower()}_statement", None
                )
                if method is None:
                    word, hints = of_python(statement)
                    raise UserError(f"'{word}' is not supported in a kernel", hints=hints)
                method(statement)
            if isinstance(statement, ast.Return) or ended_in(self._names()) is True:
                return
            if self._unless_ended(partial(self.block, statements[number + 1 :])):
                return

    def _kernelend_statement(self, node: KernelEnd) -> None:
        self._end()

    def bind(self, target: ast.expr, value: Any) -> None:
        with self.at(target):
            if isinstance(target, ast.Name):
                self._bind_name(target.id, value)
            elif isinstance(target, ast.Tuple | ast.List):
                if isinstance(value, Data):
                    raise UserError(f"{value!r} cannot be unpacked", hints=["index it: t[0], t[1]"])
                parts = in_parts(target.elts, list(value))
                if len(parts) != len(target.elts):
                    raise UserError(
                        f"{len(target.elts)} names for {len(parts)} values",
                        hints=["a, *rest = values takes any number"],
                    )
                for inner, part in zip(target.elts, parts, strict=True):
                    self.bind(inner.value if isinstance(inner, ast.Starred) else inner, part)
            elif isinstance(target, ast.Attribute):
                bind_attribute(self.evaluate(target.value), target.attr, value)
            elif isinstance(target, ast.Subscript):
                self._bind_item(self.evaluate(target.value), self.evaluate(target.slice), value)
            else:
                raise UserError(
                    f"nothing can be assigned to {type(target).__name__}",
                    hints=["assign to a name, an attribute or an element"],
                )

    def _bind_name(self, name: str, value: Any) -> None:
        if name == VALUE and self.frame.returned is not None:
            self.frame.returned.append((value, InsertionPoint.current.block))
        if name == VALUE and self.frame.result is not None:
            self.frame.names[name] = fitted(value, self.frame.result)
            return
        before = self.frame.names.get(name)
        value = of_kind(before, value)
        if isinstance(before, RegisterTensor) and isinstance(value, RegisterTensor):
            value = before if value is before else value.copy()
        self.frame.names[name] = value

    def _bind_item(self, holder: Any, key: Any, value: Any) -> None:
        if isinstance(holder, RegisterTensor):
            holder.change(with_part(holder, key, value).value)
            return
        if isinstance(holder, SharedTensor | GlobalTensor):
            raise UserError(
                f"elements of {holder!r} cannot be assigned",
                hints=["use store_shared or store_global"],
            )
        holder[key] = value

    def _expr_statement(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _pass_statement(self, node: ast.Pass) -> None:
        """Nothing."""

    def _return_statement(self, node: ast.Return) -> None:
        value = None if node.value is None else self.evaluate(node.value)
        self.frame.names[VALUE] = value
        if value is not None and len(self.frames) == 1:
            raise kernel_returns()

    def _assign_statement(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _annassign_statement(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise UserError(
                f"'{ast.unparse(node)}' declares a variable without a value",
                hints=[f"{ast.unparse(node)} = 0"],
            )
        value = self.evaluate(node.value)
        kind = self.evaluate(node.annotation)
        if isinstance(kind, DataType):
            value = arithmetic.cast(_number(value, node.target, kind), kind)
        if isinstance(node.target, ast.Name):
            self.frame.names[node.target.id] = value
        else:
            self.bind(node.target, value)

    def _augassign_statement(self, node: ast.AugAssign) -> None:
        reading = ast.copy_location(loaded(node.target), node.target)
        before = self.evaluate(reading)
        value = computed(type(node.op).__name__, before, self.evaluate(node.value))
        if not isinstance(before, RegisterTensor):
            self.bind(node.target, value)
            return
        value = arithmetic.cast(value, before.dtype)
        if value.shape != before.shape:
            raise UserError(
                f"{before!r} cannot hold {value!r}",
                hints=[
                    "+= and the like change a tile in place; x = x + y creates one of another shape"
                ],
            )
        if isinstance(node.target, ast.Subscript):
            self.bind(node.target, value)
        else:  # under all names of the tile, like NumPy arrays
            before.change(value.value)

    def _assert_statement(self, node: ast.Assert) -> None:
        condition = self.evaluate(node.test)
        if isinstance(condition, Data):
            raise UserError(
                "assert takes a compile-time condition",
                hints=["self.assume(condition) states what holds at run time"],
            )
        if not condition:
            said = "" if node.msg is None else f": {self.evaluate(node.msg)}"
            raise UserError(f"assertion failed{said}")

    def _if_statement(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        if isinstance(condition, Unset):
            raise UserError(
                f"the condition is {condition!r}",
                hints=["write a condition of numbers: x > 0, or self.any(tile > 0)"],
            )
        if not isinstance(condition, Data):
            self.block(node.body if condition else node.orelse)
            return
        bodies = (partial(self.block, node.body), partial(self.block, node.orelse))
        branches.branch(self._names(), truth(condition), bodies)

    def _with_statement(self, node: ast.With) -> None:
        self._within(node.items, node.body)

    def _within(self, items: Sequence[ast.withitem], body: Sequence[ast.stmt]) -> None:
        """Transcribe the body of a thread group, or of several, one within the other."""
        if not items:
            self.block(body)
            return
        first, *rest = items
        group = self.evaluate(first.context_expr)
        if not isinstance(group, ThreadGroup):
            raise UserError(
                f"'with' of {group!r} is not supported in a kernel",
                hints=["thread_group, single_thread, single_warp, warp_group"],
            )
        if first.optional_vars is not None:
            raise UserError("a thread group cannot have a name: omit 'as'")
        inner = partial(self._within, rest, body)
        branches.group(self._names(), group.begin, group.size, inner)


def _number(value: Any, target: ast.expr, kind: DataType) -> Any:
    """A value for a variable that is annotated with the type of a number."""
    if isinstance(value, Data) and prod(value.shape) != 1:
        raise UserError(
            f"'{ast.unparse(target)}: {kind}' declares a number, and its value is {value!r}",
            notes=["the type of a tile is not annotated"],
            hints=["self.cast(x, dtype=...) converts a tile, x[0].item() reads an element"],
        )
    return value


def kernel_returns() -> UserError:
    """The error for a kernel that returns a value."""
    return UserError("a kernel cannot return a value", hints=["write it: self.store_global(...)"])
