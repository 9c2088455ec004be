# SPDX-License-Identifier: Apache-2.0
"""The device that kernels run on unless an argument determines it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from xtc.core import discover
from xtc.core.errors import UserError
from xtc.interfaces.runtime import AcceleratorDevice
from xtc.interfaces.target import AcceleratorTarget
from xtc.interfaces.tile_support import TileSupport
from xtc.runtime.device import DriverDevice

_used: AcceleratorDevice | None = None
_shared: dict[Any, AcceleratorDevice] = {}
_stream: int | None = None
_launched: set[AcceleratorDevice] = set()
_supports: WeakKeyDictionary[AcceleratorDevice, tuple[AcceleratorTarget, Any, TileSupport]] = (
    WeakKeyDictionary()
)


def use_device(device: AcceleratorDevice | None) -> None:
    """Run kernels on this device; None restores the default.

    The default is the device that holds the arguments of other libraries, or else a simulator.

    Raises UserError for a device whose target does not support tile kernels.
    """
    global _used
    if device is not None:
        if not isinstance(device, AcceleratorDevice):
            raise UserError(
                f"use_device({device!r}) takes a device", hints=["a device of a target, or None"]
            )
        support_of(device)
    _used = device


def used_device() -> AcceleratorDevice | None:
    """The device of `use_device`."""
    return _used


@contextmanager
def device_kept() -> Iterator[None]:
    """Restore the device of `use_device` at the end of the block."""
    global _used
    before = _used
    try:
        yield
    finally:
        _used = before


@contextmanager
def use_stream(stream: int = 0) -> Iterator[None]:
    """Launch kernels in this stream of a GPU, and wait for them only at the end.

    0 is the device's own stream, any other number a CUDA handle. Within the block, `array.numpy()`
    of a device array may run before a kernel that writes the array. No effect on a simulator.
    """
    global _stream
    before, _stream = _stream, stream
    try:
        yield
        for device in _launched:
            if device.streams is not None:
                device.streams.wait(stream)
    finally:
        _stream = before
        _launched.clear()


def streams_of(device: AcceleratorDevice, arguments: Sequence[Any]) -> tuple[int, ...]:
    """The stream of a launch, and the streams that are ordered before and after it; () for a
    synchronous launch."""
    found = tuple(device.callers_streams(arguments))
    if _stream is None or device.streams is None:
        return found
    _launched.add(device)
    return (_stream, *(stream for stream in found if stream != _stream))


def device_for(arguments: Any) -> AcceleratorDevice:
    """The device on which the arguments reside, or the one in use."""
    owners = {id(owner): owner for a in arguments if (owner := getattr(a, "device", None))}
    devices = [owner for owner in owners.values() if isinstance(owner, AcceleratorDevice)]
    if len(devices) > 1:
        raise UserError(
            "the arguments of a kernel are on several devices",
            hints=["copy them to one device first"],
        )
    return devices[0] if devices else _used or _holding(arguments) or _default()


def _holding(arguments: Any) -> AcceleratorDevice | None:
    """The device whose memory holds arguments of other libraries; None if there are none."""
    target = tile_target()
    found = {options for a in arguments if (options := target.options_holding(a)) is not None}
    if len(found) > 1:
        raise UserError(
            "the arguments of a kernel are on several devices",
            hints=["copy them to one device first"],
        )
    return opened(target, found.pop()) if found else None


def opened(target: AcceleratorTarget, options: Any) -> AcceleratorDevice:
    """The device with these options, shared by the kernels of this process."""
    if options not in _shared:
        _shared[options] = target.runtime(options)
    return _shared[options]


@cache
def tile_target() -> AcceleratorTarget:
    """The target that runs tile kernels. Raises UserError if none does."""
    for name in discover.targets():
        target = discover.target(name)
        if isinstance(target, AcceleratorTarget) and target.tiles(target.options()) is not None:
            return target
    raise UserError("no target runs tile kernels", hints=["install a target that does"])


def _default() -> AcceleratorDevice:
    """The default simulator; a new one if the last one has stopped, as it holds no data."""
    device = _first_default()
    if isinstance(device, DriverDevice) and device.is_lost():
        device.init_device()
    return device


@cache
def _first_default() -> AcceleratorDevice:
    target = tile_target()
    return target.runtime(target.options())


def device_in_use() -> AcceleratorDevice | None:
    """The device of `use_device`, else the one that other libraries use, or None."""
    if _used is not None:
        return _used
    options = tile_target().options_in_use()
    return None if options is None else opened(tile_target(), options)


def stream_in_use(device: AcceleratorDevice) -> int:
    """The stream of `use_stream`, else the current stream of other libraries."""
    return device.current_stream() if _stream is None else _stream


def close_default() -> None:
    """Close the default devices; the next kernel without a device opens a new one."""
    while _shared:
        _shared.popitem()[1].close()
    if _first_default.cache_info().currsize:
        _first_default().close()
        _first_default.cache_clear()


def support_of(device: AcceleratorDevice) -> tuple[AcceleratorTarget, Any, TileSupport]:
    """A device's target, code generation options and features. Raises UserError."""
    if device not in _supports:
        _supports[device] = _support_of(device)
    return _supports[device]


def _support_of(device: AcceleratorDevice) -> tuple[AcceleratorTarget, Any, TileSupport]:
    target = discover.target(device.target_name)
    options = target.options_for(device, {})
    support = target.tiles(options) if isinstance(target, AcceleratorTarget) else None
    if support is None:
        raise UserError(
            f"{device.device_name} runs no tile kernels",
            hints=["open a GPU or its simulator: tile.use_device(device)"],
        )
    return target, options, support
