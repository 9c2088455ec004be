# SPDX-License-Identifier: Apache-2.0
"""Hostile texts: hypothesis strategies that the fuzz tests share.

A text that is evaluated by Python, a shell, or a YAML loader that constructs objects creates the
file CANARY in the working directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

CANARY = "CANARY"

PAYLOADS = (
    f"__import__('pathlib').Path('{CANARY}').touch()",
    f"[open('{CANARY}', 'w')]",
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"; touch {CANARY};",
    f"| touch {CANARY}",
    f"&& touch {CANARY}",
    f"\ntouch {CANARY}\n",
    f'!!python/object/apply:os.system ["touch {CANARY}"]',
    f"!!python/name:os.system [touch {CANARY}]",
    f"cos\nsystem\n(S'touch {CANARY}'\ntR.",
    "{0.__class__.__mro__}",
    "%(x)s %n %s",
    "{x!r:>999999999}",
)
NUMBERS = (
    *("0", "-1", "1", "-0", "7", "2147483648", "-2147483649", "9223372036854775808", "9" * 4400),
    *("nan", "inf", "-inf", "1e999", "1e-999", "0.0", "1_000", "0x10", "\u0663", "\u00b2", "1e3"),
)
ODD = (
    *("", " ", "-", "--", "---", "=", ",", ":", "..", ".", "~", "*", "?", "@", "%", "#", "\\", "'"),
    *('"', "\t", "\n", "\r\n", "\ufeff", "\u202e", "é", "𝔸", "\x01", "\x7f", "a" * 300, "CON"),
    *("null", "None", "true", "True", "[]", "{}", "()", "<>", "__class__", "__init__", "../" * 40),
)

texts = st.one_of(
    st.sampled_from((*PAYLOADS, *NUMBERS, *ODD)),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), max_size=8),
)
"""What an argument of a program or an environment variable can be; none is a path elsewhere."""


@contextmanager
def nothing_evaluated(folder: Path) -> Iterator[None]:
    """Check that the block has not created the canary in `folder`, the working directory."""
    yield
    assert not (folder / CANARY).exists(), "hostile text was executed"
