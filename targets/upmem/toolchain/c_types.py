# SPDX-License-Identifier: Apache-2.0
"""Rewrites C for the types of the DPU's compiler: `long` has 64 bits there, but 32 for RISC-V.

The widths are those of the vendor's published compiler (`DPUTargetInfo` in its clang): `long` and
`long double` 64 bits, `size_t` and pointers 32, and `char` is signed.
"""

from __future__ import annotations

import re

WIDTHS = (
    "-fsigned-char",
    "-U__LONG_MAX__",
    "-D__LONG_MAX__=0x7fffffffffffffffL",
    "-U__SIZEOF_LONG__",
    "-D__SIZEOF_LONG__=8",
    "-U__SIZEOF_LONG_DOUBLE__",
    "-D__SIZEOF_LONG_DOUBLE__=8",
)
"""Flags for the preprocessor and the compiler."""

_WORDS = "long|int|unsigned|signed|double|const|volatile|__signed__|__signed|_Complex|__restrict"
_BUILTINS = "clz|ctz|popcount|parity|ffs|clrsb|[su](?:add|sub|mul)"
_TOKENS = re.compile(
    rf"""
      (?P<kept> ^[ \t]*\#.*$ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    | (?P<type> \b(?:{_WORDS})\b (?: \s+ (?:{_WORDS})\b )* )
    | (?P<builtin> \b__builtin_(?:{_BUILTINS})l(?:_overflow)?\b )
    | (?P<name> [A-Za-z_$][\w$]* )
    | (?P<number> \.?[0-9](?:[eEpP][+-]|[\w.])* )
    """,
    re.VERBOSE | re.MULTILINE,
)
_INTEGER = re.compile(r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(?:[lL][uU]?|[uU][lL])")
_LONG_FLOAT = re.compile(r"(?:0[xX][0-9a-fA-F.]+[pP]|[0-9]*\.|[0-9]+[eE])[0-9.+eE-]*[lL]")


def with_wide_longs(text: str) -> str:
    """Preprocessed C for a compiler with a 32-bit `long`; C without `long` is unchanged."""
    return _TOKENS.sub(_rewritten, text)


def _rewritten(token: re.Match[str]) -> str:
    word = token[0]
    if token["type"] is not None:
        return _wide_type(word)
    if token["number"] is not None:
        return _wide_number(word)
    if token["builtin"] is not None:
        return re.sub(r"l(_overflow)?$", r"ll\1", word)
    return word


def _wide_type(words: str) -> str:
    if re.search(r"\bdouble\b", words):
        return re.sub(r"\blong\b", "", words)
    longs = re.findall(r"\blong\b", words)
    return re.sub(r"\blong\b", "long long", words) if len(longs) == 1 else words


def _wide_number(number: str) -> str:
    if _INTEGER.fullmatch(number):
        return re.sub(r"([lL])", r"\1\1", number)
    return number[:-1] if _LONG_FLOAT.fullmatch(number) else number
