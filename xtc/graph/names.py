# SPDX-License-Identifier: Apache-2.0
"""Names of graphs and tensors: C identifiers that cannot collide with generated code."""

from __future__ import annotations

import re

from xtc.core.errors import UserError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")

_C_KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "bool",
        "true",
        "false",
    ]
)
_LIBRARY = frozenset(
    [
        "main",
        "malloc",
        "free",
        "calloc",
        "realloc",
        "aligned_alloc",
        "memcpy",
        "memmove",
        "memset",
        "abort",
        "exit",
        "printf",
        "exp",
        "expf",
        "log",
        "logf",
        "sqrt",
        "sqrtf",
        "tanh",
        "tanhf",
        "erf",
        "erff",
        "pow",
        "powf",
        "sin",
        "cos",
        "fma",
        "fmaf",
        "fmin",
        "fmax",
        "floor",
        "ceil",
        "round",
        "trunc",
    ]
)


def check_name(name: object, of_what: str) -> str:
    """`name` if it is valid. Raises UserError with the reason otherwise."""
    if not isinstance(name, str) or _IDENTIFIER.fullmatch(name) is None:
        raise UserError(
            f"{name!r} cannot be the name of {of_what}",
            notes=[
                "a name is a letter or underscore, then letters, digits, underscores; at most 80"
            ],
        )
    return name


def check_function_name(name: str) -> str:
    """`name` if it can name a C function. Raises UserError for keywords and library functions."""
    if name in _C_KEYWORDS or name in _LIBRARY or name.startswith("__"):
        raise UserError(
            f"graph name '{name}' is taken by the C language or its library",
            notes=["the compiled function has the graph's name"],
            hints=[f"for example '{name}_graph'"],
        )
    return name
