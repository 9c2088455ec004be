# SPDX-License-Identifier: Apache-2.0
"""Which live device each device name of a graph stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xtc.core import discover
from xtc.core.errors import UserError, did_you_mean
from xtc.core.location import SourceLocation
from xtc.graph.graph import Graph
from xtc.graph.placement import Placement
from xtc.interfaces.artifact import Manifest
from xtc.interfaces.runtime import AcceleratorDevice, CommonRuntimeInterface

Devices = Mapping[str, CommonRuntimeInterface]


def check_placements(graph: Graph, target: str) -> None:
    """Raise UserError where something is placed on a device of another target."""
    for name, place, where in _placements(graph):
        if place.target != target:
            raise UserError(
                f"'{name}' is on {place}, but the graph is compiled for '{target}'",
                where=where,
                hints=_hints(place.target),
            )


def _hints(target: str) -> list[str]:
    if target in discover.targets():
        return [f"compile it for the device: target='{target}'"]
    return [f"there is no target '{target}'", *did_you_mean(target, discover.targets())]


def live_devices(graph: Graph) -> dict[str, CommonRuntimeInterface]:
    """The devices that the user gave as objects, by name, in order of appearance."""
    given = (
        place.device
        for _, place, _ in _placements(graph)
        if isinstance(place.device, CommonRuntimeInterface)
    )
    return by_name(given)


def by_name(devices: Iterable[CommonRuntimeInterface]) -> dict[str, CommonRuntimeInterface]:
    """Devices by their names. Raises UserError where two have the same: one of them is closed."""
    found: dict[str, CommonRuntimeInterface] = {}
    for device in devices:
        if found.setdefault(device.device_name, device) is not device:
            raise UserError(f"two devices are called {device.device_name}: one of them is closed")
    return found


def devices_of(
    manifest: Manifest, runtime: CommonRuntimeInterface, live: Devices
) -> dict[str, AcceleratorDevice]:
    """The device behind each name in the manifest; a name alone may stand for the runtime.

    Raises UserError for a name that no device given has, and for devices without own memory.
    """
    names = dict.fromkeys(one.device for one in manifest.arguments if one.device is not None)
    if len(names) == 1:
        name = next(iter(names))
        if live.get(name, runtime) is not runtime:
            raise UserError(f"'{manifest.entry}' has arguments on {name}, but runs on {runtime!r}")
        return {name: _accelerator(name, {name: runtime})}
    known = {runtime.device_name: runtime, **live}
    return {name: _accelerator(name, known) for name in names}


def _accelerator(name: str, known: Devices) -> AcceleratorDevice:
    device = known.get(name)
    if device is None:
        raise UserError(
            f"no device given is called {name}",
            notes=[f"there are: {', '.join(known)}"],
            hints=["where a graph uses several devices, give them as objects: device=..."],
        )
    if not isinstance(device, AcceleratorDevice):
        raise UserError(f"{device.device_name} has no memory of its own: nothing can live there")
    return device


def _placements(graph: Graph) -> Iterator[tuple[str, Placement, SourceLocation | None]]:
    tensors = (*graph.inputs, *graph.constants, *(node.output for node in graph.nodes))
    for tensor in tensors:
        if tensor.placement is not None:
            yield str(tensor.name), tensor.placement, tensor.where
