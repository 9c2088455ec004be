# SPDX-License-Identifier: Apache-2.0
"""Host memory of copies as flat bytes, and their address."""

from __future__ import annotations

import ctypes

import numpy as np

from xtc.core.errors import UserError


def flat(source: object) -> memoryview:
    """The bytes of dense, row-major memory. Raises UserError for other values."""
    try:
        view = memoryview(source)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"a copy needs memory, not {type(source).__name__}") from None
    if not view.c_contiguous:
        raise UserError("a copy needs dense memory in row-major order")
    return view.cast("B") if view.nbytes else view


def address_of(view: memoryview) -> int:
    """The address of flat bytes; the caller keeps `view` alive."""
    if not view.nbytes:
        return 0
    if not view.readonly:
        return ctypes.addressof(ctypes.c_char.from_buffer(view))
    address: int = np.frombuffer(view, np.uint8).ctypes.data
    return address


def writable(destination: object) -> memoryview:
    """The flat bytes of a copy's destination. Raises UserError if they are read-only."""
    view = flat(destination)
    if view.readonly:
        raise UserError("the destination of a copy is read-only")
    return view
