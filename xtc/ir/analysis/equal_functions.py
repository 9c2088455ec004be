# SPDX-License-Identifier: Apache-2.0
"""The equality of functions that compute different graph nodes in the same way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xtc.ir.attributes import NODE_ID_PREFIX
from xtc.ir.partition import symbol_of

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_NODE_ID = re.compile(rf"{NODE_ID_PREFIX}[^,}}]*_(?:, )?")


def text_without_names(function: Operation) -> str:
    """The text of a function without its symbol, its graph nodes and its locations.

    Functions with equal texts are interchangeable. MLIR's duplicate-function-elimination compares
    the attributes that name graph nodes, which differ.
    """
    text = function.get_asm(use_local_scope=True, assume_verified=True)
    return _NODE_ID.sub("", text).replace(f"@{symbol_of(function)}", "")
