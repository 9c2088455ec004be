# SPDX-License-Identifier: Apache-2.0
"""The device that kernels run on where no argument says it."""

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


@contextmanager
def device_kept() -> Iterator[None]:
    """Restore the choice of `use_device` at the end of the block."""
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
    """The stream in which a launch runs, and those that it follows and that follow it; () for a
    launch that is waited for."""
    found = tuple(device.callers_streams(arguments))
    if _stream is None or device.streams is None:
        return found
    _launched.add(device)
    return (_stream, *(stream for stream in found if stream != _stream))


def device_for(arguments: Any) -> AcceleratorDevice:
    """The device on which arguments live, else the one in use."""
    owners = {id(owner): owner for a in arguments if (owner := getattr(a, "device", None))}
    devices = [owner for owner in owners.values() if isinstance(owner, AcceleratorDevice)]
    if len(devices) > 1:
        raise UserError("the arguments of a kernel are on several devices")
    return devices[0] if devices else _used or _holding(arguments) or _default()


def _holding(arguments: Any) -> AcceleratorDevice | None:
    """The device in whose memory other libraries have arguments; None where none has any."""
    target = tile_target()
    found = {options for a in arguments if (options := target.options_holding(a)) is not None}
    if len(found) > 1:
        raise UserError("the arguments of a kernel are on several devices")
    return opened(target, found.pop()) if found else None


def opened(target: AcceleratorTarget, options: Any) -> AcceleratorDevice:
    """The device of these options, which kernels of this process share."""
    if options not in _shared:
        _shared[options] = target.runtime(options)
    return _shared[options]


@cache
def tile_target() -> AcceleratorTarget:
    """The target of tile kernels. Raises UserError where no target has any."""
    for name in discover.targets():
        target = discover.target(name)
        if isinstance(target, AcceleratorTarget) and target.tiles(target.options()) is not None:
            return target
    raise UserError("no target runs tile kernels")


def _default() -> AcceleratorDevice:
    """The simulator of kernels without a device, anew after one has stopped: it holds nothing."""
    device = _first_default()
    if isinstance(device, DriverDevice) and device.is_lost():
        device.init_device()
    return device


@cache
def _first_default() -> AcceleratorDevice:
    target = tile_target()
    return target.runtime(target.options())


def device_in_use() -> AcceleratorDevice | None:
    """The device of `use_device`, else the one that other libraries use; None where none does."""
    if _used is not None:
        return _used
    options = tile_target().options_in_use()
    return None if options is None else opened(tile_target(), options)


def stream_in_use(device: AcceleratorDevice) -> int:
    """The stream of `use_stream`, else that in which other libraries work now."""
    return device.current_stream() if _stream is None else _stream


def close_default() -> None:
    """Close the devices that kernels without a device used; the next such kernel opens another."""
    while _shared:
        _shared.popitem()[1].close()
    if _first_default.cache_info().currsize:
        _first_default().close()
        _first_default.cache_clear()


def support_of(device: AcceleratorDevice) -> tuple[AcceleratorTarget, Any, TileSupport]:
    """A device's target, the options of code for it, and what it offers. Raises UserError."""
    if device not in _supports:
        _supports[device] = _support_of(device)
    return _supports[device]


def _support_of(device: AcceleratorDevice) -> tuple[AcceleratorTarget, Any, TileSupport]:
    target = discover.target(device.target_name)
    options = target.options_for(device, {})
    support = target.tiles(options) if isinstance(target, AcceleratorTarget) else None
    if support is None:
        raise UserError(f"{device.device_name} runs no tile kernels")
    return target, options, support
