# SPDX-License-Identifier: Apache-2.0
"""Constants of the host as plain Python numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain_number(value: Any) -> Any:
    """A number of NumPy as one of Python; other values are unchanged."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    return value
