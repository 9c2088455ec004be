# SPDX-License-Identifier: Apache-2.0
"""Splits CSL text into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from xtc_targets.wse.csl.errors import CslError, Position

_KEYWORDS = """
    align and break comptime const continue else enum export extern fn for if inline layout linkname
    linksection noinline or packed param return struct switch task union var while"""
KEYWORDS = frozenset(_KEYWORDS.split())

Kind = Literal["name", "keyword", "builtin", "number", "string", "char", "sign", "end"]

_TOKEN = re.compile(
    r"""(?P<space>[\ \t\r]+|//[^\n]*)
      | (?P<newline>\n)
      | (?P<number>0[xX][0-9a-fA-F_]+(?:\.[0-9a-fA-F_]+)?(?:[pP][-+]?\d+)?
                  |0[bB][01_]+|0[oO][0-7_]+
                  |\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][-+]?\d+)?)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<builtin>@[A-Za-z_]\w*)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>'(?:\\.|[^'\\\n])')
      | (?P<sign><<=|>>=|=>|->|\+\+|\*\*|==|!=|<=|>=|<<|>>|\+=|-=|\*=|/=|%=|&=|\|=|\^=|\.\*
                |\.\.|[-+*/%&|^~!<>=(){}\[\],;:.?])""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token; strings keep their quotes and escapes."""

    kind: Kind
    text: str
    at: Position


def tokens(text: str, file: str) -> list[Token]:
    """All tokens, ending with one of kind `end`. Raises CslError for an unexpected character."""
    found: list[Token] = []
    line, start, offset = 1, 0, 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        at = Position(file, line, offset - start + 1)
        if match is None:
            raise _unexpected_character(text, offset, at)
        kind = match.lastgroup
        if kind == "newline":
            line, start = line + 1, match.end()
        elif kind != "space":
            word = match.group()
            if word in KEYWORDS:
                kind = "keyword"
            found.append(Token(kind, word, at))  # type: ignore[arg-type]
        offset = match.end()
    found.append(Token("end", "end of file", Position(file, line, offset - start + 1)))
    return found


def _unexpected_character(text: str, offset: int, at: Position) -> CslError:
    character = text[offset]
    if character == '"':
        return CslError("the string does not end on its line", where=at)
    return CslError(f"{character!r} is not a token of CSL", where=at)
