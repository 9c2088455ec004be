# SPDX-License-Identifier: Apache-2.0
"""Names of C variables: each is unique among those in scope, and none means something else in C."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_NUMBER = re.compile(r"(_\d+)?#$")
_LOOPS = "ijklmnopqrstuvw"

RESERVED = frozenset(
    """
    auto bool break case char const continue default do double else enum extern false float for
    goto if inline int long register restrict return short signed sizeof static struct switch true
    typedef union unsigned void volatile while asm typeof
    abs acos aligned_alloc asin atan calloc ceil cos erf exp exp2 expm1 fabs floor fma free j0 j1
    log log10 log1p log2 main malloc memcpy memset pow rint round sin sqrt tan tanh trunc y0 y1
    bf16 errno linux unix NAN INFINITY NULL
    """.split()
)


def identifier(text: str) -> str:
    """`text` with everything that C does not allow in a name replaced."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{name}" if not name or name[0].isdigit() else name


class Names:
    """The names in scope, innermost scope last."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._scopes: list[set[str]] = [set(taken)]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is declared in the block is forgotten after it."""
        self._scopes.append(set())
        try:
            yield
        finally:
            self._scopes.pop()

    def declare(self, wish: str) -> str:
        """A new name: `wish`, or `wish_1` and so on where it is taken.

        A wish `A#` is for one of several: `A_0`, `A_1` and so on. A number that it has is replaced.
        """
        stem = identifier(_NUMBER.sub("", wish))
        numbered = (f"{stem}_{n}" for n in itertools.count(int(not wish.endswith("#"))))
        first = [] if wish.endswith("#") else [identifier(wish)]
        name = next(n for n in itertools.chain(first, numbered) if self._is_free(n))
        self._scopes[-1].add(name)
        return name

    def declare_loop(self) -> str:
        """A name for a loop that has none: the first of i, j, k that is free."""
        free = next((name for name in _LOOPS if self._is_free(name)), "i")
        return self.declare(free)

    def _is_free(self, name: str) -> bool:
        helper = re.fullmatch(r"(\w+_)?([fiu]|bf)\d+(x\d+)?(_u)?", name)
        return (
            name not in RESERVED
            and helper is None
            and not name.endswith("_t")
            and all(name not in scope for scope in self._scopes)
        )
