# SPDX-License-Identifier: Apache-2.0
"""Resolves event names: portable ones, raw ones such as perf's `r01c2`, and libpfm4's.

libpfm4 knows each processor's events by the names in its manual, such as
`mem_load_retired.l1_miss`; it is used if it is installed.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Iterable

from xtc.core.errors import UserError, did_you_mean
from xtc.evaluate.counter_names import COUNTERS
from xtc.evaluate.perf_event import TYPE_RAW, Attributes, Event

_RAW = re.compile(r"r([0-9a-fA-F]{1,16})")
_LIBRARY = "libpfm.so.4"
# pfm_get_os_event_encoding(3), of libpfm4: the interface of the kernel, privilege level 3.
_FOR_THE_KERNEL, _USER_MODE, _SUCCESS = 1, 8, 0


class _Encoding(ctypes.Structure):
    """pfm_perf_encode_arg_t."""

    _fields_ = (
        ("attr", ctypes.POINTER(Attributes)),
        ("text", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("idx", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
    )


def check_names(names: Iterable[str]) -> None:
    """Raises UserError for unknown or repeated names, and if there are none."""
    seen: set[str] = set()
    for name in names:
        event_of(name)
        if name in seen:
            raise UserError(f"counter '{name}' is named twice")
        seen.add(name)
    if not seen:
        raise UserError("no counter is named", hints=["name one, for instance 'cycles'"])


@functools.lru_cache(maxsize=256)
def event_of(name: str) -> Event:
    """The kernel's event for a name. Raises UserError for an unknown name."""
    if name in COUNTERS:
        return COUNTERS[name]
    raw = _RAW.fullmatch(name)
    if raw is not None:
        return Event(TYPE_RAW, int(raw[1], 16))
    library = _libpfm()
    if library is None:
        raise UserError(
            f"unknown counter '{name}'",
            notes=[f"names of processor-specific events need {_LIBRARY}, which is not installed"],
            hints=[*did_you_mean(name, COUNTERS), "install libpfm4 (Debian: apt install libpfm4)"],
        )
    return _encoded(library, name)


def _encoded(library: ctypes.CDLL, name: str) -> Event:
    attributes = Attributes(size=ctypes.sizeof(Attributes))
    wanted = _Encoding(attr=ctypes.pointer(attributes), size=ctypes.sizeof(_Encoding))
    text = ctypes.c_char_p(name.encode())
    code = library.pfm_get_os_event_encoding(
        text, _USER_MODE, _FOR_THE_KERNEL, ctypes.byref(wanted)
    )
    if code != _SUCCESS:
        reason = library.pfm_strerror(code)
        raise UserError(
            f"unknown counter '{name}'",
            notes=[f"libpfm: {reason.decode() if reason else code}"],
            hints=did_you_mean(name, COUNTERS),
        )
    return Event(attributes.type, attributes.config, extra=(attributes.config1, attributes.config2))


@functools.lru_cache(maxsize=1)
def _libpfm() -> ctypes.CDLL | None:
    """The initialized library; None if it is missing or does not support this processor."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return None
    library.pfm_strerror.restype = ctypes.c_char_p
    library.pfm_strerror.argtypes = [ctypes.c_int]
    return library if library.pfm_initialize() == _SUCCESS else None
