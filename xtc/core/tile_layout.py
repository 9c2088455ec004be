# SPDX-License-Identifier: Apache-2.0
"""Register layouts: the distribution of a tile's elements over threads, and their order in each.

A dimension of a tile is factored into modes, outermost first. Each mode is either spatial, a digit
of the thread's number, or local, a digit of the element's position within its thread. A spatial
entry may also be a replication: threads that differ only in that digit hold the same elements.

    spatial(2, 4) * local(1, 2)         a 2 x 8 tile, 8 threads, 2 neighboring columns each
    shape (2, 8)  modes (2, 4, 2)  spatial (0, 1)  local (2,)
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xtc.core.errors import LayoutOperationError, UserError
from xtc.core.layout_division import divided
from xtc.core.layout_drawing import drawn

_TEXT = re.compile(r"shape\(([\d,]*)\) modes\(([\d,]*)\) spatial\(([-\d,]*)\) local\(([\d,]*)\)")


def mode_groups(shape: Sequence[int], modes: Sequence[int]) -> list[list[int]] | None:
    """The modes of each dimension, outermost first; None if they do not make up the shape.

    Modes are greater than 1.
    """
    groups, at = [], 0
    for size in shape:
        group, product = [], 1
        while product < size and at < len(modes):
            product *= modes[at]
            group.append(at)
            at += 1
        if product != size:
            return None
        groups.append(group)
    return groups if at == len(modes) else None


@dataclass(frozen=True)
class RegisterLayout:
    """A register layout.

    Attributes:
        shape: shape of the tile.
        modes: the sizes of all modes, grouped by dimension; each is greater than 1.
        spatial_modes: the mode of each digit of a thread's number, the most significant first,
            or minus the number of threads with the same elements for a replication.
        local_modes: the mode of each digit of an element's position in its thread.
    """

    shape: tuple[int, ...]
    modes: tuple[int, ...]
    spatial_modes: tuple[int, ...]
    local_modes: tuple[int, ...]

    def __post_init__(self) -> None:
        used = sorted(mode for mode in (*self.spatial_modes, *self.local_modes) if mode >= 0)
        if used != list(range(len(self.modes))) or self._groups is None:
            raise UserError(
                f"{self} is not a layout: each mode is spatial or local, once",
                hints=["build it from spatial(...) and local(...), whose product is a layout"],
            )

    @cached_property
    def _groups(self) -> list[list[int]] | None:
        return mode_groups(self.shape, self.modes)

    @property
    def groups(self) -> list[list[int]]:
        """The modes of each dimension, outermost first."""
        return self._groups or [[] for _ in self.shape]

    @property
    def grouped_modes(self) -> list[list[int]]:
        """The same as `groups`."""
        return self.groups

    @property
    def spatial_shape(self) -> list[int]:
        """The sizes of the digits of a thread's number."""
        return [-mode if mode < 0 else self.modes[mode] for mode in self.spatial_modes]

    @property
    def spatial_size(self) -> int:
        """The number of threads."""
        return math.prod(self.spatial_shape)

    @property
    def local_size(self) -> int:
        """The number of elements per thread."""
        return math.prod(self.modes[mode] for mode in self.local_modes)

    @property
    def mode_shape(self) -> tuple[int, ...]:
        """The sizes of all modes."""
        return self.modes

    @property
    def local_shape(self) -> list[int]:
        """The sizes of the digits of an element's position in its thread."""
        return [self.modes[mode] for mode in self.local_modes]

    def factor(self, mode: int) -> tuple[int, int]:
        """The dimension of a mode, and the stride of its digit in that dimension."""
        for dim, group in enumerate(self.groups):
            if mode in group:
                after = group[group.index(mode) + 1 :]
                return dim, math.prod(self.modes[other] for other in after)
        raise ValueError(mode)

    def thread_digits(self) -> list[tuple[int, int, int, int]]:
        """For each spatial mode that is not a replication: its dimension, the digit's stride there,
        the digit's size, and its stride in the thread's number."""
        sizes = self.spatial_shape
        found = []
        for at, mode in enumerate(self.spatial_modes):
            if mode >= 0:
                dim, distance = self.factor(mode)
                found.append((dim, distance, sizes[at], math.prod(sizes[at + 1 :])))
        return found

    def replica_digits(self) -> list[tuple[int, int]]:
        """For each replication: the size of its digit, and its stride in the thread's number."""
        sizes = self.spatial_shape
        return [
            (sizes[at], math.prod(sizes[at + 1 :]))
            for at, mode in enumerate(self.spatial_modes)
            if mode < 0
        ]

    @cached_property
    def local_offsets(self) -> list[tuple[int, ...]]:
        """The offsets of a thread's elements from its first one, in each dimension."""
        factors = [self.factor(mode) for mode in self.local_modes]
        found = []
        for digits in itertools.product(*(range(self.modes[mode]) for mode in self.local_modes)):
            offset = [0] * len(self.shape)
            for digit, (dim, distance) in zip(digits, factors, strict=True):
                offset[dim] += digit * distance
            found.append(tuple(offset))
        return found

    def thread_offset(self, thread: int) -> tuple[int, ...]:
        """The index of the first element of a thread."""
        offset = [0] * len(self.shape)
        for dim, distance, size, step in self.thread_digits():
            offset[dim] += thread // step % size * distance
        return tuple(offset)

    def element(self, thread: int, position: int) -> tuple[int, ...]:
        """The index of an element, by its thread and its position there."""
        first, behind = self.thread_offset(thread), self.local_offsets[position]
        return tuple(a + b for a, b in zip(first, behind, strict=True))

    def get_global(self, *, spatial_index: int, local_index: int) -> list[int]:
        """The index of an element, by its thread and its position there."""
        return list(self.element(spatial_index, local_index))

    def get_spatial(self, global_indices: Sequence[int]) -> list[int]:
        """The threads that hold an element, in ascending order."""
        digits = self._digits(global_indices)
        sizes = self.spatial_shape
        threads = [0]
        for size, mode in zip(sizes, self.spatial_modes, strict=True):
            steps = range(size) if mode < 0 else (digits[mode],)
            threads = [thread * size + step for thread in threads for step in steps]
        return threads

    def get_local(self, global_indices: Sequence[int]) -> int:
        """The position of an element in its thread."""
        digits = self._digits(global_indices)
        position = 0
        for mode in self.local_modes:
            position = position * self.modes[mode] + digits[mode]
        return position

    def _digits(self, index: Sequence[int]) -> list[int]:
        """The digit of each mode at an index. Raises UserError for an index outside the tile."""
        if len(index) != len(self.shape) or any(
            not 0 <= at < size for at, size in zip(index, self.shape, strict=True)
        ):
            raise UserError(
                f"{list(index)} is not an index of a tile of shape {list(self.shape)}",
                hints=["an integer from 0 for each dimension, less than its size"],
            )
        factors = [self.factor(mode) for mode in range(len(self.modes))]
        return [
            index[dim] // step % size for (dim, step), size in zip(factors, self.modes, strict=True)
        ]

    def __mul__(self, inner: RegisterLayout) -> RegisterLayout:
        """Each element of this layout becomes a tile of `inner`. The layout of lower rank gets
        leading dimensions of size 1."""
        rank = max(len(self.shape), len(inner.shape))
        both = (self.of_rank(rank), inner.of_rank(rank))
        order = [
            (which, mode)
            for groups in zip(both[0].groups, both[1].groups, strict=True)
            for which, group in enumerate(groups)
            for mode in group
        ]
        rank_of = {key: number for number, key in enumerate(order)}
        return RegisterLayout(
            tuple(a * b for a, b in zip(both[0].shape, both[1].shape, strict=True)),
            tuple(both[which].modes[mode] for which, mode in order),
            tuple(
                mode if mode < 0 else rank_of[which, mode]
                for which in (0, 1)
                for mode in both[which].spatial_modes
            ),
            tuple(rank_of[which, mode] for which in (0, 1) for mode in both[which].local_modes),
        ).merged()

    def __truediv__(self, inner: RegisterLayout) -> RegisterLayout:
        """The layout whose product with `inner` is this one. Raises LayoutOperationError."""
        return divided(self, inner)

    def of_rank(self, rank: int) -> RegisterLayout:
        """The layout with leading dimensions of size 1, up to `rank` dimensions."""
        shape = (1,) * (rank - len(self.shape)) + self.shape
        return RegisterLayout(shape, self.modes, self.spatial_modes, self.local_modes)

    @property
    def size(self) -> int:
        """The number of elements of the tile."""
        return math.prod(self.shape)

    def spatial(self, *shape: int, ranks: Sequence[int] | None = None) -> RegisterLayout:
        """Each element of this layout becomes a tile with one thread per element."""
        return self * spatial(*shape, ranks=ranks)

    def local(self, *shape: int, ranks: Sequence[int] | None = None) -> RegisterLayout:
        """Each element of this layout becomes a tile within its thread."""
        return self * local(*shape, ranks=ranks)

    def column_spatial(self, *shape: int) -> RegisterLayout:
        """Like `spatial`, with the first dimension fastest."""
        return self * column_spatial(*shape)

    def column_local(self, *shape: int) -> RegisterLayout:
        """Like `local`, with the first dimension fastest."""
        return self * column_local(*shape)

    def permuted(self, dims: Sequence[int]) -> RegisterLayout:
        """The layout with dimension `dims[i]` as dimension i; threads keep their elements."""
        order = [mode for dim in dims for mode in self.groups[dim]]
        rank_of = {mode: number for number, mode in enumerate(order)}
        return RegisterLayout(
            tuple(self.shape[dim] for dim in dims),
            tuple(self.modes[mode] for mode in order),
            tuple(mode if mode < 0 else rank_of[mode] for mode in self.spatial_modes),
            tuple(rank_of[mode] for mode in self.local_modes),
        )

    def reduced(self, dims: Sequence[int]) -> RegisterLayout:
        """The layout with these dimensions reduced to size 1; threads along them hold replicas."""
        if any(not 0 <= dim < len(self.shape) for dim in dims):
            raise UserError(
                f"{list(dims)} are not dimensions of a layout of shape {list(self.shape)}",
                hints=["dimensions are numbered from 0"],
            )
        gone = {mode for dim in dims for mode in self.groups[dim]}
        kept = [mode for mode in range(len(self.modes)) if mode not in gone]
        rank_of = {mode: number for number, mode in enumerate(kept)}
        return RegisterLayout(
            tuple(1 if dim in dims else size for dim, size in enumerate(self.shape)),
            tuple(self.modes[mode] for mode in kept),
            tuple(
                mode if mode < 0 else rank_of.get(mode, -self.modes[mode])
                for mode in self.spatial_modes
            ),
            tuple(rank_of[mode] for mode in self.local_modes if mode in rank_of),
        ).merged()

    def reduce_to(self, shape: Sequence[int]) -> RegisterLayout:
        """The layout of a tile that broadcasts to this one; threads along the others replicate.

        Raises LayoutOperationError for a shape that does not broadcast.
        """
        lead = len(self.shape) - len(shape)
        sizes = (1,) * lead + tuple(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(sizes, self.shape, strict=True)):
            raise LayoutOperationError(
                f"reduce_to: {list(shape)} does not broadcast to {list(self.shape)}"
            )
        dims = [d for d, (n, m) in enumerate(zip(sizes, self.shape, strict=True)) if n != m]
        left = self.reduced(dims)
        return RegisterLayout(left.shape[lead:], left.modes, left.spatial_modes, left.local_modes)

    def visualize(self) -> str:
        """A picture of the layout: the thread and the position of each element."""
        return drawn(self)

    def with_shape(self, shape: Sequence[int]) -> RegisterLayout | None:
        """The layout for a tile of another shape with the same elements in order; None if a mode
        would span two dimensions."""
        split = split_modes(self.modes, shape)
        if split is None:
            return None
        modes = [size for parts in split for size in parts]
        first = list(itertools.accumulate((len(parts) for parts in split), initial=0))
        spread = {old: range(first[old], first[old + 1]) for old in range(len(self.modes))}
        return RegisterLayout(
            tuple(shape),
            tuple(modes),
            tuple(n for mode in self.spatial_modes for n in ([mode] if mode < 0 else spread[mode])),
            tuple(number for mode in self.local_modes for number in spread[mode]),
        ).merged()

    def merged(self) -> RegisterLayout:
        """The equivalent layout with the fewest modes: a canonical form for comparison."""
        layout = self
        while (shorter := _merged_once(layout)) != layout:
            layout = shorter
        return layout

    def __str__(self) -> str:
        parts = [("shape", self.shape), ("modes", self.modes)]
        parts += [("spatial", self.spatial_modes), ("local", self.local_modes)]
        return " ".join(f"{name}({','.join(map(str, values))})" for name, values in parts)


