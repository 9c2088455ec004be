# SPDX-License-Identifier: Apache-2.0
"""A cursor over tokens, shared by all parts of the parser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.csl.tokens import Token, tokens

DEEPEST = 160
"""The deepest nesting of expressions and statements."""

Item = TypeVar("Item")


class Reader:
    """The tokens of a file and the current position."""

    def __init__(self, text: str, file: str) -> None:
        self._tokens = tokens(text, file)
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._next]

    @property
    def at(self) -> Position:
        return self.token.at

    def ahead(self, count: int) -> Token:
        """The token `count` positions after the next, or the last."""
        return self._tokens[min(self._next + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self._next += 1
        return token

    def next_is(self, *texts: str) -> bool:
        return self.token.kind in ("sign", "keyword") and self.token.text in texts

    def accept(self, *texts: str) -> str | None:
        """Read the next token if it is among `texts`; return its text or None."""
        return self.take().text if self.next_is(*texts) else None

    def expect(self, text: str, after: str = "") -> Token:
        if not self.next_is(text):
            where = f" after {after}" if after else ""
            raise self.unexpected(f"'{text}'{where}")
        return self.take()

    def name(self, what: str) -> str:
        if self.token.kind != "name":
            raise self.unexpected(f"the name of {what}")
        return self.take().text

    def unexpected(self, wanted: str) -> CslError:
        found = self.token.text if self.token.kind == "end" else f"'{self.token.text}'"
        return CslError(f"{wanted} is expected here, not {found}", where=self.at)

    def several(self, item: Callable[[], Item], end: str) -> tuple[Item, ...]:
        """Parse comma-separated items up to and including `end`; a trailing comma is allowed."""
        items: list[Item] = []
        while not self.accept(end):
            items.append(item())
            if not self.accept(","):
                self.expect(end)
                break
        return tuple(items)

    def nested(self, parse: Callable[[], Item]) -> Item:
        """Parse one nesting level deeper. Raises CslError beyond the limit."""
        if self._depth == DEEPEST:
            raise CslError(f"this is nested more than {DEEPEST} levels deep", where=self.at)
        self._depth += 1
        try:
            return parse()
        finally:
            self._depth -= 1
