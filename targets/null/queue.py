# SPDX-License-Identifier: Apache-2.0
"""The command queue: commands wait in line, and run in order when somebody waits for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xtc.core.errors import DeviceError, DeviceLost, UserError
from xtc.interfaces.runtime import CommandQueue, Event

if TYPE_CHECKING:
    from xtc_targets.null.device import NullDevice


@dataclass(frozen=True)
class NullEvent:
    """Reached when the first `position` commands of the queue are done."""

    queue: NullQueue
    position: int

    @property
    def done(self) -> bool:
        return self.queue.finished >= self.position


class NullQueue(CommandQueue):
    """As late as the contract allows: a command runs when it, or a later one, is waited for.

    So a program that forgets to wait, or changes memory that a copy still has to read, goes wrong
    every time. `parallel` changes nothing.
    """

    def __init__(self, device: NullDevice) -> None:
        self._device = device
        self._line: deque[tuple[str, Callable[[], object]]] = deque()
        self._error: Exception | None = None
        self._closed = False
        self.finished = 0

    def copy_to(self, destination: int, source: memoryview, *, parallel: bool = False) -> Event:
        return self._add("copy_to", lambda: self._device.memory_copy_to(destination, source))

    def copy_from(self, destination: memoryview, source: int, *, parallel: bool = False) -> Event:
        return self._add("copy_from", lambda: self._device.memory_copy_from(destination, source))

    def fill_zero(self, address: int, nbytes: int) -> Event:
        return self._add("fill_zero", lambda: self._device.memory_fill_zero(address, nbytes))

    def launch(self, function: Any, arguments: Sequence[int]) -> Event:
        given = tuple(arguments)
        return self._add("launch", lambda: self._device.run_function(function, given))

    def callback(self, function: Callable[[], None], *, parallel: bool = False) -> Event:
        return self._add("callback", function)

    def after(self, event: Event) -> Event:
        other = _checked(event)
        return self._add("after", lambda: other.queue.wait(other))

    def event(self) -> Event:
        return NullEvent(self, self.finished + len(self._line))

    def wait(self, event: Event | None = None) -> None:
        last = _checked(self.event() if event is None else event)
        if last.queue is not self:
            raise UserError(
                "the event belongs to another queue", hints=["queue.after(event) waits for it"]
            )
        while not last.done:
            self._require_open()
            if self._error is not None:
                raise self._error
            self._run_next()

    def close(self) -> None:
        self._line.clear()
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise DeviceLost(f"a command queue of {self._device.device_name} is closed")

    def _add(self, name: str, run: Callable[[], object]) -> Event:
        self._require_open()
        self._line.append((name, run))
        return self.event()

    def _run_next(self) -> None:
        name, run = self._line[0]
        try:
            run()
        except DeviceError as error:
            what = f"command {self.finished} of the queue, {name}: {error.what}"
            self._error = type(error)(what, notes=error.notes, hints=error.hints)
            raise self._error from error
        except Exception as error:  # of a callback
            self._error = error
            raise
        self._line.popleft()
        self.finished += 1


def _checked(event: Event) -> NullEvent:
    if not isinstance(event, NullEvent):
        raise UserError(f"{event!r} is not an event of this kind of device")
    return event
