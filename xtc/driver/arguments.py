# SPDX-License-Identifier: Apache-2.0
"""Checks the user's arrays before their addresses reach compiled code.

Inputs that are not dense and aligned are copied; outputs the user provides are written in place or
refused, never silently replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from xtc.core.call import match_names
from xtc.core.errors import UserError
from xtc.core.numpy_arrays import as_array
from xtc.core.types import element_type
from xtc.driver.device_arguments import (
    Devices,
    check_type,
    output_device_array,
    read_device_array,
)
from xtc.driver.dlpack import from_dlpack
from xtc.interfaces.artifact import Argument, Manifest
from xtc.runtime import DeviceArray

Array = np.ndarray[Any, Any]
ALIGNMENT = 64
NewArray = Callable[[tuple[int, ...], str], Array]
"""Makes an uninitialized array of a shape and an element type."""


def bind_arguments(
    manifest: Manifest, args: Sequence[Any], arrays: Mapping[str, Any], devices: Devices
) -> list[Array | DeviceArray]:
    """The input arrays in order, checked and converted. Raises UserError if they do not fit."""
    names = [argument.name for argument in manifest.inputs]
    given = match_names(f"'{manifest.entry}'", names, args, arrays)
    return [
        read_array(_on_the_host(given[argument.name], argument), argument)
        if argument.device is None
        else read_device_array(given[argument.name], argument, devices)
        for argument in manifest.inputs
    ]


def _on_the_host(value: Any, argument: Argument) -> Any:
    """`value`. Raises UserError for an array on a device, which every call would have to copy."""
    if not isinstance(value, DeviceArray):
        return value
    raise UserError(
        f"'{argument.name}' lives on the host, and {value!r} does not",
        notes=["every call would copy it from there"],
        hints=["copy it once with .numpy(), or declare the graph's tensor with device="],
    )


def read_array(value: Any, argument: Argument) -> Array:
    """`value` as a dense, aligned array of the argument's type; not copied if it already is one."""
    array = _as_array(value, argument)
    check_type(array, argument)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    dense = aligned_empty(argument.shape, argument.dtype)
    dense[...] = array
    return dense


def host_arrays(manifest: Manifest, args: Sequence[Any], arrays: Mapping[str, Any]) -> list[Array]:
    """The input arrays in order, all on the host; arrays on devices are copied."""
    names = [argument.name for argument in manifest.inputs]
    given = match_names(f"'{manifest.entry}'", names, args, arrays)
    return [read_array(given[argument.name], argument) for argument in manifest.inputs]


def empty_outputs(manifest: Manifest) -> list[Array]:
    """New host arrays for the outputs."""
    return [aligned_empty(argument.shape, argument.dtype) for argument in manifest.outputs]


def output_arrays(
    manifest: Manifest,
    out: Any,
    inputs: Sequence[Array | DeviceArray],
    devices: Devices,
    undo: ExitStack,
    new: NewArray | None = None,
) -> list[Array | DeviceArray]:
    """The arrays to write: new ones, or those of `out`. Raises UserError if they do not fit.

    `new` allocates host arrays. `undo` frees new device arrays, which a traceback would otherwise
    keep alive.
    """
    given = list(out) if isinstance(out, list | tuple) else [out]
    if out is None:
        given = [None] * len(manifest.outputs)
    if len(given) != len(manifest.outputs):
        raise UserError(
            f"'{manifest.entry}' writes {len(manifest.outputs)} arrays; out= has {len(given)}"
        )
    pairs = zip(given, manifest.outputs, strict=True)
    make = new or aligned_empty
    arrays = [_output(value, argument, devices, undo, make) for value, argument in pairs]
    for position, array in enumerate(arrays):
        label = f"out= for '{manifest.outputs[position].name}'"
        _check_apart(array, label, [*inputs, *arrays[:position]])
    return arrays


def _output(
    value: Any, argument: Argument, devices: Devices, undo: ExitStack, new: NewArray
) -> Array | DeviceArray:
    if argument.device is not None:
        return output_device_array(value, argument, devices, undo)
    if value is None:
        return new(argument.shape, argument.dtype)
    hint = "pass np.empty(shape, dtype), or omit out= and copy the result"
    return writable(value, argument, f"out= for '{argument.name}'", hint)


def writable(value: Any, argument: Argument, label: str, hint: str) -> Array:
    """`value`, if a call can write it in place. Raises UserError with the hint otherwise."""
    if not isinstance(value, np.ndarray):
        raise UserError(f"{label} is {type(value).__name__}, not a NumPy array")
    check_type(value, argument)
    flags = {
        "read-only": not value.flags.writeable,
        "not dense in row-major order": not value.flags.c_contiguous,
        "not aligned to its elements": not value.flags.aligned,
    }
    for problem, present in flags.items():
        if present:
            raise UserError(f"{label} is {problem}", hints=[hint])
    return value


def check_states(
    manifest: Manifest, arrays: Sequence[Array | DeviceArray], given: Collection[str]
) -> None:
    """Raise UserError if the array given for a state overlaps another input."""
    for position, argument in enumerate(manifest.inputs):
        if argument.name in given and argument.state:
            others = [*arrays[:position], *arrays[position + 1 :]]
            _check_apart(arrays[position], f"state '{argument.name}'", others)


def _check_apart(
    array: Array | DeviceArray, label: str, others: Sequence[Array | DeviceArray]
) -> None:
    if any(_overlap(array, other) for other in others):
        raise UserError(
            f"{label} overlaps another argument",
            notes=["the compiled code assumes that the arrays it writes do not overlap others"],
        )


def _overlap(first: Array | DeviceArray, other: Array | DeviceArray) -> bool:
    if isinstance(first, np.ndarray) and isinstance(other, np.ndarray):
        return np.may_share_memory(first, other)
    if isinstance(first, np.ndarray) or isinstance(other, np.ndarray):
        return False
    start, end = first.address, first.address + first.nbytes
    apart = end <= other.address or other.address + other.nbytes <= start
    return first.device is other.device and not apart


def _as_array(value: Any, argument: Argument) -> Array:
    """NumPy arrays unchanged; others by DLPack or the array protocol, preferably without a copy."""
    foreign = not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__")
    return as_array(value, f"input '{argument.name}'", from_dlpack if foreign else np.asanyarray)


def aligned_empty(shape: tuple[int, ...], dtype: str) -> Array:
    """An uninitialized array whose data starts at a multiple of 64 bytes, a cache line."""
    nbytes = byte_count(shape, dtype)
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes].view(element_type(dtype).numpy).reshape(shape)


def byte_count(shape: tuple[int, ...], dtype: str) -> int:
    """The bytes of a dense array."""
    return math.prod(shape) * element_type(dtype).numpy.itemsize
