# SPDX-License-Identifier: Apache-2.0
"""The driver table of `csrc/xtc_driver.h` for ctypes; the header documents its members."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int32, c_uint8, c_uint32, c_uint64, c_void_p
from enum import IntEnum

VERSION = 3
NOW = 0
"""Instead of a queue: run the command and wait for it."""
PARALLEL = 1
"""A command flag."""


class Status(IntEnum):
    """`enum xtc_status`."""

    OK = 0
    PENDING = 1
    NOT_FOUND = 2
    MEMORY = 3
    FAULT = 4
    TIMEOUT = 5
    LOST = 6
    LAUNCH = 7
    IMAGE = 8
    USAGE = 9
    CALLBACK = 10


class ArgumentType(IntEnum):
    """`enum xtc_type`: the types of kernel arguments."""

    ADDRESS = 0
    INT32 = 1
    INT64 = 2
    FLOAT32 = 3
    FLOAT64 = 4


class Launch(ctypes.Structure):
    """`xtc_launch`."""

    _fields_ = (
        ("grid", c_uint32 * 3),
        ("count", c_uint32),
        ("arguments", ctypes.POINTER(c_uint64)),
        ("types", ctypes.POINTER(c_uint8)),
        ("cluster", c_uint32 * 3),
        ("label", c_char_p),
    )


Callback = ctypes.CFUNCTYPE(c_int32, c_void_p)

_address_out = ctypes.POINTER(c_uint64)
_command = (c_void_p, c_uint64)  # device, queue


def _function(*arguments: type) -> type:
    return ctypes.CFUNCTYPE(c_int32, *arguments)


class StreamsTable(ctypes.Structure):
    """`struct xtc_streams`."""

    _fields_ = (
        ("nbytes", c_uint32),
        ("launch", _function(*_command, c_uint64, ctypes.POINTER(Launch))),
        ("fill", _function(*_command, c_uint64, c_uint32, c_uint64)),
        ("copy", _function(*_command, c_uint64, c_uint64, c_uint64)),
        ("after", _function(*_command, c_uint64)),
        ("mark", _function(*_command, _address_out)),
        ("unmark", _function(*_command)),
        ("elapsed", _function(*_command, c_uint64, ctypes.POINTER(c_double))),
        ("settle", _function(c_void_p)),
    )


class DriverTable(ctypes.Structure):
    """`struct xtc_driver`."""

    _fields_ = (
        ("version", c_uint32),
        ("nbytes", c_uint32),
        ("message", ctypes.CFUNCTYPE(c_char_p)),
        ("fail", _function(c_int32, c_char_p)),
        ("open", _function(c_void_p, ctypes.POINTER(c_void_p))),
        ("close", _function(c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, c_void_p)),
        ("alloc", _function(*_command, c_uint64, _address_out)),
        ("free", _function(c_void_p, c_uint64)),
        ("span", _function(c_void_p, c_uint64, _address_out, _address_out)),
        ("memory", _function(c_void_p, _address_out, _address_out)),
        ("load", _function(c_void_p, c_char_p, c_uint64, _address_out)),
        ("unload", _function(c_void_p, c_uint64)),
        ("symbol", _function(c_void_p, c_uint64, c_char_p, _address_out)),
        ("queue_open", _function(c_void_p, _address_out)),
        ("queue_close", _function(*_command)),
        ("copy_to", _function(*_command, c_uint64, c_void_p, c_uint64, c_uint32, _address_out)),
        ("copy_from", _function(*_command, c_void_p, c_uint64, c_uint64, c_uint32, _address_out)),
        ("copy_within", _function(*_command, c_uint64, c_uint64, c_uint64, c_uint32, _address_out)),
        ("fill", _function(*_command, c_uint64, c_uint32, c_uint64, _address_out)),
        ("launch", _function(*_command, c_uint64, ctypes.POINTER(Launch), _address_out)),
        ("callback", _function(*_command, Callback, c_void_p, c_uint32, _address_out)),
        (
            "after",
            _function(*_command, c_void_p, c_void_p, c_uint64, c_uint64, _address_out),
        ),
        ("event", _function(*_command, _address_out)),
        ("done", _function(*_command, c_uint64)),
        ("wait", _function(*_command, c_uint64)),
        (
            "counters",
            _function(
                c_void_p,
                ctypes.POINTER(c_uint32),
                ctypes.POINTER(ctypes.POINTER(c_char_p)),
                c_void_p,
            ),
        ),
        ("data", _function(c_void_p, c_uint64, c_char_p, _address_out, _address_out)),
        ("memories", _function(c_void_p, ctypes.POINTER(c_uint32))),
        ("alloc_sharded", _function(*_command, c_uint64, c_uint64, _address_out)),
        ("streams", ctypes.CFUNCTYPE(ctypes.POINTER(StreamsTable))),
    )
