# SPDX-License-Identifier: Apache-2.0
"""Driver libraries and the devices they open: statuses become exceptions."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from ctypes import byref, c_char_p, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from xtc.core.errors import (
    ArtifactError,
    DeviceError,
    DeviceFault,
    DeviceLost,
    DeviceMemoryError,
    DeviceNotFound,
    DeviceTimeout,
    LaunchError,
    ToolError,
    UserError,
    XtcError,
)
from xtc.runtime.interruptible import Result, attend, interruptible
from xtc.runtime.native import NativeUnit, build_native
from xtc.runtime.table import VERSION, DriverTable, Status, StreamsTable

_ERRORS: dict[Status, type[XtcError]] = {
    Status.NOT_FOUND: DeviceNotFound,
    Status.MEMORY: DeviceMemoryError,
    Status.FAULT: DeviceFault,
    Status.TIMEOUT: DeviceTimeout,
    Status.LOST: DeviceLost,
    Status.LAUNCH: LaunchError,
    Status.IMAGE: ArtifactError,
    Status.USAGE: UserError,
    Status.CALLBACK: DeviceError,
}


_LINE = re.compile(r", line #(\d+)")
"""How the text of an error has the number of the user's line."""

_ANEW = "`device.init_device()` reopens the simulator, with empty memory"


class Driver:
    """The function table of a driver library; calls release the interpreter lock.

    `ends_kernels` states that closing a device ends its running kernels, as simulators do.

    Raises DeviceNotFound if the library cannot be loaded, or has another version.
    """

    def __init__(self, library: Path, *, ends_kernels: bool = False) -> None:
        self.ends_kernels = ends_kernels
        try:
            self._library = ctypes.CDLL(str(library))
            get_table = self._library.xtc_driver_table
        except (OSError, AttributeError) as error:
            raise DeviceNotFound(f"the driver cannot be loaded: {error}", where=library) from None
        get_table.restype = ctypes.POINTER(DriverTable)
        table = get_table().contents
        if table.version != VERSION or table.nbytes < ctypes.sizeof(DriverTable):
            raise DeviceNotFound(
                f"the driver has version {table.version} of the table, not {VERSION}", where=library
            )
        if ends_kernels:
            attend(self._library)
        self.table = table
        # Each read of a member creates a function object, so each member is read once.
        self.functions: dict[str, Callable[..., Any]] = {
            name: getattr(table, name) for name, *_ in DriverTable._fields_[2:]
        }

        is_there = ctypes.cast(table.streams, c_void_p).value is not None
        found = table.streams() if is_there else None  # a null pointer is false
        self.streams: dict[str, Callable[..., Any]] | None = None
        if found:
            table = found.contents
            self.streams = {name: getattr(table, name) for name, *_ in StreamsTable._fields_[1:]}

    @property
    def table_address(self) -> int:
        """The address of the table, for generated code."""
        return ctypes.addressof(self.table)

    def error(self, status: int, name: str = "") -> XtcError:
        """The exception for `status` with this thread's message, which `name` precedes."""
        text = bytes(self.functions["message"]()).decode(errors="replace")
        what, *notes = text.split("\n")
        hints = [_ANEW] if status == Status.LOST and name and self.ends_kernels else []
        line = _LINE.search(what)
        what = _LINE.sub("", f"{name}: {what}" if name else what)
        error = _ERRORS[Status(status)](what, notes=notes, hints=hints)
        if line and isinstance(error, DeviceError):
            error.line = int(line[1])
        return error


@functools.cache
def built_driver(*units: NativeUnit, ends_kernels: bool = False) -> tuple[Path, Driver]:
    """The folder of the built units, and the last unit as a driver, loaded once per process.

    `ends_kernels` states that closing a device ends its kernels, as a simulator's process does.
    Raises DeviceNotFound with the compiler's output.
    """
    try:
        folder = build_native(units)
    except ToolError as error:
        raise DeviceNotFound(error.what, notes=error.notes, hints=error.hints) from error
    simulates = any(unit.kind == "program" for unit in units)
    return folder, Driver(folder / units[-1].name, ends_kernels=ends_kernels or simulates)


class OpenDevice:
    """An open device; each method calls the table's function of its name.

    The methods raise the exception for a status; its message begins with the device's name.
    """

    def __init__(self, driver: Driver, config: ctypes.Structure, name: str) -> None:
        self.driver = driver
        self.name = name
        self.lost = False
        self.keep: object = None  # kept alive with the device
        self._closed = False
        self._functions = driver.functions
        pointer = c_void_p()
        status = self._functions["open"](ctypes.addressof(config), byref(pointer))
        if status:
            raise driver.error(status)
        self.address = pointer.value
        self._counter_names: list[str] = []

    def close(self) -> None:
        """Close the device; idempotent."""
        self.lost = True
        status = self._functions["close"](self.address)
        if status == Status.OK:
            self._closed = True
        elif status != Status.LOST:
            raise self.driver.error(status, self.name)

    def __del__(self) -> None:
        if self._closed:  # and no thread uses it
            self._functions["release"](self.address)

    def check(self, status: int) -> None:
        """Raise the exception for a status; OK and PENDING are not errors."""
        if status <= Status.PENDING:
            return
        if status in (Status.FAULT, Status.TIMEOUT, Status.LOST):
            self.lost = True
        raise self.driver.error(status, self.name)

    def wait_for(self, call: Callable[..., Result], *arguments: object) -> Result:
        """The result of a call that may wait for kernels; an interrupt closes a simulator."""
        if self.driver.ends_kernels:
            return interruptible(call, self.close, *arguments)
        return call(*arguments)

    def command(self, function: str, *arguments: object) -> None:
        """Call a function of the table that may wait for kernels, and check its status."""
        self.wait_for(self.call, function, *arguments)

    def call(self, function: str, *arguments: object) -> int:
        """Call a function of the table on this device and check its status."""
        status: int = self._functions[function](self.address, *arguments)
        if status:
            self.check(status)
        return status

    def stream_call(self, function: str, *arguments: object) -> None:
        """Call a function of the stream table, which must exist, and check its status."""
        streams = self.driver.streams
        assert streams is not None  # noqa: S101
        self.check(streams[function](self.address, *arguments))

    def number(self, function: str, *arguments: object) -> int:
        """Call a function and return the number in its last parameter."""
        out = c_uint64()
        self.call(function, *arguments, byref(out))
        return out.value

    def fail(self, status: Status, text: str) -> int:
        """Set this thread's message for a failed callback, and return `status`."""
        result: int = self._functions["fail"](status, text.encode())
        return result

    def two_numbers(self, function: str, *arguments: object) -> tuple[int, int]:
        """Call a function and return the numbers in its last two parameters."""
        first, second = c_uint64(), c_uint64()
        self.call(function, *arguments, byref(first), byref(second))
        return first.value, second.value

    def is_gone(self) -> bool:
        """Whether the device has stopped; does not raise."""
        first, second = c_uint64(), c_uint64()
        arguments = (self.address, byref(first), byref(second))
        return self.lost or self._functions["memory"](*arguments) != Status.OK

    def counters(self) -> dict[str, int]:
        """All counters by name."""
        count, names = c_uint32(), ctypes.POINTER(c_char_p)()
        if not self._counter_names:
            self.call("counters", byref(count), byref(names), None)
            self._counter_names = [names[i].decode() for i in range(count.value)]
        values = (c_uint64 * len(self._counter_names))()
        self.call("counters", byref(count), byref(names), values)
        return dict(zip(self._counter_names, values, strict=True))
