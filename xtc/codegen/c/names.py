# SPDX-License-Identifier: Apache-2.0
"""Names of C variables, unique in their scope and not reserved."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_NUMBER = re.compile(r"(_\d+)?#$")
_LOOPS = "ijklmnopqrstuvw"

KEYWORDS = frozenset(
    """
    auto bool break case char const continue default do double else enum extern false float for
    goto if inline int long register restrict return short signed sizeof static struct switch true
    typedef union unsigned void volatile while
    """.split()
)
LIBRARY = frozenset(
    """
    main abort abs aligned_alloc at_quick_exit atexit atof atoi atol atoll bsearch calloc div exit
    free getenv labs ldiv llabs lldiv malloc mblen mbstowcs mbtowc qsort quick_exit rand realloc
    srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen
    strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm
    fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal
    islessgreater isunordered NAN INFINITY NULL
    """.split()
)
"""The declarations of the C11 headers in use, except those of math.h."""
_MATH = re.compile(
    r"""(acos|acosh|asin|asinh|atan|atan2|atanh|cbrt|ceil|copysign|cos|cosh|erf|erfc|exp|exp2|expm1|
    fabs|fdim|floor|fma|fmax|fmin|fmod|frexp|hypot|ilogb|ldexp|lgamma|llrint|llround|log|log10|log1p|
    log2|logb|lrint|lround|modf|nan|nearbyint|nextafter|nexttoward|pow|remainder|remquo|rint|round|
    roundeven|scalbln|scalbn|sin|sinh|sqrt|tan|tanh|tgamma|trunc)[fl]?""",
    re.VERBOSE,
)
_MACRO = re.compile(r"U?INT.*_(MIN|MAX|C)|(EXIT|FP|HUGE|MATH|MB|RAND|SIZE|PTRDIFF)_.*")
_TYPE = r"([fiu]|bf)\d+"
_OURS = re.compile(
    rf"\w+_{_TYPE}(x\d+)?|{_TYPE}x\d+(_u)?|bf16|float_of_bf16|bf16_of_float|(floor|ceil)_div|\w+_t"
)
_UNDERSCORES = re.compile(r"__.*|_[A-Z].*")


def is_reserved(name: str) -> bool:
    """Whether C, its library or the generated helpers use a name."""
    patterns = (_MATH, _MACRO, _OURS, _UNDERSCORES)
    known = name in KEYWORDS or name in LIBRARY
    return known or any(pattern.fullmatch(name) for pattern in patterns)


def identifier(text: str) -> str:
    """`text` with the characters that C does not allow in a name replaced."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if _UNDERSCORES.fullmatch(name):
        name = name.lstrip("_")
    return f"v_{name}" if not name or name[0].isdigit() or _MACRO.fullmatch(name) else name


class Names:
    """The names in scope, the innermost scope last."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._scopes: list[set[str]] = [set(taken)]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope for the names declared in the context."""
        self._scopes.append(set())
        try:
            yield
        finally:
            self._scopes.pop()

    def declare(self, wish: str) -> str:
        """A new name: `wish`, or `wish_1` and so on if it is taken.

        A wish `A#` gives `A_0`, `A_1` and so on; a number before the # is replaced.
        """
        stem = identifier(_NUMBER.sub("", wish))
        numbered = (f"{stem}_{n}" for n in itertools.count(int(not wish.endswith("#"))))
        first = [] if wish.endswith("#") else [identifier(wish)]
        name = next(n for n in itertools.chain(first, numbered) if self._is_free(n))
        self._scopes[-1].add(name)
        return name

    def declare_loop(self) -> str:
        """A name for an unnamed loop: the first free name of i, j, k and so on."""
        free = next((name for name in _LOOPS if self._is_free(name)), "i")
        return self.declare(free)

    def _is_free(self, name: str) -> bool:
        return not is_reserved(name) and all(name not in scope for scope in self._scopes)
