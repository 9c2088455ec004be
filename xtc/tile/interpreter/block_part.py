# SPDX-License-Identifier: Apache-2.0
"""What the parts of a block's interpreter, each for a kind of operations, have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from xtc.ir.mlir import Operation


class BlockPart(ABC):
    """Runs some kinds of operations of a block."""

    @abstractmethod
    def get(self, op: Operation, number: int) -> Any:
        """The value of an operand."""

    @abstractmethod
    def set(self, op: Operation, value: Any) -> None:
        """Give an operation's result its value."""

    @abstractmethod
    def number(self, op: Operation) -> int:
        """The number of an operation in the kernel."""

    @abstractmethod
    def wait_until(
        self, ready: Callable[[], bool], waits_for: Callable[[], str], op: Operation
    ) -> None:
        """Let others run until a condition holds; `waits_for` says which, should it never hold."""

    @abstractmethod
    def look_again(self, op: Operation) -> None:
        """Let others run once: what an operation looks for is not there."""
