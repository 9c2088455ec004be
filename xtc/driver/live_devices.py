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


def placed_devices(graph: Graph) -> dict[str, Placement]:
    """The devices that the graph uses, by name. Raises UserError for one of an unknown target."""
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
    """The devices that the user gave as objects, by the names that the graph has for them.

    `target`, what the graph is compiled for, stands for its own name, or for the only one of its
    kind, unless the graph has an object of that name.
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
    """Devices by their names. Raises UserError if two have the same: one of them is closed."""
    found: dict[str, CommonRuntimeInterface] = {}
    for device in devices:
        if found.setdefault(device.device_name, device) is not device:
            raise UserError(f"two devices are called {device.device_name}: one of them is closed")
    return found


def devices_of(manifest: Manifest, live: Devices) -> dict[str, AcceleratorDevice]:
    """The device given for each name in the manifest; missing ones are left out.

    One device alone may stand for the only name. Raises UserError for one that has no memory, or of
    another target.
    """
    wanted = _targets(manifest)
    if len(wanted) == 1 and len(live) == 1:
        live = dict.fromkeys(wanted, next(iter(live.values())))
    return {name: accelerator(name, wanted[name], live[name]) for name in wanted if name in live}


def device_targets(manifest: Manifest) -> dict[str, str]:
    """Names of the devices that an artefact needs, and their targets."""
    return dict(_targets(manifest))


def _targets(manifest: Manifest) -> dict[str, str]:
    return {name: image.target for name, image in manifest.offload.images.items()}


def accelerator(name: str, target: str, device: CommonRuntimeInterface) -> AcceleratorDevice:
    """`device`, which stands for `name`. Raises UserError if it cannot."""
    if not isinstance(device, AcceleratorDevice):
        raise UserError(f"{device.device_name} has no separate memory: nothing can live there")
    if device.target_name != target:
        raise UserError(
            f"{device.device_name} cannot stand for {name}, whose code is for '{target}'"
        )
    return device


def require_used(given: Iterable[CommonRuntimeInterface], used: Devices, user: str) -> None:
    """Raise UserError for a device that was given and that `user` does not use."""
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
