# SPDX-License-Identifier: Apache-2.0
"""C with a 64-bit `long`, for a compiler whose `long` has 32 bits."""

from __future__ import annotations

import pytest

from xtc_targets.upmem.toolchain.c_types import with_wide_longs


@pytest.mark.parametrize(
    ("given", "wide"),
    [
        ("long a;", "long long a;"),
        ("unsigned long int a;", "unsigned long long int a;"),
        ("const long *restrict a;", "const long long *restrict a;"),
        ("sizeof(long) + (unsigned long)b", "sizeof(long long) + (unsigned long long)b"),
        ("long double d;", " double d;"),
        ("1L + 2ul + 0xfflu", "1LL + 2ull + 0xffllu"),
        ("1.5L + 1e3l", "1.5 + 1e3"),
        ("__builtin_clzl(x)", "__builtin_clzll(x)"),
        ("__builtin_smull_overflow(x, y, z)", "__builtin_smulll_overflow(x, y, z)"),
    ],
)
def test_long_becomes_long_long(given: str, wide: str) -> None:
    assert with_wide_longs(given) == wide


@pytest.mark.parametrize(
    "text",
    [
        "long long a; unsigned long long b; long int long c;",
        "int long_name; belong = longer;",
        """char *text = "long 1L"; char letter = 'L';""",
        '# 1 "long.h" 3',
        "#pragma long",
        "1 + 2u + 3LL + 0x1ULL + 1.5f + 0x1p3f + 0xel0;",
        'asm(".long 4");',
        "__builtin_clz(x) + __builtin_clzll(y)",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert with_wide_longs(text) == text
