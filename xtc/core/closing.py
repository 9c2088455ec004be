# SPDX-License-Identifier: Apache-2.0
"""Closing: what a `with` statement closes at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType

from typing_extensions import Self


class Closing(ABC):
    """Something to close, once by `close` or at the end of a `with` statement."""

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
