# SPDX-License-Identifier: Apache-2.0
"""Arguments on a device: the caller passes and receives device arrays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from xtc.core.errors import UserError, about
from xtc.core.types import element_type
from xtc.interfaces.artifact import Argument
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.runtime import DeviceArray, DriverDevice

Devices = Mapping[str, AcceleratorDevice]


def read_device_array(value: Any, argument: Argument, devices: Devices) -> DeviceArray:
    """`value`, if it is an array on the argument's device. Raises UserError otherwise."""
    device = _device(argument, devices)
    if not isinstance(value, DeviceArray):
        with about(f"'{argument.name}'"):
            value = device.borrowed(value) or value
    if not isinstance(value, DeviceArray):
        raise UserError(
            f"'{argument.name}' lives on {argument.device}, and {type(value).__name__} does not",
            notes=["the compiled code neither allocates nor copies it"],
            hints=[f"move it there once, before the call: {argument.device}.array(...)"],
        )
    if value.device is not device:
        raise UserError(
            f"'{argument.name}' lives on {argument.device}, and {value!r} elsewhere",
            hints=[f"move it there: {argument.device}.array(that.numpy())"],
        )
    value.address  # noqa: B018  # raises for one that was freed
    check_type(value, argument)
    if not device.accepts_shards:
        _check_shards(value, argument)
    return value


def _check_shards(array: DeviceArray, argument: Argument) -> None:
    if array.shards != argument.shards:
        shards = f", shards={argument.shards}" if argument.shards else ""
        raise UserError(
            f"'{argument.name}' is {_sharding_text(argument.shards)}, and {array!r} is not",
            hints=[f"move it there once, before the call: {argument.device}.array(...{shards})"],
        )


def _sharding_text(shards: int) -> str:
    return f"in {shards} shards" if shards else "in every memory"


def output_device_array(
    value: Any, argument: Argument, devices: Devices, undo: ExitStack
) -> DeviceArray:
    """The array to write: `value`, or a new one that `undo` frees if `value` is None.

    Raises UserError if it does not fit.
    """
    if value is not None:
        array = read_device_array(value, argument, devices)
        if array.read_only:
            raise UserError(f"out= for '{argument.name}' is read-only")
        return array
    device = _device(argument, devices)
    array = device.empty(argument.shape, argument.dtype, shards=argument.shards)
    undo.callback(array.free)
    return array


def check_type(array: Any, argument: Argument) -> None:
    """Raise UserError unless the element type and the shape are the argument's."""
    expected = element_type(argument.dtype).numpy
    if array.dtype != expected:
        order = " in the other byte order" if array.dtype.newbyteorder() == expected else ""
        raise UserError(
            f"'{argument.name}' is {expected}, not {array.dtype}{order}",
            hints=[f"convert it: {_values_of(array)}.astype({str(expected)!r})"],
        )
    if array.shape != argument.shape:
        raise UserError(
            f"'{argument.name}' has shape {argument.shape}, not {array.shape}",
            notes=["nothing is broadcast or reshaped at a call"],
        )


def _values_of(array: Any) -> str:
    return "array.numpy()" if isinstance(array, DeviceArray) else "array"


def _device(argument: Argument, devices: Devices) -> DriverDevice:
    device = devices[str(argument.device)]
    if not isinstance(device, DriverDevice):
        raise UserError(f"{device.device_name} has no device arrays")
    return device
