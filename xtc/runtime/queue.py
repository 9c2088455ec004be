# SPDX-License-Identifier: Apache-2.0
"""Command queues over the driver table, which implements order, events and errors.

This module keeps a copy's memory and a callback alive until their command is done, and raises a
callback's exception in a wait.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import c_uint64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xtc.core.errors import DeviceLost, UserError
from xtc.interfaces.runtime import CommandQueue, Event
from xtc.runtime.driver import OpenDevice
from xtc.runtime.memory import address_of, flat, writable
from xtc.runtime.table import PARALLEL, Callback, Status

if TYPE_CHECKING:
    from xtc.runtime.device import DriverDevice


@dataclass(frozen=True)
class DriverEvent:
    """A point in a queue of a device."""

    queue: DriverQueue
    number: int

    @property
    def done(self) -> bool:
        """Whether the queue has reached the event; does not block."""
        return self.queue.is_done(self.number)


class DriverQueue(CommandQueue):
    """An ordered, asynchronous queue; the commands of all queues of a device start in issue order.

    A `parallel` copy or callback may start while earlier kernels run. A callback may use the
    device, but must not wait for later commands or close the device; a parallel callback also
    cannot run device code.
    """

    def __init__(self, device: DriverDevice, open_device: OpenDevice) -> None:
        self._device = device
        self._open_device = open_device
        self.number = open_device.number("queue_open")
        self._kept: deque[tuple[int, object]] = deque()
        self._lock = threading.Lock()  # guards the attributes above
        self._callback_error: BaseException | None = None
        self._close = weakref.finalize(self, _close_queue, open_device, self.number, self._kept)

    def copy_to(
        self, destination: int, source: memoryview, *, parallel: bool = False
    ) -> DriverEvent:
        view = flat(source)
        flags = PARALLEL if parallel else 0
        return self._give(view, "copy_to", destination, address_of(view), view.nbytes, flags)

    def copy_from(
        self, destination: memoryview, source: int, *, parallel: bool = False
    ) -> DriverEvent:
        view = writable(destination)
        flags = PARALLEL if parallel else 0
        return self._give(view, "copy_from", address_of(view), source, view.nbytes, flags)

    def copy_within(
        self, destination: int, source: int, nbytes: int, *, parallel: bool = False
    ) -> DriverEvent:
        """Copy device bytes to another address of the same device; the ranges may overlap."""
        flags = PARALLEL if parallel else 0
        return self._give(None, "copy_within", destination, source, nbytes, flags)

    def fill_zero(self, address: int, nbytes: int) -> DriverEvent:
        return self._give(None, "fill", address, 0, nbytes)

    def launch(
        self,
        function: Any,
        arguments: Sequence[Any],
        grid: Sequence[int] = (),
        cluster: Sequence[int] = (),
    ) -> DriverEvent:
        """Launch a device function; see `DriverDevice.launch` for its arguments and grid."""
        self._require_open()
        address, launch = self._device.call_of(function, arguments, grid, cluster)
        return self._give(tuple(arguments), "launch", address, launch)

    def callback(self, function: Callable[[], None], *, parallel: bool = False) -> DriverEvent:
        called = Callback(_Call(weakref.ref(self), function, self._open_device))
        return self._give(called, "callback", called, None, PARALLEL if parallel else 0)

    def after(self, event: Event) -> DriverEvent:
        """Start later commands only after `event`, of a queue of any device."""
        other = _checked(event)
        opened = other.queue._open_device
        kept = None if other.queue is self else other
        driver = opened.driver.table_address
        return self._give(kept, "after", driver, opened.address, other.queue.number, other.number)

    def event(self) -> DriverEvent:
        return self._give(None, "event")

    def wait(self, event: Event | None = None) -> None:
        number = 0 if event is None else self._own(event).number
        if event is None or not self.is_done(number):
            self._require_open()
            self._check(self._open_device.wait_for(self._call, "wait", number))
        self._forget_done()

    def close(self) -> None:
        """Drop the commands that have not started and release the queue; idempotent."""
        self._close()

    def is_done(self, number: int) -> bool:
        """Whether the queue has reached an event; False once the queue is closed."""
        return self._close.alive and self._call("done", number) == Status.OK

    def _call(self, function: str, *arguments: object) -> int:
        opened = self._open_device
        status: int = opened.driver.functions[function](opened.address, self.number, *arguments)
        return status

    def _give(self, kept: object, function: str, *arguments: object) -> DriverEvent:
        self._require_open()
        number = c_uint64()
        status = self._call(function, *arguments, number)
        if status:
            self._check(status)
        self._forget_done()
        if kept is not None:
            self._kept.append((number.value, kept))
        return DriverEvent(self, number.value)

    def _check(self, status: int) -> None:
        if status == Status.CALLBACK and self._callback_error is not None:
            raise self._callback_error
        self._open_device.check(status)

    def _forget_done(self) -> None:
        with self._lock:
            while self._kept and self._call("done", self._kept[0][0]) != Status.PENDING:
                self._kept.popleft()

    def _own(self, event: object) -> DriverEvent:
        own = _checked(event)
        if own.queue is not self:
            raise UserError(
                "the event belongs to another queue", hints=["queue.after(event) waits for it"]
            )
        return own

    def _require_open(self) -> None:
        if not self._close.alive:
            raise DeviceLost(f"a command queue of {self._open_device.name} is closed")


@dataclass(frozen=True)
class _Call:
    """A callback for the driver, called on any thread that serves the queues."""

    queue: weakref.ref[DriverQueue]
    function: Callable[[], None]
    open_device: OpenDevice

    def __call__(self, _data: int | None) -> int:
        try:
            self.function()
        except BaseException as error:  # raised in the next wait
            if (queue := self.queue()) is not None and queue._callback_error is None:
                queue._callback_error = error
            return self.open_device.fail(Status.CALLBACK, f"{type(error).__name__}: {error}")
        return Status.OK


def _checked(event: object) -> DriverEvent:
    if not isinstance(event, DriverEvent):
        raise UserError(f"{event!r} is not an event of this kind of device")
    return event


def _close_queue(open_device: OpenDevice, number: int, kept: deque[tuple[int, object]]) -> None:
    """Wait for started commands, so that the memory they access can be released."""
    open_device.driver.functions["queue_close"](open_device.address, number)
    kept.clear()
