# SPDX-License-Identifier: Apache-2.0
"""Converts a model's names to valid names of graphs and tensors."""

from __future__ import annotations

import re
from collections.abc import Container

from xtc.core.errors import UserError
from xtc.graph.names import check_function_name

_LONGEST = 72  # leaves room for a suffix


def graph_name(name: str) -> str:
    """A model's name as a function name; "model" if it contains no letter or digit."""
    plain = plain_name(name, set()) if re.search(r"[A-Za-z0-9]", name) else "model"
    try:
        return check_function_name(plain)
    except UserError:
        return f"model_{plain.strip('_')}"


def plain_name(name: str, taken: Container[str]) -> str:
    """`name` in letters, digits and underscores, with a numeric suffix if it is taken."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)[:_LONGEST] or "value"
    if plain[0].isdigit():
        plain = f"_{plain}"
    candidate, number = plain, 1
    while candidate in taken:
        number += 1
        candidate = f"{plain}_{number}"
    return candidate
