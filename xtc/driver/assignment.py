# SPDX-License-Identifier: Apache-2.0
"""Assigns a graph to targets: a program for the host, kernels for each device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xtc.core import discover
from xtc.core.errors import UserError
from xtc.driver.live_devices import live_devices, placed_devices
from xtc.graph.graph import Graph
from xtc.graph.placed import is_placed, placed_on
from xtc.graph.placement import Placement, placement
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import DEFAULT_TARGET, AcceleratorTarget, ProgramTarget
from xtc.ir.pipeline import Pipeline


@dataclass(frozen=True)
class DeviceCode:
    """How the kernels of one device are compiled."""

    target: AcceleratorTarget
    options: Any

    @property
    def pipeline(self) -> Pipeline:
        """The stages of the device's code."""
        return self.target.pipeline(self.options)


@dataclass(frozen=True)
class Assignment:
    """A graph, and the targets that compile its program and its kernels.

    Attributes:
        graph: with every placement decided.
        target: of the program.
        options: the program's.
        devices: by device name, in the order of the names.
    """

    graph: Graph
    target: ProgramTarget
    options: Any
    devices: Mapping[str, DeviceCode]


def assignment_of(graph: Graph, target: object, options: Mapping[str, Any]) -> Assignment:
    """Assign the operators of `graph`, whose dimensions are known, to targets.

    `target` is a target's name or a device. With an accelerator, the host runs the program, and a
    graph without any placement runs on the accelerator as a whole. Raises UserError.
    """
    chosen = discover.target(_target_name(target))
    if isinstance(chosen, AcceleratorTarget):
        graph = _with_placements(graph, target, chosen.name)
        program = discover.target(DEFAULT_TARGET)
        program_options, device_options = program.options(), dict(options)
    else:
        program, device_options = chosen, {}
        program_options = _options(chosen, _live(target), options)
    live, codes = live_devices(graph, target), {}
    for name, placed in sorted(placed_devices(graph).items()):
        compiler = _accelerator(placed)
        given = device_options if compiler is chosen else {}
        codes[name] = DeviceCode(compiler, _options(compiler, live.get(name), given))
    if codes:
        program.check_offload(program_options)
    return Assignment(graph, program, program_options, codes)


def program_target(name: str) -> ProgramTarget:
    """The program target of that name. Raises UserError."""
    found = discover.target(name)
    if not isinstance(found, ProgramTarget):
        raise UserError(
            f"target '{name}' runs kernels, not programs",
            hints=[f"--target {DEFAULT_TARGET}, or a graph with device=..."],
        )
    return found


def _target_name(target: object) -> str:
    if isinstance(target, str):
        return target
    placed = placement(target)
    return placed.target if placed else DEFAULT_TARGET


def _with_placements(graph: Graph, target: object, name: str) -> Graph:
    if not is_placed(graph):
        device = placement(_live(target) or name)
        return placed_on(graph, device) if device else graph
    used = sorted({placed.target for placed in placed_devices(graph).values()})
    if name not in used:
        raise UserError(
            f"graph '{graph.name}' is compiled for '{name}' but places nothing on it",
            notes=[f"it uses: {', '.join(used)}"],
            hints=["place operators with device=..., or place none to run the whole graph there"],
        )
    return graph


def _accelerator(placed: Placement) -> AcceleratorTarget:
    found = discover.target(placed.target)
    if not isinstance(found, AcceleratorTarget):
        raise UserError(
            f"{placed} is not an accelerator: nothing can be placed there",
            hints=["omit device= for operators on the host"],
        )
    return found


def _live(target: object) -> CommonRuntimeInterface | None:
    return target if isinstance(target, CommonRuntimeInterface) else None


def _options(
    target: AcceleratorTarget | ProgramTarget,
    device: CommonRuntimeInterface | None,
    given: Mapping[str, Any],
) -> Any:
    return target.options(**given) if device is None else target.options_for(device, given)
