# SPDX-License-Identifier: Apache-2.0
"""Maps the device names of a graph to live devices."""

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


def placed_devices(graph: Graph) -> dict[str, Placement]:
    """The devices that the graph uses, by name. Raises UserError for an unknown target."""
    found: dict[str, Placement] = {}
    for name, placed, where in _placements(graph):
        if placed.target not in discover.targets():
            raise UserError(
                f"'{name}' is on {placed}, and there is no target '{placed.target}'",
                where=where,
                hints=did_you_mean(placed.target, discover.targets()),
            )
        if found.get(placed.name, placed).device is None or placed.name not in found:
            found[placed.name] = placed
    return found


def live_devices(graph: Graph, target: object) -> dict[str, CommonRuntimeInterface]:
    """The devices that the user passed as objects, by their names in the graph.

    If `target` is a device, it is used for its own name, or for the graph's only device of its
    target, unless the graph has an object of that name.
    """
    given = (
        placed.device
        for _, placed, _ in _placements(graph)
        if isinstance(placed.device, CommonRuntimeInterface)
    )
    found = by_name(given)
    if isinstance(target, AcceleratorDevice):
        items = placed_devices(graph).items()
        names = [name for name, placed in items if placed.target == target.target_name]
        if target.device_name in names:
            names = [target.device_name]
        if len(names) == 1:
            found.setdefault(names[0], target)
    return found


def by_name(devices: Iterable[CommonRuntimeInterface]) -> dict[str, CommonRuntimeInterface]:
    """Devices by name. Raises UserError if two have the same name: one of them is closed."""
    found: dict[str, CommonRuntimeInterface] = {}
    for device in devices:
        if found.setdefault(device.device_name, device) is not device:
            raise UserError(
                f"two devices have the name {device.device_name}: one of them is closed"
            )
    return found


def devices_of(manifest: Manifest, live: Devices) -> dict[str, AcceleratorDevice]:
    """The given device for each name in the manifest; missing ones are omitted.

    A single device may replace the only name. Raises UserError for a device without memory or of
    another target.
    """
    wanted = _targets(manifest)
    if len(wanted) == 1 and len(live) == 1:
        live = dict.fromkeys(wanted, next(iter(live.values())))
    return {name: accelerator(name, wanted[name], live[name]) for name in wanted if name in live}


def device_targets(manifest: Manifest) -> dict[str, str]:
    """The targets of an artifact's devices, by device name."""
    return dict(_targets(manifest))


def _targets(manifest: Manifest) -> dict[str, str]:
    return {name: image.target for name, image in manifest.offload.images.items()}


def accelerator(name: str, target: str, device: CommonRuntimeInterface) -> AcceleratorDevice:
    """`device`, if it can be used for `name`. Raises UserError otherwise."""
    if not isinstance(device, AcceleratorDevice):
        raise UserError(f"{device.device_name} has no separate memory: nothing can live there")
    if device.target_name != target:
        raise UserError(f"{device.device_name} cannot replace {name}, whose code is for '{target}'")
    return device


def require_used(given: Iterable[CommonRuntimeInterface], used: Devices, user: str) -> None:
    """Raise UserError for a given device that `user` does not use."""
    for device in given:
        if all(device is not other for other in used.values()):
            names = (
                name if name == other.device_name else f"{name} (here {other.device_name})"
                for name, other in used.items()
            )
            raise UserError(
                f"{user} does not use {device.device_name}, which was given",
                notes=[f"it uses: {', '.join(names) or 'no device'}"],
            )


def _placements(graph: Graph) -> Iterator[tuple[str, Placement, SourceLocation | None]]:
    tensors = (*graph.inputs, *graph.constants, *(node.output for node in graph.nodes))
    for tensor in tensors:
        if tensor.placement is not None:
            yield str(tensor.name), tensor.placement, tensor.where
    for node in graph.nodes:
        if node.placement is not None:
            yield node.name, node.placement, node.where
