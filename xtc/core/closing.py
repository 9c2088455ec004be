# SPDX-License-Identifier: Apache-2.0
"""Closing: the base of objects that a `with` statement closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType

from typing_extensions import Self


class Closing(ABC):
    """An object that `close`, or the end of a `with` statement, closes."""

    @abstractmethod
    def close(self) -> None:
        """Release everything; closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
