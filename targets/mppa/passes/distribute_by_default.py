# SPDX-License-Identifier: Apache-2.0
"""distribute-by-default: distributes operations without a schedule over clusters and PEs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import UserError, did_you_mean, shown
from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.tensor._overwrite import overwrite_inputs
from xtc_targets.mppa.description import COOLIDGE_V2, MACHINES
from xtc_targets.mppa.passes._data_movement import (
    compute_data_movement,
    run_rest_on_one_pe,
    separate_fills,
)
from xtc_targets.mppa.passes._fusion_groups import Group, groups
from xtc_targets.mppa.passes._part_costs import Machine
from xtc_targets.mppa.passes._tile_plan import Plan, plan_group
from xtc_targets.mppa.passes._tiled_loops import TiledLoops
from xtc_targets.mppa.passes._untiled_loops import UntiledLoops


@dataclass(frozen=True)
class DistributeByDefault(Pass):
    """Compute operations tile by tile: clusters share the tiles, PEs share each tile in SMEM.

    Before:
        %c = linalg.matmul ins(%a, %b) outs(%zeros)
    After:
        %c = scf.forall (%cluster) in (5) { scf.for %k { copies to SMEM; scf.forall (%pe) in (16)
          { linalg.matmul on this PE's part } }; copy the tile to %c } {mapping = [#gpu.block<..>]}

    An operation joins the loops of its only consumer if it can be computed tile by tile with it; a
    group has at most one contraction. The tile sizes are those with the fewest modelled cycles that
    fit into the SMEM of a cluster twice, so that the transfer of the next tile can overlap. Long
    reductions are computed strip by strip. If no tile fits, PEs compute in DDR. An operation that
    cannot be distributed runs on one PE.

    Attributes:
        arch: the version of the machine.
        clusters: clusters that run a kernel.
        pes: processing elements of each cluster.
        smem_bytes: SMEM of a cluster that the buffers of a group may take.
    """

    name: ClassVar[str] = "distribute-by-default"
    arch: str = "kv3-2"
    clusters: int = 5
    pes: int = 16
    smem_bytes: int = COOLIDGE_V2.smem_usable_bytes

    def __post_init__(self) -> None:
        if self.arch not in MACHINES:
            raise UserError(
                f"option 'arch' of pass '{self.name}' is {shown(self.arch)}",
                hints=did_you_mean(self.arch, MACHINES),
            )
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            compute_data_movement(module)
            separate_fills(module)
            for view in functions(module):
                self._distribute(view)
            run_rest_on_one_pe(module)

    def _machine(self) -> Machine:
        return Machine(MACHINES[self.arch], self.clusters, self.pes, self.smem_bytes)

    def _distribute(self, view: FunctionView) -> None:
        machine = self._machine()
        found: list[tuple[Group, Plan | None]] = []
        for group in groups(view):
            overwrite_inputs(view, group.members)
            plan = plan_group(group, machine)
            if plan is None:
                found += [(single, None) for single in group.singles()]
            else:
                found.append((group, plan))
        for group, plan in found:
            self._write(group, plan, machine)
        for group, plan in reversed(
            found
        ):  # last: a new value might get the address of an erased one
            if plan is not None and group.window is not None:
                group.window.erase()
            for member in reversed(group.members):
                member.nest.op.erase()

    def _write(self, group: Group, plan: Plan | None, machine: Machine) -> None:
        if plan is None:
            UntiledLoops(group, machine.clusters, machine.pes).write()
        else:
            TiledLoops(group, plan, machine).write()
