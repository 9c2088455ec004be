# SPDX-License-Identifier: Apache-2.0
"""The host's library of DPUs, `csrc/include/dpu.h`, through ctypes."""

from __future__ import annotations

import ctypes
import functools
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_void_p
from typing import Any

from xtc.core.errors import DeviceError
from xtc_targets.upmem.toolchain.library import LIBRARY, built_library


class DpuError(DeviceError):
    """A call of the library failed; `status` is its code.

    Attributes:
        status: a value of `dpu_error_t`.
    """

    def __init__(self, what: str, status: int) -> None:
        super().__init__(what)
        self.status = status


class Ranks(ctypes.Structure):
    """The member `list` of `struct dpu_set_t`."""

    _fields_ = (("count", c_uint32), ("ranks", c_void_p))


class Members(ctypes.Union):
    """The union in `struct dpu_set_t`."""

    _fields_ = (("list", Ranks), ("dpu", c_void_p))


class Set(ctypes.Structure):
    """`struct dpu_set_t`."""

    _anonymous_ = ("members",)
    _fields_ = (("kind", c_int), ("members", Members))


class Symbol(ctypes.Structure):
    """`struct dpu_symbol_t`."""

    _fields_ = (("address", c_uint32), ("size", c_uint32))


class FifoLink(ctypes.Structure):
    """`struct dpu_fifo_link_t`."""

    _fields_ = (("direction", c_int), ("symbol", Symbol), ("links", c_void_p))


class Context(ctypes.Structure):
    """`struct dpu_context_t`."""

    _fields_ = (
        ("program_size", c_uint32),
        ("wram_size", c_uint32),
        ("mram_size", c_uint32),
        ("memory", c_void_p),
    )


class Iterator(ctypes.Structure):
    """`struct dpu_set_iterator_t`."""

    _fields_ = (
        ("set", Set),
        ("next", Set),
        ("count", c_uint32),
        ("rank", c_uint32),
        ("member", c_uint32),
        ("has_next", ctypes.c_bool),
    )


CALLBACK = ctypes.CFUNCTYPE(c_int, Set, c_uint32, c_void_p)
TO_DPU, FROM_DPU = 0, 1
NO_RESET, ASYNC, PARALLEL = 1, 2, 4
CALL_ASYNC, CALL_NONBLOCKING, CALL_SINGLE, CALL_PARALLEL = 1, 2, 4, 8

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "dpu_alloc": (c_uint32, c_char_p, POINTER(Set)),
    "dpu_alloc_ranks": (c_uint32, c_char_p, POINTER(Set)),
    "dpu_free": (Set,),
    "dpu_get_nr_dpus": (Set, POINTER(c_uint32)),
    "dpu_load": (Set, c_char_p, POINTER(c_void_p)),
    "dpu_get_symbol": (c_void_p, c_char_p, POINTER(Symbol)),
    "dpu_launch": (Set, c_int),
    "dpu_status": (Set, POINTER(ctypes.c_bool), POINTER(ctypes.c_bool)),
    "dpu_sync": (Set,),
    "dpu_prepare_xfer": (Set, c_void_p),
    "dpu_push_xfer_symbol": (Set, c_int, Symbol, c_uint32, c_size_t, c_int),
    "dpu_broadcast_to_symbol": (Set, Symbol, c_uint32, c_void_p, c_size_t, c_int),
    "dpu_callback": (Set, CALLBACK, c_void_p, c_int),
    "dpu_log_read": (Set, c_void_p),
    "dpu_checkpoint_save": (Set, c_int, POINTER(Context)),
    "dpu_checkpoint_restore": (Set, c_int, POINTER(Context)),
    "dpu_checkpoint_serialize": (POINTER(Context), POINTER(POINTER(c_uint8)), POINTER(c_uint32)),
    "dpu_checkpoint_deserialize": (c_char_p, c_uint32, POINTER(Context)),
    "dpu_checkpoint_free": (POINTER(Context),),
    "dpu_link_input_fifo": (Set, POINTER(FifoLink), c_char_p),
    "dpu_link_output_fifo": (Set, POINTER(FifoLink), c_char_p),
    "dpu_fifo_link_free": (POINTER(FifoLink),),
    "dpu_fifo_prepare_xfer": (Set, POINTER(FifoLink), c_void_p),
    "dpu_fifo_push_xfer": (Set, POINTER(FifoLink), c_int),
}


@functools.cache
def library() -> ctypes.CDLL:
    """The library, built and loaded once per process. Raises ToolError."""
    found = ctypes.CDLL(str(built_library() / LIBRARY))
    for name, arguments in _SIGNATURES.items():
        getattr(found, name).argtypes = arguments
        getattr(found, name).restype = c_int
    found.dpu_error_to_string.argtypes = (c_int,)
    found.dpu_error_to_string.restype = c_void_p
    found.dpu_set_dpu_iterator_from.argtypes = (Set,)
    found.dpu_set_dpu_iterator_from.restype = Iterator
    found.dpu_set_dpu_iterator_next.argtypes = (POINTER(Iterator),)
    found.dpu_set_rank_iterator_from.argtypes = (Set,)
    found.dpu_set_rank_iterator_from.restype = Iterator
    found.dpu_set_rank_iterator_next.argtypes = (POINTER(Iterator),)
    found.get_fifo_size.argtypes = (POINTER(FifoLink), Set)
    found.get_fifo_size.restype = c_uint16
    found.get_fifo_elem.argtypes = (POINTER(FifoLink), Set, c_void_p, c_uint16)
    found.get_fifo_elem.restype = c_void_p
    return found


def call(name: str, *arguments: object) -> None:
    """Call a function of the library. Raises DpuError."""
    status = getattr(library(), name)(*arguments)
    if status:
        raise DpuError(f"{name}: {error_text(status)}", status & 0xFFFFFFFF)


def error_text(status: int) -> str:
    """The message of a status code."""
    address = library().dpu_error_to_string(status)
    text = ctypes.string_at(address).decode()
    free(address)
    return text


def free(address: object) -> None:
    """Free memory that the library allocated for its caller."""
    _libc().free(address)


@functools.cache
def _libc() -> ctypes.CDLL:
    found = ctypes.CDLL(None)
    found.free.argtypes = (c_void_p,)
    found.fdopen.argtypes = (c_int, c_char_p)
    found.fdopen.restype = c_void_p
    found.fclose.argtypes = (c_void_p,)
    return found


def read_log(dpu_set: Set) -> bytes:
    """The output of DPUs since the last call. Raises DpuError."""
    import os
    import tempfile

    with tempfile.TemporaryFile() as file:
        stream = _libc().fdopen(os.dup(file.fileno()), b"w")
        try:
            call("dpu_log_read", dpu_set, stream)
        finally:
            _libc().fclose(stream)
        file.seek(0)
        return file.read()


def members(dpu_set: Set, kind: str) -> list[Set]:
    """The DPUs, or the ranks, of a set."""
    found = []
    iterator = getattr(library(), f"dpu_set_{kind}_iterator_from")(dpu_set)
    while iterator.has_next:
        member = Set()
        ctypes.memmove(ctypes.byref(member), ctypes.byref(iterator.next), ctypes.sizeof(Set))
        found.append(member)
        getattr(library(), f"dpu_set_{kind}_iterator_next")(ctypes.byref(iterator))
    return found
