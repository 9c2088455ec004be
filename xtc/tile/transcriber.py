# SPDX-License-Identifier: Apache-2.0
"""Transcribes a kernel's method from Python syntax to the tile dialect."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from types import FunctionType
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders.tile import assume
from xtc.ir.mlir import Value
from xtc.tile import arithmetic, branches
from xtc.tile.block_prints import block_of, print_result
from xtc.tile.elements import bind_attribute, with_part
from xtc.tile.evaluation import Expressions, Frame, bound_to, computed, constant_items
from xtc.tile.exits import (
    LEFT,
    SKIPPED,
    VALUE,
    KernelEnd,
    early_returns,
    exits,
    flag_names,
    left_in_group,
    returns_value,
    with_values,
    without_exits,
)
from xtc.tile.groups import ThreadGroup, group_left
from xtc.tile.idioms import of_python
from xtc.tile.kernel_ends import ENDED, Ends, ended_in
from xtc.tile.ranges import Range
from xtc.tile.slots import Ended, Unset, forget_set
from xtc.tile.syntax import in_parts, loaded, stored, syntax_of
from xtc.tile.types import DataType
from xtc.tile.values import Data, GlobalTensor, RegisterTensor, Scalar, SharedTensor

_DEEPEST = 64
_MOST_ITERATIONS = 4096
_EXITS = (ast.Break, ast.Continue)
_COUNTER = ".counter"
_OF_LOOPS = (LEFT, SKIPPED, _COUNTER)
_ENDS = frozenset((LEFT, ENDED))
"""The flags that end a loop."""


class Transcriber(Expressions):
    """Transcribes a method at the current insertion point."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.ends = Ends(lambda function: syntax_of(function)[0])

    def call_function(
        self, function: FunctionType, arguments: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        """Transcribe a function and return its result. Raises KernelError, which quotes it."""
        if len(self.frames) >= _DEEPEST:
            raise UserError(
                f"calls are nested {_DEEPEST} deep: a kernel cannot recurse",
                notes=["methods are inlined where they are called"],
                hints=["write a loop"],
            )
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
            body = with_values(body)
        self.block(body)

    def _refuse_early(self, body: Sequence[ast.stmt], first: ast.stmt) -> None:
        """Raise UserError for a return of a value in a loop, or of None in a branch or loop."""
        if not returns_value(body):
            with self.at(first):
                raise UserError(
                    "'return None' in a branch or loop",
                    notes=["a bare return there ends the kernel, not only the method"],
                    hints=["write return to end the kernel, or make the rest conditional"],
                )
        for statement in body:
            if isinstance(statement, ast.For | ast.While) and exits([statement], ast.Return):
                with self.at(statement):
                    raise UserError("a loop of a kernel returns no value", hints=["use break"])

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Transcribe statements up to a return, those after a possible end conditionally."""
        for number, statement in enumerate(statements):
            with self.at(statement):
                method: Callable[[Any], None] | None = getattr(
                    self, f"_{type(statement).__name__.lower()}_statement", None
                )
                if method is None:
                    word, hints = of_python(statement)
                    raise UserError(f"a kernel has no '{word}'", hints=hints)
                method(statement)
            if isinstance(statement, ast.Return) or ended_in(self._names()) is True:
                return
            if self._unless_ended(partial(self.block, statements[number + 1 :])):
                return

    def _unless_ended(self, rest: Callable[[], None]) -> bool:
        """Transcribe the statements that follow under the condition that the kernel has not ended.
        False, without effect, if nothing can have ended it."""
        ended = ended_in(self._names())
        if ended is False:
            return False
        if isinstance(ended, Unset):
            raise group_left()
        goes = _truth(arithmetic.unary("not", ended))
        branches.branch(self._names(), goes, (partial(self._going_on, rest), self._end))
        return True

    def _going_on(self, rest: Callable[[], None]) -> None:
        self.frames[0].names[ENDED].ended = False
        rest()

    def _end(self) -> None:
        self.frames[0].names[ENDED].ended = True

    def require_going(self) -> None:
        """Raise UserError if a part of an expression may have ended the kernel."""
        if ended_in(self._names()) is not False:
            raise UserError(
                "a method that may end the kernel is called inside of an expression",
                notes=["a bare return in a branch or loop ends the kernel, in methods too"],
                hints=["assign what the method returns to a variable first"],
            )

    def condition(self, node: ast.expr) -> Any:
        """The value of a statement's condition."""
        found = self.evaluate(node)
        self.require_going()
        return found

    def _kernelend_statement(self, node: KernelEnd) -> None:
        self._end()

    def _may_end(self, body: Sequence[ast.stmt]) -> bool:
        """Whether statements of this frame may end the kernel."""
        known = {**self.frame.outer, **self.frame.names, "self": self.frame.names.get("self")}
        return self.ends.may_end(body, known.get)

    def bind(self, target: ast.expr, value: Any) -> None:
        with self.at(target):
            if isinstance(target, ast.Name):
                self._bind_name(target.id, value)
            elif isinstance(target, ast.Tuple | ast.List):
                if isinstance(value, Data):
                    raise UserError(f"{value!r} cannot be unpacked", hints=["index it: t[0], t[1]"])
                parts = in_parts(target.elts, list(value))
                if len(parts) != len(target.elts):
                    raise UserError(f"{len(target.elts)} names for {len(parts)} values")
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
        before = self.frame.names.get(name)
        if isinstance(before, Scalar) and isinstance(value, int | float):
            value = arithmetic.cast(value, before.dtype) if _fits(value, before.dtype) else value
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
            raise UserError("a kernel returns nothing", hints=["write it: self.store_global(...)"])

    def _assign_statement(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _annassign_statement(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise UserError("a variable is declared with its value: x: int32 = 0")
        value = self.evaluate(node.value)
        kind = self.evaluate(node.annotation)
        if isinstance(kind, DataType):
            value = arithmetic.cast(value, kind)
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
            raise UserError(f"the condition is {condition!r}")
        if not isinstance(condition, Data):
            self.block(node.body if condition else node.orelse)
            return
        bodies = (partial(self.block, node.body), partial(self.block, node.orelse))
        branches.branch(self._names(), _truth(condition), bodies)

    def _while_statement(self, node: ast.While) -> None:
        _require_no_else(node)
        leaves = exits(node.body, *_EXITS) or self._may_end(node.body)
        if not leaves and self._while_constant(node):
            return
        with self._own_flags():
            body, flags = self._exits_of(node)
            test = (
                (lambda: self._unless_left(node.test, flags))
                if flags & _ENDS
                else (lambda: _truth(self.condition(node.test)))
            )
            branches.while_loop(
                self._names(),
                self._assigned([node, *body]) | flags,
                test,
                lambda: self._body(body, flags),
            )

    @contextmanager
    def _own_flags(self) -> Iterator[None]:
        """Preserve the flags of an enclosing loop, which have the same names."""
        names = self.frame.names
        kept = {name: names.pop(name) for name in _OF_LOOPS if name in names}
        try:
            yield
        finally:
            for name in _OF_LOOPS:
                names.pop(name, None)
            names.update(kept)

    def _unless_left(self, test: ast.expr, flags: set[str]) -> Value:
        going, flag = self._going(flags), self.frames[0].names[ENDED]
        carried, flag.ended = flag.ended, False
        holds = arithmetic.data(self.condition(test))
        flag.ended = carried
        return _truth(arithmetic.binary("and", arithmetic.cast(holds, going.dtype), going))

    def _going(self, flags: set[str]) -> Data:
        """Whether a loop continues."""
        ended = [self.frame.names[name] for name in sorted(flags & {LEFT})]
        ended += [ended_in(self._names())] if ENDED in flags else []
        return arithmetic.unary("not", reduce(partial(arithmetic.binary, "or"), ended))

    def _while_constant(self, node: ast.While) -> bool:
        """Unroll the iterations while the condition is constant; False if it is not."""
        for number in range(_MOST_ITERATIONS):
            condition = self.evaluate(node.test)
            if isinstance(condition, Data):
                if number:
                    raise UserError(
                        "the condition is a constant at first, and later a run-time value",
                        hints=[
                            "declare what it depends on as run-time data: going: boolean = True"
                        ],
                    )
                return False
            if not condition:
                return True
            self.block(node.body)
        raise UserError(
            f"a loop over constants has more than {_MOST_ITERATIONS} iterations",
            hints=["declare the loop variable as a run-time number: i: int32 = 0"],
        )

    def _exits_of(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], set[str]]:
        """The body of a loop with exits replaced, and the flags that they set."""
        kinds = exits(node.body, *_EXITS)
        flags = set(flag_names(kinds))
        for name in sorted(flags):
            self.frame.names[name] = False
        if self._may_end(node.body):
            flags.add(ENDED)
            self.frames[0].names[ENDED].ended = arithmetic.data(False)
        if not kinds:
            return node.body, flags
        return without_exits(node.body, *_EXITS), flags

    def _body(self, body: list[ast.stmt], flags: set[str]) -> None:
        """Transcribe an iteration of a run-time loop."""
        outside = dict(self.frame.names)
        if SKIPPED in flags:
            self.frame.names[SKIPPED] = False
        read, self.frame.read = self.frame.read, set()
        self._going_on(partial(self.block, body))
        if ENDED not in flags and ended_in(self._names()) is not False:
            raise UserError(
                "a loop calls a method that ends the kernel and was not known before the loop",
                hints=["write the loop in the method that ends the kernel"],
            )
        forget_set(self.frame.names, outside, self.frame.read)
        self.frame.read |= read

    def _for_statement(self, node: ast.For) -> None:
        _require_no_else(node)
        items = self.condition(node.iter)
        if not isinstance(items, Range) or items.unroll == "all":
            self._unrolled(node, constant_items(items))
            return
        with self._own_flags():
            self._loop(node, items)

    def _loop(self, node: ast.For, items: Range) -> None:
        """Transcribe a run-time loop."""
        body, flags = self._exits_of(node)
        if not isinstance(node.target, ast.Name):
            raise UserError(
                "a run-time loop has one variable",
                hints=["for i in range(n): a, b = i // k, i % k"],
            )
        variable = node.target.id
        self.frame.names.pop(variable, None)
        if flags & _ENDS:
            self._left_early(node, items, body, flags)
            return
        bounds, position = self._counted(items)
        names = self._assigned(body) | flags

        def iteration(number: Data) -> None:
            self.bind(node.target, position(number))
            self._body(body, flags)
            self.frame.names.pop(variable, None)

        branches.for_loop(self._names(), names, bounds, iteration)

    def _unrolled(self, node: ast.For, items: list[Any]) -> None:
        """Write out every iteration."""
        kinds = exits(node.body, *_EXITS)
        body = without_exits(node.body, *_EXITS) if kinds else node.body
        with self._own_flags():
            self.frame.names.update(dict.fromkeys(flag_names(kinds), False))
            self._iterations(node.target, body, items)

    def _iterations(self, target: ast.expr, body: list[ast.stmt], items: list[Any]) -> None:
        """Transcribe iterations of a written-out loop, as long as none has left it."""
        names = self.frame.names
        for number, item in enumerate(items):
            if isinstance(left := names.get(LEFT), Data):
                goes = _truth(arithmetic.unary("not", left))
                rest = partial(self._iterations_after_all, target, body, items[number:])
                branches.branch(self._names(), goes, (rest, _nothing))
                return
            if left:
                return
            if SKIPPED in names:
                names[SKIPPED] = False
            self.bind(target, item)
            self.block(body)
            if ended_in(self._names()) is True:
                return
            if self._unless_ended(partial(self._iterations, target, body, items[number + 1 :])):
                return

    def _iterations_after_all(
        self, target: ast.expr, body: list[ast.stmt], items: list[Any]
    ) -> None:
        self.frame.names[LEFT] = False
        self._iterations(target, body, items)

    def _left_early(
        self, node: ast.For, items: Range, body: list[ast.stmt], flags: set[str]
    ) -> None:
        """A counted loop with break, as a while loop."""
        (start, stop, step), position = self._counted(items)
        counter = _COUNTER
        self.frame.names[counter] = start

        def holds() -> Value:
            inside = arithmetic.binary("lt", self.frame.names[counter], stop)
            return _truth(arithmetic.binary("and", inside, self._going(flags)))

        def iteration() -> None:
            self.bind(node.target, position(self.frame.names[counter]))
            self._body(body, flags)
            self.frame.names.pop(node.target.id, None)  # type: ignore[attr-defined]
            self.frame.names[counter] = arithmetic.binary("add", self.frame.names[counter], step)

        assigned = self._assigned(body) | flags | {counter}
        branches.while_loop(self._names(), assigned, holds, iteration)

    def _assigned(self, nodes: Sequence[ast.AST]) -> set[str]:
        """The names that a loop rebinds; `+=` changes a tile in place."""
        assigned, changed = stored(nodes)
        names = self.frame.names
        return assigned | {n for n in changed if not isinstance(names.get(n), RegisterTensor)}

    def _counted(self, items: Range) -> tuple[list[Data], Callable[[Data], Data]]:
        """Bounds with a positive step, and a function from the counter to the loop's variable."""
        step = items.step
        if isinstance(step, Data) or step > 0:
            bounds = [arithmetic.cast(n, items.dtype) for n in (items.start, items.stop, step)]
            if isinstance(step, Data):
                assume(arithmetic.binary("gt", step, 0).value, "step")
            return bounds, lambda number: number
        count = (items.start - items.stop - step - 1) // -step
        bounds = [arithmetic.cast(n, items.dtype) for n in (0, count, 1)]
        return bounds, lambda number: arithmetic.binary(
            "add", arithmetic.binary("mul", number, step), items.start
        )

    def _with_statement(self, node: ast.With) -> None:
        for entry in node.items:
            group = self.evaluate(entry.context_expr)
            if not isinstance(group, ThreadGroup):
                raise UserError(
                    f"a kernel has no 'with' of {group!r}",
                    hints=["thread_group, single_thread, single_warp, warp_group"],
                )
            if entry.optional_vars is not None:
                raise UserError("a group of threads has no name: leave out 'as'")
        if len(node.items) != 1:
            raise UserError("write a separate 'with' for each group of threads")
        branches.group(self._names(), group.begin, group.size, lambda: self.block(node.body))

    def _names(self) -> list[dict[str, Any]]:
        return [frame.names for frame in self.frames]  # type: ignore[misc]


def _require_no_else(node: ast.For | ast.While) -> None:
    if node.orelse:
        hints = ["write a condition after the loop"]
        raise UserError("a loop of a kernel has no else", hints=hints)


def _nothing() -> None:
    """What a branch does that is not there."""


def _truth(condition: Any) -> Value:
    """A condition as a value of type i1. Raises UserError for a tile."""
    found = arithmetic.data(condition)
    if found.shape:
        raise UserError(
            f"a condition is {found!r}", hints=["use where, or any(...) and all(...) of it"]
        )
    return found.value if found.dtype.kind == "bool" else arithmetic.binary("ne", found, 0).value


def _fits(value: Any, dtype: DataType) -> bool:
    return dtype.is_float() or isinstance(value, int)
