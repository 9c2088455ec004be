# SPDX-License-Identifier: Apache-2.0
"""Recognizes arguments that a call can use as they are, in a few microseconds.

A small program runs for less time than the general path takes to match names, convert arrays and
lend device memory. Whatever this module does not recognize takes that path, which converts or
refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtc.core.types import element_type
from xtc.driver.arguments import NewArray
from xtc.interfaces.artifact import Argument, Manifest

Array = np.ndarray[Any, Any]

_CONTIGUOUS_ALIGNED = 0x0101  # NumPy's NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED
_WRITEABLE = 0x0400


@dataclass(frozen=True)
class _Expected:
    """The properties of an array that a call can use as it is."""

    argument: Argument
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    flags: int

    @staticmethod
    def of(argument: Argument) -> _Expected:
        flags = _CONTIGUOUS_ALIGNED | (_WRITEABLE if argument.role == "output" else 0)
        dtype = element_type(argument.dtype).numpy
        return _Expected(argument, dtype, argument.shape, argument.nbytes, flags)

    def address(self, value: Any) -> int | None:
        """The address of the array; None unless it fits."""
        if type(value) is not np.ndarray or value.dtype != self.dtype or value.shape != self.shape:
            return None
        if value.flags.num & self.flags != self.flags:
            return None
        address: int = value.ctypes.data
        return address


class DirectArguments:
    """Arguments on the host, by position, of the types that the program expects."""

    def __init__(self, manifest: Manifest) -> None:
        self._inputs = [_Expected.of(argument) for argument in manifest.inputs]
        self._outputs = [_Expected.of(argument) for argument in manifest.outputs]

    @staticmethod
    def of(manifest: Manifest) -> DirectArguments | None:
        """None for a program with states, arguments on devices, or booleans.

        The bytes of booleans may need correction (`valid_booleans`).
        """
        others = (each.state or each.device or each.dtype == "bool" for each in manifest.inputs)
        if any(others) or any(each.device for each in manifest.outputs):
            return None
        return DirectArguments(manifest)

    def inputs(self, given: Sequence[Any]) -> list[int] | None:
        """The addresses of the inputs; None unless all of them fit."""
        if len(given) != len(self._inputs):
            return None
        addresses = []
        for expected, value in zip(self._inputs, given, strict=True):
            address = expected.address(value)
            if address is None:
                return None
            addresses.append(address)
        return addresses

    def new_outputs(self, new: NewArray) -> list[Array]:
        """New arrays for the outputs."""
        return [new(each.shape, each.argument.dtype) for each in self._outputs]

    def outputs(self, out: Any, inputs: Sequence[int]) -> list[int] | None:
        """The addresses of the outputs; None unless all fit and overlap no other argument."""
        given = out if isinstance(out, list | tuple) else (out,)
        if len(given) != len(self._outputs):
            return None
        sizes = zip(inputs, self._inputs, strict=True)
        taken = [(start, start + expected.nbytes) for start, expected in sizes]
        addresses = []
        for expected, value in zip(self._outputs, given, strict=True):
            start = expected.address(value)
            if start is None:
                return None
            end = start + expected.nbytes
            if any(start < last and first < end for first, last in taken):
                return None
            taken.append((start, end))
            addresses.append(start)
        return addresses
