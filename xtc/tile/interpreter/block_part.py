# SPDX-License-Identifier: Apache-2.0
"""The interface of the parts of a block's interpreter, each for one kind of operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from xtc.ir.mlir import Operation


class BlockPart(ABC):
    """Runs one kind of operations of a block."""

    @abstractmethod
    def get(self, op: Operation, number: int) -> Any:
        """The value of an operand."""

    @abstractmethod
    def set(self, op: Operation, value: Any) -> None:
        """Give an operation's result its value."""

    @abstractmethod
    def number(self, op: Operation) -> int:
        """The index of an operation in the kernel."""

    @abstractmethod
    def wait_until(
        self, ready: Callable[[], bool], waits_for: Callable[[], str], op: Operation
    ) -> None:
        """Yield to other coroutines until a condition holds, which `waits_for` describes."""

    @abstractmethod
    def look_again(self, op: Operation) -> None:
        """Yield once, because the condition of a polling operation does not hold."""
