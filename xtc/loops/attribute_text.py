# SPDX-License-Identifier: Apache-2.0
"""Schedules in MLIR text, `loop.schedule = {"j", "i", "i#4" = {"unroll"}}`, with their order.

MLIR sorts the entries of a dictionary by name, but the order of a schedule matters. Therefore this
file extracts these dictionaries before MLIR parses the text: each becomes YAML, token by token at
the same positions, and the text gets a number in its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xtc.core.location import SourceLocation

MAX_DEPTH = 40

_VALUE = re.compile(
    r'(?P<attribute>(?:"loop\.schedule"|(?<![\w.$-])loop\.schedule)\s*=\s*)(?=\{)'
    r'|"(?:[^"\\\n]|\\.)*"|//[^\n]*'
)
_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*|:\s*(?:i[0-9]+|index)\b)|(?P<equals>=)(?P<unit>\s*unit\b)?"
    r'|(?P<open>[{[])|(?P<close>[}\]])|(?P<kept>,|"[^"\\\n]*"|[A-Za-z_][\w$.]*|-?[0-9]+)'
)


@dataclass(frozen=True)
class AttributeText:
    """A dictionary as YAML, and the position of its first character."""

    yaml: str
    where: SourceLocation


def lift_schedules(text: str, file: str) -> tuple[str, list[AttributeText]]:
    """MLIR text with -1, -2, ... in place of its dictionaries, and the dictionaries in that order.

    All other lines and columns are unchanged. Dictionaries with other tokens than names, numbers
    and brackets are left to MLIR.
    """
    found: list[AttributeText] = []
    pieces, position, line = [], 0, 1
    for match in _VALUE.finditer(text):
        if match["attribute"] is None or match.start() < position:
            continue
        start = match.end()
        yaml, stop = _dictionary(text, start)
        line += text.count("\n", position, start)
        value = text[start:stop]
        if yaml is not None:
            column = start - text.rfind("\n", 0, start)
            found.append(AttributeText(yaml, SourceLocation(file, line, column)))
            value = _standing_for(len(found), value)
        pieces += [text[position:start], value]
        line += value.count("\n")
        position = stop
    return "".join([*pieces, text[position:]]), found


def _standing_for(number: int, value: str) -> str:
    """A number padded with blanks to the length of the value."""
    digits = f"-{number}"
    first, newline, rest = re.sub(r"[^\n]", " ", value).partition("\n")
    return f"{digits}{first[len(digits) :]}{newline}{rest}"


def _dictionary(text: str, start: int) -> tuple[str | None, int]:
    """The YAML of the dictionary at `start`, or None for other text; and its end."""
    pieces, position, depth = [], start, 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        depth += bool(match["open"]) - bool(match["close"])
        pieces.append(_yaml(match, text[position : position + 1]))
        if depth == 0:
            return "".join(pieces), position
        if depth > MAX_DEPTH:
            break
    return None, position


def _yaml(token: re.Match[str], follows: str) -> str:
    """The token in YAML, of the same length except where YAML needs a blank after it."""
    if token["blank"]:
        return re.sub(r"[^\n]", " ", token[0])
    if not token["equals"]:
        return token[0]
    blanks = re.sub(r"[^\n]", " ", token["unit"] or "")
    return f":{blanks}" if blanks or follows.isspace() else ": "
