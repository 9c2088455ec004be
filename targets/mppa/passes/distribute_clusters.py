# SPDX-License-Identifier: Apache-2.0
"""distribute-clusters: each cluster runs its share of the outer loop of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.builders import numbers
from xtc.ir.builders.control import branch
from xtc.ir.builders.control import loop as new_loop
from xtc.ir.builders.functions import call
from xtc.ir.mlir import IndexType, InsertionPoint, Operation, Value, all_operations, arith, ub
from xtc.ir.partition import symbol_of
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import body, declare, has_mapping
from xtc_targets.mppa.passes import _device_calls as device
from xtc_targets.mppa.passes._forall import dimensions, move_body, total

_PURE = (
    "arith.",
    "affine.",
    "memref.cast",
    "memref.collapse_shape",
    "memref.dim",
    "memref.expand_shape",
    "memref.get_global",
    "memref.reinterpret_cast",
    "memref.subview",
    "ub.",
)


@dataclass(frozen=True)
class DistributeClusters(Pass):
    """Replace the loop over clusters by code that every cluster runs with its number.

    Before:
        scf.forall (%i) in (12) { body(%i) } {mapping = [#gpu.block<linear_dim_0>]}
    After:
        %id = call @dev_cluster_id() : () -> i32
        scf.for %i = %id to 12 step 5 { body(%i) }  // scf.if %id < 3 for (%i) in (3)

    A kernel without such a loop runs on cluster 0. The pass marks every function with a body as a
    kernel; arguments of a kernel are `llvm.noalias`, as on the host. Raises CompileError if
    clusters would have to synchronize.

    Attributes:
        clusters: clusters that run a kernel.
    """

    name: ClassVar[str] = "distribute-clusters"
    clusters: int = 5

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        device.mark_kernels(module)
        with module.context:
            for kernel in device.kernels(module):
                _check(kernel)
                declare(module, device.CLUSTER_ID, [], [device.i32()])
                loops = [op for op in body(kernel) if has_mapping(op, "block")]
                with kernel.location:
                    for loop in loops:
                        self._distribute(loop)
                    if not loops:
                        _run_on_one(kernel)

    def _distribute(self, loop: Operation) -> None:
        with loop.location, InsertionPoint(loop):
            dims = dimensions(loop)
            count = total(dims)
            first = _cluster()
            if isinstance(count, int) and count <= self.clusters:
                enough = True if count == self.clusters else numbers.less(first, count)
                with branch(enough):
                    end = ub.PoisonOp(IndexType.get()).operation
                    move_body(loop, dims, first, end)
                    end.erase()
            else:
                with new_loop(first, count, self.clusters) as share:
                    pass
                move_body(loop, dims, share.index, body(share.op)[-1])
        loop.erase()


def _cluster() -> Value:
    number = call(device.CLUSTER_ID, [], [device.i32()]).results[0]
    return arith.index_cast(IndexType.get(), number)


def _run_on_one(kernel: Operation) -> None:
    """Move the body of a kernel into a branch that only cluster 0 takes."""
    ops = body(kernel)[:-1]
    if not ops:
        return
    with InsertionPoint(ops[0]), branch(numbers.compare("eq", _cluster(), 0)):
        last = ub.PoisonOp(IndexType.get()).operation
    for op in ops:
        op.move_before(last)
    last.erase()


def _check(kernel: Operation) -> None:
    """Raise CompileError if clusters would have to synchronize inside a kernel."""
    top = body(kernel)
    loops = [op for op in all_operations(kernel) if has_mapping(op, "block")]
    hint = "make each of its loop nests a separate kernel"
    if any(loop not in top for loop in loops) or len(loops) > 1:
        raise CompileError(
            f"kernel '{symbol_of(kernel)}': a loop over clusters is not its only loop nest",
            where=str(loops[0].location),
            hints=[hint],
        )
    if not loops:
        return
    for op in top[:-1]:
        if op not in loops and not op.name.startswith(_PURE):
            raise CompileError(
                f"kernel '{symbol_of(kernel)}': {op.name} is beside its loop over clusters",
                where=str(op.location),
                hints=[hint],
            )
