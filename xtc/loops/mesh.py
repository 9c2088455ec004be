# SPDX-License-Identifier: Apache-2.0
"""Meshes of memories and processors, over which loops are distributed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from xtc.core.errors import UserError, shown

MAX_AXES = 8
MAX_SIZE = 1 << 20
"""The largest size of an axis; no machine has more processors."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HEAD = re.compile(r"@(?P<name>[^ ]*)( over @(?P<memory>[^ ]*))?")


@dataclass(frozen=True)
class Mesh:
    """A grid with a name for each of its axes.

    Attributes:
        name: its name in data and in the IR.
        axes: names and sizes, outermost first.
        memory: for processors, the mesh of their memories: each shard axis corresponds to an axis
            of the memories; processors along the other axes share one memory.
    """

    name: str
    axes: tuple[tuple[str, int], ...]
    memory: Mesh | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(name for name, _ in self.axes)

    @property
    def shard_axes(self) -> tuple[str, ...]:
        """Axes that cross memories."""
        return self.names[: len(self.memory.axes)] if self.memory else self.names

    @property
    def thread_axes(self) -> tuple[str, ...]:
        """Axes of the processors of one memory."""
        return self.names[len(self.shard_axes) :]

    def size(self, axis: str) -> int:
        """The size of an axis."""
        return dict(self.axes)[axis]

    def count(self, axes: tuple[str, ...]) -> int:
        """The product of the sizes of several axes."""
        return math.prod(self.size(axis) for axis in axes)

    def memory_axis(self, axis: str) -> str | None:
        """The memory axis of a shard axis; None for other axes."""
        if self.memory is None or axis not in self.shard_axes:
            return None
        return self.memory.names[self.names.index(axis)]

    @property
    def head(self) -> str:
        """Its key in data: `@memory_mesh`, `@processor_mesh over @memory_mesh`."""
        return f"@{self.name} over @{self.memory.name}" if self.memory else f"@{self.name}"

    @property
    def data(self) -> str:
        """Its axes as one line of YAML."""
        return "{" + ", ".join(f"{name}: {size}" for name, size in self.axes) + "}"


def is_head(key: str) -> bool:
    """Whether a key of data denotes a mesh."""
    return key.startswith("@")


def parse_head(key: str) -> tuple[str, str | None]:
    """The names of a mesh and of its memory mesh. Raises UserError."""
    match = _HEAD.fullmatch(key)
    if match is None:
        raise UserError(
            f"{shown(key)} does not name a mesh",
            hints=["'@memory_mesh', or '@processor_mesh over @memory_mesh'"],
        )
    return match["name"], match["memory"]


def memory_mesh(name: str, axes: Mapping[str, int]) -> Mesh:
    """A mesh of memories. Raises UserError."""
    return _checked(Mesh(name, tuple(axes.items())), "memory mesh")


def processor_mesh(name: str, axes: Mapping[str, int], memory: Mesh) -> Mesh:
    """A mesh of processors around memories. Raises UserError unless the meshes match."""
    mesh = _checked(Mesh(name, tuple(axes.items()), memory), "processor mesh")
    if name == memory.name:
        raise UserError(f"processor mesh '{name}' has the name of the memory mesh")
    known = set(mesh.names) & set(memory.names)
    if known:
        raise UserError(
            f"processor mesh '{name}' has an axis '{min(known)}', as memory mesh "
            f"'{memory.name}' does",
            hints=["give each axis another name"],
        )
    if len(mesh.axes) < len(memory.axes):
        raise UserError(
            f"processor mesh '{name}' has {len(mesh.axes)} axes, memory mesh '{memory.name}' "
            f"{len(memory.axes)}",
            hints=["begin with an axis for each of the memory mesh's"],
        )
    for (axis, size), (other, wanted) in zip(mesh.axes, memory.axes, strict=False):
        if size != wanted:
            raise UserError(
                f"axis '{axis}' of processor mesh '{name}' has size {size}, but '{other}' of "
                f"memory mesh '{memory.name}' has {wanted}",
                notes=["the first axes run over the memories"],
                hints=[f"give '{axis}' the size {wanted}"],
            )
    return mesh


def _checked(mesh: Mesh, kind: str) -> Mesh:
    if _NAME.fullmatch(mesh.name) is None:
        raise UserError(
            f"{shown(mesh.name)} cannot be the name of a {kind}",
            hints=["letters, digits and _, at most 64"],
        )
    if not 1 <= len(mesh.axes) <= MAX_AXES:
        raise UserError(f"{kind} '{mesh.name}' has {len(mesh.axes)} axes, not from 1 to {MAX_AXES}")
    for axis, size in mesh.axes:
        if _NAME.fullmatch(axis) is None:
            raise UserError(f"{shown(axis)} cannot be the name of an axis of {kind} '{mesh.name}'")
        if not 1 <= size <= MAX_SIZE:
            raise UserError(
                f"axis '{axis}' of {kind} '{mesh.name}' has size {size}",
                hints=[f"a size from 1 to {MAX_SIZE}"],
            )
    return mesh
