# SPDX-License-Identifier: Apache-2.0
"""Transcribes loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders.tile import assume
from xtc.ir.mlir import Value
from xtc.tile.transcription import branches
from xtc.tile.transcription.choices import truth
from xtc.tile.transcription.endings import Endings
from xtc.tile.transcription.evaluation import constant_items
from xtc.tile.transcription.exits import LEFT, SKIPPED, exits, flag_names, without_exits
from xtc.tile.transcription.kernel_ends import ENDED, ended_in
from xtc.tile.transcription.slots import forget_set
from xtc.tile.transcription.syntax import stored
from xtc.tile.transcription.trials import Trial, has_calls
from xtc.tile.values import arithmetic
from xtc.tile.values.ranges import Range
from xtc.tile.values.runtime import Data, RegisterTensor

_MOST_ITERATIONS = 4096
_EXITS = (ast.Break, ast.Continue)
_COUNTER = ".counter"
_OF_LOOPS = (LEFT, SKIPPED, _COUNTER)
_ENDS = frozenset((LEFT, ENDED))
"""The flags that end a loop."""


class Loops(Endings):
    """Transcribes for and while statements at the current insertion point."""

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Transcribe statements."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a name, an attribute, an element, or a tuple of them."""
        raise NotImplementedError

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
                else (lambda: truth(self.condition(node.test)))
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
        if self.has_effects(test):  # not after the loop was left
            sides = partial(self._truth_of, test), partial(arithmetic.data, False)
            holds = self.chosen(going, *sides)
        else:
            holds = arithmetic.data(self.condition(test))
        flag.ended = carried
        return truth(arithmetic.binary("and", arithmetic.cast(holds, going.dtype), going))

    def _going(self, flags: set[str]) -> Data:
        """Whether a loop continues."""
        ended = [self.frame.names[name] for name in sorted(flags & {LEFT})]
        ended += [ended_in(self._names())] if ENDED in flags else []
        return arithmetic.unary("not", reduce(partial(arithmetic.binary, "or"), ended))

    def _while_constant(self, node: ast.While) -> bool:
        """Write out the iterations while the condition is constant; False if it is not, at first or
        after some of them."""
        for _ in range(_MOST_ITERATIONS):
            condition = self._tried(node.test)
            if isinstance(condition, Data):
                return False
            if not condition:
                return True
            self.block(node.body)
        raise UserError(
            f"a loop over constants has more than {_MOST_ITERATIONS} iterations",
            hints=["declare the loop variable as a run-time number: i: int32 = 0"],
        )

    def _tried(self, test: ast.expr) -> Any:
        """The value of a condition; a run-time condition has no effects."""
        evaluate = partial(self.evaluate, test)
        return Trial(self._names(), evaluate).found if has_calls(test) else evaluate()

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
                goes = truth(arithmetic.unary("not", left))
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
            return truth(arithmetic.binary("and", inside, self._going(flags)))

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


def _require_no_else(node: ast.For | ast.While) -> None:
    if node.orelse:
        hints = ["write a condition after the loop"]
        raise UserError("'else' of a loop is not supported in a kernel", hints=hints)


def _nothing() -> None:
    """The body of an absent branch."""
