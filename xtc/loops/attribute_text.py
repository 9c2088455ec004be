# SPDX-License-Identifier: Apache-2.0
"""Schedules in MLIR text, `loop.schedule = {"j", "i", "i#4" = {"unroll"}}`, with their order.

MLIR sorts the entries of a dictionary by name, and the order of a schedule is its meaning. So
these dictionaries are read here, before MLIR sees the text: each becomes YAML, token by token in
the same places, and in the text a number that stands for it.
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
    """A dictionary as YAML, and where its first character stands."""

    yaml: str
    where: SourceLocation


def lift_schedules(text: str, file: str) -> tuple[str, list[AttributeText]]:
    """MLIR text with -1, -2, ... in place of its dictionaries, and those in that order.

    Every other line and column stays what it is. A dictionary of more than names, numbers and
    brackets is left to MLIR.
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
    """A number, then blanks, as large as the value."""
    digits = f"-{number}"
    first, newline, rest = re.sub(r"[^\n]", " ", value).partition("\n")
    return f"{digits}{first[len(digits) :]}{newline}{rest}"


def _dictionary(text: str, start: int) -> tuple[str | None, int]:
    """The YAML of what begins at `start`, None if it is something else, and how far it goes."""
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
    """The token in YAML, of the same length but where a blank has to follow."""
    if token["blank"]:
        return re.sub(r"[^\n]", " ", token[0])
    if not token["equals"]:
        return token[0]
    blanks = re.sub(r"[^\n]", " ", token["unit"] or "")
    return f":{blanks}" if blanks or follows.isspace() else ": "
