# SPDX-License-Identifier: Apache-2.0
"""A device that consists of member devices with separate engines: one copies, another computes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_uint32, c_uint64, c_void_p

from xtc.runtime.driver import Driver, OpenDevice, built_driver
from xtc.runtime.native import CSRC, NativeUnit


class _Config(ctypes.Structure):
    """`set_config` of `csrc/set.h`."""

    _fields_ = (
        ("nbytes", c_uint64),
        ("count", c_uint32),
        ("driver", c_void_p),
        ("configs", ctypes.POINTER(c_void_p)),
    )


def unit() -> NativeUnit:
    """The driver of sets."""
    shared = ("xtc_error.c", "xtc_report.c")
    sources = (*sorted(CSRC.glob("set_*.c")), *(CSRC / name for name in shared))
    return NativeUnit("libxtc_set.so", "library", sources)


def open_set(members: Driver, configs: Sequence[ctypes.Structure], name: str) -> OpenDevice:
    """Open a device for each of `configs` by the driver `members`, and the set of them.

    The set's memories are those of its members, in order. Raises DeviceNotFound with the number of
    the member that cannot be opened.
    """
    addresses = (c_void_p * len(configs))(*map(ctypes.addressof, configs))
    config = _Config(ctypes.sizeof(_Config), len(configs), members.table_address, addresses)
    opened = OpenDevice(built_driver(unit())[1], config, name)
    opened.keep = members
    return opened
