# SPDX-License-Identifier: Apache-2.0
"""Native streams of a machine over the driver table: launches ordered with the work of other
libraries, and times that the device measures."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from ctypes import byref, c_double, c_uint64
from typing import TYPE_CHECKING, Any

from xtc.runtime.driver import OpenDevice

if TYPE_CHECKING:
    from xtc.runtime.device import DriverDevice


class Mark:
    """A point in a stream, which owns an event of the device."""

    def __init__(self, opened: OpenDevice, stream: int) -> None:
        number = c_uint64()
        opened.stream_call("mark", stream, byref(number))
        self.opened, self.number = opened, number.value
        weakref.finalize(self, _unmark, opened, self.number)


class DriverStreams:
    """The native streams of a device."""

    def __init__(self, device: DriverDevice) -> None:
        self._device = device
        self._opened = device.opened()

    def launch(
        self,
        stream: int,
        function: Any,
        arguments: Sequence[Any],
        grid: Sequence[int] = (),
        cluster: Sequence[int] = (),
    ) -> None:
        """Launch a device function on a stream, like `DriverDevice.launch`."""
        address, launch = self._device.call_of(function, arguments, grid, cluster)
        self._opened.stream_call("launch", stream, address, launch)

    def fill_zero(self, stream: int, address: int, nbytes: int) -> None:
        """Set device bytes to zero on a stream."""
        self._opened.stream_call("fill", stream, address, 0, nbytes)

    def copy_within(self, stream: int, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes on a stream."""
        self._opened.stream_call("copy", stream, destination, source, nbytes)

    def after(self, stream: int, other: int) -> None:
        """Order the later work of a stream after the work that `other` has so far."""
        self._opened.stream_call("after", stream, other)

    def mark(self, stream: int) -> Mark:
        """A point in a stream, whose time the device records."""
        return Mark(self._opened, stream)

    def seconds(self, first: Mark, second: Mark) -> float:
        """The time between two marks by the device's clock; waits for the second."""
        found = c_double()
        self._opened.stream_call("elapsed", first.number, second.number, byref(found))
        return found.value

    def wait(self, stream: int) -> None:
        """Wait for the work that a stream has so far. Raises DeviceTimeout as a launch does."""
        mark = self.mark(stream)
        self.seconds(mark, mark)

    def settle(self) -> None:
        """Wait for the work of other libraries on the device."""
        self._opened.stream_call("settle")


def _unmark(opened: OpenDevice, number: int) -> None:
    """No effect on a closed device, whose events were released with it."""
    streams = opened.driver.streams
    if streams is not None and not opened.lost:
        streams["unmark"](opened.address, number)
