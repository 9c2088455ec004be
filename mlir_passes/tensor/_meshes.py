# SPDX-License-Identifier: Apache-2.0
"""The meshes of a module, and checks of the schedules that use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xtc.core.errors import UserError
from xtc.ir.analysis import linalg_ops as linalg
from xtc.ir.attributes import AXES, MEMORY
from xtc.ir.mlir import (
    AffineDimExpr,
    ArrayAttr,
    Attribute,
    DenseI64ArrayAttr,
    FlatSymbolRefAttr,
    Operation,
    StringAttr,
)
from xtc.loops import Mesh, Nest
from xtc.loops.check_mesh import shard_loops
from xtc.loops.mesh import memory_mesh, processor_mesh

GRID = "shard.grid"


def mesh_of(meshes: Sequence[Operation]) -> Mesh | None:
    """The processor mesh of a module, or None. Raises UserError for an invalid one."""
    grids = {_name(grid): grid for grid in meshes}
    for name, grid in grids.items():
        if MEMORY in grid.attributes:
            memory = _symbol(name, grid.attributes[MEMORY])
            if memory not in grids:
                raise UserError(f"processor mesh '@{name}' is over '@{memory}', which is not there")
            below = memory_mesh(memory, _axes(grids[memory]))
            return processor_mesh(name, _axes(grid), below)
    return None


def meshes(op: Operation) -> list[Operation]:
    """The meshes of the outermost module around `op`, or of `op` itself."""
    while op.parent is not None:
        op = op.parent
    return list(_grids(op))


def _grids(module: Operation) -> Iterator[Operation]:
    """The meshes of a module and of nested modules; functions have none."""
    for region in module.regions:
        for block in region.blocks:
            for op in (op.operation for op in block.operations):
                if op.name == GRID:
                    yield op
                elif op.name.endswith(".module"):
                    yield from _grids(op)


def _symbol(name: str, attribute: Attribute) -> str:
    if not isinstance(attribute, FlatSymbolRefAttr):
        raise UserError(
            f"{MEMORY} of {GRID} '@{name}' is {attribute}, not a mesh of the module",
            hints=[f"{MEMORY} = @memory_mesh"],
        )
    return str(attribute.value)


def _name(grid: Operation) -> str:
    return str(StringAttr(grid.attributes["sym_name"]).value)


def _axes(grid: Operation) -> dict[str, int]:
    sizes = list(DenseI64ArrayAttr(grid.attributes["shape"]))
    found = grid.attributes.get(AXES, None)
    parts = list(found) if isinstance(found, ArrayAttr) else []
    names = [StringAttr(name).value for name in parts if isinstance(name, StringAttr)]
    if len(set(names)) != len(sizes):
        raise UserError(
            f"{GRID} '@{_name(grid)}' has {len(sizes)} axes, but {AXES} does not name each once",
            hints=[f'{AXES} = ["x", "y"]'],
        )
    return dict(zip(names, sizes, strict=True))


def erase_meshes(module: Operation) -> None:
    """Erase the meshes, which code generators do not know."""
    for grid in meshes(module):
        grid.erase()


def check_shards(op: Operation, nest: Nest, title: str) -> None:
    """Raise UserError if a processor would need a part of an operand from another memory."""
    mesh = nest.space.mesh
    if mesh is None or mesh.memory is None:
        return
    over = {loop.distribute: loop.axis for loop in shard_loops(nest)}
    for loop in nest.loops:
        for operand, axes in loop.shard:
            _check_axes(op, nest, operand, axes, over, title)


def _check_axes(
    op: Operation,
    nest: Nest,
    operand: int,
    axes: Sequence[str],
    over: dict[str, str],
    title: str,
) -> None:
    mesh = nest.space.mesh
    if mesh is None or mesh.memory is None:
        return
    results = linalg.index_maps(op)[operand].results
    for dimension, (name, index) in enumerate(zip(axes, results, strict=True)):
        if name == "*" or mesh.memory.size(name) == 1:
            continue
        along = mesh.names[mesh.memory.names.index(name)]
        axis = over[along]
        plain = isinstance(index, AffineDimExpr) and nest.space.names[index.position] == axis
        if not plain:
            raise UserError(
                f"dimension {dimension} of operand {operand} of {title} cannot be distributed over "
                f"'{name}': '{axis}', which is distributed over '{along}', does not index it alone",
                notes=["a processor would need data of another memory"],
                hints=["write '*' for the dimension"],
            )
