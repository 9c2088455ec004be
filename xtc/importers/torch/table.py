# SPDX-License-Identifier: Apache-2.0
"""The operator table of the importer: PyTorch core operator -> writer function.

A function has the operator's signature: tensors are tensors of the graph; numbers, lists and None
are passed unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, SupportsIndex, TypeVar

from xtc.importers.values import Unsupported

Write = TypeVar("Write", bound=Callable[..., Any])

TABLE: dict[str, Callable[..., Any]] = {}
RESULT: ContextVar[str | None] = ContextVar("result", default=None)
"""The element type of the current node's result, if it has one."""


def writes(*names: str) -> Callable[[Write], Write]:
    """Register the function for operators such as "add.Tensor"."""

    def register(write: Write) -> Write:
        for name in names:
            TABLE[f"aten.{name}"] = write
        return write

    return register


class OnlyFirst(list[Any]):
    """Results of an operator of which only the first can be written."""

    def __getitem__(self, position: SupportsIndex | slice) -> Any:
        if position != 0:
            raise Unsupported(f"result {position} of the operator")
        return super().__getitem__(0)
