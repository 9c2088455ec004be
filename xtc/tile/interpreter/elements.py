# SPDX-License-Identifier: Apache-2.0
"""Elements of a tile, as text for messages."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def elements(mask: Array) -> str:
    """The bounding box of the selected elements, as slices."""
    if not mask.ndim:
        return "[]"
    found = np.argwhere(mask)
    low, high = found.min(axis=0), found.max(axis=0)
    return f"[{', '.join(f'{a}:{b + 1}' for a, b in zip(low, high, strict=True))}]"
