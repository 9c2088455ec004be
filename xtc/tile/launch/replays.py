# SPDX-License-Identifier: Apache-2.0
"""Launches that are repeated with equal arguments, without the checks that already passed.

A call of a kernel checks its arguments, finds the device and the compiled kernel, and makes a
launch of them. A call whose arguments equal those of an earlier one repeats its launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import ref

from xtc.core.errors import DeviceFault, DeviceTimeout, UserError
from xtc.runtime.device_array import DeviceArray
from xtc.runtime.table import NOW
from xtc.tile import config
from xtc.tile.launch.faults import explained

if TYPE_CHECKING:
    from xtc.tile.launch.compiled import Kernel

_KEPT = 64
"""Launches that are remembered, per kernel."""

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Replay:
    """A launch on arrays in a device's memory, which neither copies nor allocates.

    Attributes:
        kernel: explains the faults of the launch.
        device, opened: references to the device, and to its state in which the launch is valid.
        is_used: whether `use_device` chose it.
        address, launch: the function and its arguments, as the driver takes them.
        kept: objects that the launch refers to: tensor maps.
    """

    kernel: Kernel
    device: Callable[[], Any]
    opened: Callable[[], Any]
    is_used: bool
    address: int
    launch: Any
    kept: Sequence[Any]

    @staticmethod
    def of(kernel: Kernel, device: Any, address: int, launch: Any) -> Replay:
        """A launch on an open device, which it does not keep alive."""
        is_used = config.used_device() is device
        opened = ref(device.opened())
        return Replay(kernel, ref(device), opened, is_used, address, launch, ())

    def valid_on(self) -> Any:
        """The device, if the same call would make the same launch now; else None."""
        device, used = self.device(), config.used_device()
        if device is None or not device.is_open_as(self.opened()):
            return None
        return device if used is (device if self.is_used else None) else None

    def in_streams(self, streams: Sequence[int]) -> None:
        """Launch in the first of these streams, after and before work of the others; without any,
        wait for the kernel."""
        opened = self.opened()
        if not streams:
            opened.command("launch", NOW, self.address, self.launch, None)
            return
        stream, *others = streams
        for other in others:
            opened.stream_call("after", stream, other)
        opened.stream_call("launch", stream, self.address, self.launch)
        for other in others:
            opened.stream_call("after", other, stream)


class Replays:
    """The launches of a kernel that can be repeated."""

    def __init__(self) -> None:
        self._known: dict[Key, Replay] = {}

    def repeated(self, arguments: Sequence[Any]) -> bool:
        """Repeat the launch of an equal call; False if there was none."""
        if not self._known:
            return False
        key = key_of(arguments)
        found = None if key is None else self._known.get(key)
        if found is None:
            return False
        device = found.valid_on()
        if device is None:
            return False
        try:
            found.in_streams(config.streams_of(device, arguments))
        except (DeviceFault, DeviceTimeout) as error:
            raise explained(found.kernel, error) from None
        return True

    def remember(self, arguments: Sequence[Any], replay: Replay | None) -> None:
        """Keep the launch of a call, if it can be repeated."""
        key = None if replay is None else key_of(arguments)
        if key is None or replay is None:
            return
        if len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = replay


def key_of(arguments: Sequence[Any]) -> Key | None:
    """A key that is equal for calls that make the same launch; None if an argument has none."""
    parts: list[Any] = []
    for argument in arguments:
        kind = type(argument)
        describe = _KINDS.get(kind)
        if describe is None:
            describe = _KINDS[kind] = _described_by(kind)
        part = describe(argument)
        if part is None:
            return None
        parts += (kind, part)
    return tuple(parts)


def _described_by(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, DeviceArray):
        return _device_array
    if kind.__module__.partition(".")[0] == "torch" and hasattr(kind, "data_ptr"):
        return _tensor
    return _nothing


def _nothing(_: Any) -> None:
    """Other values have no part: NumPy arrays are copied in each call."""


def _number(value: Any) -> Any:
    return value or str(value)  # 0.0 and -0.0 are equal


def _device_array(array: DeviceArray) -> Any:
    try:
        return array.address, array.dtype, array.read_only, id(array.device)
    except UserError:  # it was freed
        return None


def _tensor(tensor: Any) -> Any:
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride(), tensor.device.index


_KINDS: dict[type, Callable[[Any], Any]] = {int: _number, float: _number, bool: _number}
