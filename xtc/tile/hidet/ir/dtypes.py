# SPDX-License-Identifier: Apache-2.0
"""Element types by their names."""

from typing import Any

from xtc.tile import types
from xtc.tile.types import DataType

__all__ = ["DataType"]


def __getattr__(name: str) -> Any:
    return types.type_named(name, __name__)