@lru_cache(maxsize=1024)
def parse_layout(text: str) -> RegisterLayout:
    """Parse the output of `str`. Raises UserError for other text."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise UserError(
            f"{text!r} is not a layout", hints=["shape(2,8) modes(2,4,2) spatial(0,1) ..."]
        )
    numbers = [tuple(map(int, part.split(","))) if part else () for part in match.groups()]
    return RegisterLayout(*numbers)


def spatial(*shape: int, ranks: Sequence[int] | None = None) -> RegisterLayout:
    """One thread per element; the dimension of the greatest rank, by default the last, is fastest.

    Raises UserError for ranks that are not a permutation of the dimensions.
    """
    return _ranked(shape, ranks, spatial=True)


def local(*shape: int, ranks: Sequence[int] | None = None) -> RegisterLayout:
    """One thread with all elements, ordered as in `spatial`."""
    return _ranked(shape, ranks, spatial=False)


def column_spatial(*shape: int) -> RegisterLayout:
    """One thread per element, the first dimension fastest."""
    return _whole(shape[::-1], spatial=True).permuted(range(len(shape))[::-1])


def column_local(*shape: int) -> RegisterLayout:
    """One thread with all elements, the first dimension fastest."""
    return _whole(shape[::-1], spatial=False).permuted(range(len(shape))[::-1])


def replicated(*shape: int, num_workers: int) -> RegisterLayout:
    """Each of `num_workers` threads holds all elements."""
    whole = local(*shape)
    return RegisterLayout(whole.shape, whole.modes, (-num_workers,), whole.local_modes)


def blocked(threads: int, shape: Sequence[int], packed: int) -> RegisterLayout:
    """The default layout: `packed` neighbors of a row per thread, threads along rows first.

    Surplus threads hold replicas. `threads` is a power of two; sizes need not be.
    """
    left = threads
    inner: list[tuple[int, int]] = []
    outer: list[int] = []
    for size in reversed(shape):
        packed = math.gcd(packed, size)
        here = math.gcd(left, size // packed)
        inner.insert(0, (here, packed))
        outer.insert(0, size // packed // here)
        left, packed = left // here, 1
    layout = local(*outer) * spatial(*(here for here, _ in inner))
    layout = layout * local(*(packed for _, packed in inner))
    if left > 1:
        layout = RegisterLayout(
            layout.shape, layout.modes, (-left, *layout.spatial_modes), layout.local_modes
        )
    return layout.merged()


def concat(lhs: RegisterLayout, rhs: RegisterLayout) -> RegisterLayout:
    """The concatenated dimensions of two layouts, with one thread per pair of threads."""
    shift = len(lhs.modes)

    def moved(modes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(mode if mode < 0 else mode + shift for mode in modes)

    return RegisterLayout(
        (*lhs.shape, *rhs.shape),
        (*lhs.modes, *rhs.modes),
        (*lhs.spatial_modes, *moved(rhs.spatial_modes)),
        (*lhs.local_modes, *moved(rhs.local_modes)),
    ).merged()


def reduce(
    layout: RegisterLayout, dims: Sequence[int], *, keepdims: bool = False
) -> RegisterLayout:
    """The layout with dimensions reduced to size 1 or removed; threads along them hold replicas."""
    left = layout.reduced(dims)
    if keepdims:
        return left
    shape = tuple(size for dim, size in enumerate(left.shape) if dim not in dims)
    return RegisterLayout(shape, left.modes, left.spatial_modes, left.local_modes)


def _ranked(shape: Sequence[int], ranks: Sequence[int] | None, *, spatial: bool) -> RegisterLayout:
    if ranks is None:
        return _whole(shape, spatial=spatial)
    if sorted(ranks) != list(range(len(shape))):
        raise UserError(
            f"ranks {list(ranks)} are not a permutation of {len(shape)} dimensions",
            hints=["each dimension once: ranks=[1, 0] of two"],
        )
    order = sorted(range(len(shape)), key=lambda dim: ranks[dim])
    whole = _whole([shape[dim] for dim in order], spatial=spatial)
    return whole.permuted(list(ranks))


def _whole(shape: Sequence[int], *, spatial: bool) -> RegisterLayout:
    if any(not isinstance(size, int) or size < 1 for size in shape):
        raise UserError(
            f"{tuple(shape)} is not a valid shape of a layout",
            hints=["sizes are integers of 1 or more: spatial(8, 4)"],
        )
    modes = tuple(size for size in shape if size > 1)
    everything = tuple(range(len(modes)))
    return RegisterLayout(
        tuple(shape), modes, everything if spatial else (), () if spatial else everything
    )


def split_modes(modes: Sequence[int], shape: Sequence[int]) -> list[list[int]] | None:
    """Factor modes so that dimensions of `shape` are products of factors; None if impossible."""
    sizes = [size for size in shape if size != 1]
    split: list[list[int]] = []
    left = sizes.pop() if sizes else 1
    for mode in reversed(modes):
        parts: list[int] = []
        while mode > 1:
            if left == 1:
                if not sizes:
                    return None
                left = sizes.pop()
            step = math.gcd(mode, left)
            if step == 1 or (step < mode and step < left):
                return None
            parts.insert(0, step)
            mode, left = mode // step, left // step
        split.insert(0, parts)
    return split if left == 1 and not sizes else None


def _merged_once(layout: RegisterLayout) -> RegisterLayout:
    """Merge the first pair of neighboring modes that can be merged."""
    for at, (a, b) in enumerate(itertools.pairwise(layout.spatial_modes)):
        if a < 0 and b < 0:
            joined = (*layout.spatial_modes[:at], -(a * b), *layout.spatial_modes[at + 2 :])
            return RegisterLayout(layout.shape, layout.modes, joined, layout.local_modes)
    for sequence in (layout.spatial_modes, layout.local_modes):
        for a, b in itertools.pairwise(sequence):
            if b == a + 1 and a >= 0 and any(a in group and b in group for group in layout.groups):
                return _joined(layout, a)
    return layout


def _joined(layout: RegisterLayout, mode: int) -> RegisterLayout:
    """Merge a mode with the next one."""
    size = layout.modes[mode] * layout.modes[mode + 1]

    def kept(given: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(old if old <= mode else old - 1 for old in given if old != mode + 1)

    modes = (*layout.modes[:mode], size, *layout.modes[mode + 2 :])
    return RegisterLayout(layout.shape, modes, kept(layout.spatial_modes), kept(layout.local_modes))
