# SPDX-License-Identifier: Apache-2.0
"""Submitted commands that may still be running."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xtc.runtime import DriverQueue


class Pending:
    """A command: its event, the device memory that it uses, and the array that it fills."""

    def __init__(
        self,
        queue: DriverQueue,
        event: Any,
        memory: Any = None,
        staged: NDArray[np.uint32] | None = None,
        result: NDArray[Any] | None = None,
    ) -> None:
        self._queue, self._event, self._memory = queue, event, memory
        self._staged, self._result = staged, result
        self.deferred = False
        self.is_done = False

    def wait(self, finish: Callable[[], Any]) -> None:
        """Wait until it is done; `finish` ends streams in flight."""
        if self.deferred:
            self._event = finish()
        if self._result is not None and self._staged is not None:
            view = self._staged.view(np.uint8).data
            self._event = self._queue.copy_from(view, self._memory.address)
        self._queue.wait(self._event)
        if self._result is not None and self._staged is not None:
            flat = self._result.reshape(-1)
            flat[...] = self._staged.view(self._result.dtype)
        self._memory = self._staged = self._result = None
        self.is_done = True


@dataclass(frozen=True)
class Task:
    """The handle of a command, for `task_wait` and `is_task_done`."""

    pending: Pending
