# SPDX-License-Identifier: Apache-2.0
"""The scheduling primitives of one operator, each with its loops before and after.

The order of calls does not matter: a schedule is a set of tiles, a loop order and annotations. A
mistake that no later call can repair raises at once; other checks happen when the schedule is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from typing_extensions import Self

from xtc.core.errors import UserError, shown
from xtc.core.location import user_location
from xtc.loops import ALL, NestLoop, nest_data, nest_text
from xtc.loops.check_operands import check_number
from xtc.loops.external import External, function_name
from xtc.schedule.loop_names import check_loop_name
from xtc.schedule.node_state import NodeState
from xtc.schedule.values import MAX_MAGNITUDE, files, integer, integers, joined, text, texts


@dataclass(eq=False)
class NodeSchedule(NodeState):
    """The loop nest of one operator, or of a segment of it, built by scheduling primitives."""

    @property
    def data(self) -> str:
        """The loop nest as one line of YAML, with the operator's original axis names."""
        return nest_data(self.nest.renamed(self._own))

    def set_dims(self, names: Sequence[str]) -> Self:
        """Rename the axes, in the operator's order; loops over whole axes are renamed too."""

        def change() -> None:
            given = texts(names, "set_dims", "names")
            if len(given) != len(self.axes) or len(set(given)) != len(given):
                raise UserError(
                    f"set_dims of {self.node} takes {len(self.axes)} distinct names",
                    notes=[f"its axes are {', '.join(self.dims)}"],
                )
            if self._parent or self._parts or any(loop.tile is not None for loop in self._loops):
                raise UserError(f"set_dims of {self.node} comes after other scheduling calls")
            for name in given:
                check_loop_name(name, self.node)
            new = dict(zip(self.dims, given, strict=True))
            self.space = self.space.renamed(new)
            self._own = {new[name]: own for name, own in self._own.items()}
            self._loops = [
                replace(loop, axis=new[loop.axis], name=new[loop.axis]) for loop in self._loops
            ]

        return self._checked(change)

    def strip_mine(self, dim: str, tiles: Mapping[str, int]) -> Self:
        """Tile `dim`: add loops over its tiles innermost, larger tiles first.

        for i in 0..512              for i in 0..512 step 4
          for j in 0..512      ->      for j in 0..512
                                         for i1 in 0..4       strip_mine("i", {"i1": 4})
        """

        return self._tile("strip_mine", dim, tiles)

    def tile(self, dim: str, tiles: Mapping[str, int]) -> Self:
        """An alias of `strip_mine`."""
        return self._tile("tile", dim, tiles)

    def split(self, dim: str, segments: Mapping[str, int]) -> dict[str, NodeSchedule]:
        """Split `dim` into separately scheduled segments that begin at the offsets in `segments`.

            for i in 0..512      ->      i[0:500]:   for i in 0..500
              body                       i[500:512]: for i in 0..12

        Loops inside the loop over `dim` move into every segment. If `dim` is a tile loop, each tile
        is split. Returns the schedules by name:
        `low, high = op.split("i", {"low": 0, "high": 500}).values()`.
        """
        children: dict[str, NodeSchedule] = {}

        def change() -> None:
            starts = integers(segments, "split", "starts of segments by name")
            if not starts:
                raise UserError(f"split of '{dim}' of {self.node} names no segment")
            if self._parts:
                raise UserError(f"{self.node} is already split", hints=["split its segments"])
            loop = self._divided(dim)
            position = self._loops.index(loop)
            inner, self._loops = self._loops[position:], self._loops[:position]
            if loop.tile is not None:
                self._loops.append(NestLoop(loop.axis, loop.tile, loop.name))
                inner[0] = replace(loop, tile=None)
            stops = [*list(starts.values())[1:], loop.tile or self.space.size(loop.axis)]
            for (name, start), stop in zip(starts.items(), stops, strict=True):
                child = NodeSchedule(
                    self.node,
                    self.space,
                    list(inner),
                    _parent=self,
                    _own=self._own,
                    _vectors=set(self._vectors),
                )
                children[name] = child
                self._parts.append((loop.axis, start, stop, child))

        self._checked(change)
        return children

    def _divided(self, dim: object) -> NestLoop:
        """The loop to split: over an axis, or over a tile of it."""
        for loop in self._loops:
            if loop.name == dim:
                return loop
        axis = self._axis(dim)
        return next(loop for loop in self._loops if loop.axis == axis)

    def interchange(self, order: Sequence[str]) -> Self:
        """Reorder the loops, from the outermost to the innermost; `order` names all of them.

        for i in 0..512              for j in 0..512
          for j in 0..512      ->      for i in 0..512          interchange(["j", "i"])
        """

        def change() -> None:
            given = texts(order, "interchange", "loops")
            missing = [name for name in self.loops if name not in (*given, *self._vectors)]
            if missing or len(set(given)) < len(given):
                what = f"'{missing[0]}' is missing" if missing else "a loop is named twice"
                raise UserError(
                    f"interchange of {self.node}: {what}",
                    hints=[f"name each once: {', '.join(self.loops)}"],
                )
            self._when_there(given, lambda: self._reorder(given))

        return self._checked(change)

    def _reorder(self, order: tuple[str, ...]) -> None:
        """Put the loops in this order; loops created since then stay innermost."""
        by_name = {loop.name: loop for loop in self._loops}
        later = [loop for loop in self._loops if loop.name not in order]  # or made by vectorize
        self._loops = [*(by_name[name] for name in order), *later]

    def vectorize(
        self, loops: Sequence[str] | Mapping[str, int | None], *, reassociate: bool = False
    ) -> Self:
        """Run the innermost `loops` as vector instructions.

        for j1 in 0..16              vector over j1
          c[j1] += a * b[j1]   ->      c[0:16] += a * b[0:16]      vectorize(["j1"])

        A mapping gives the vector length in elements; a remainder gets a shorter vector.
        `vectorize({"j": 16})` tiles `j` by 16, innermost, and vectorizes the tile.

        If a loop is over a reduction dimension, its vectors hold partial sums; `reassociate` allows
        this for floats, whose sums depend on the order of additions.
        """
        change_loop = partial(replace, vectorize=True, reassociate=reassociate)
        if not isinstance(loops, Mapping):
            return self._annotate(loops, "vectorize", change_loop)

        def change() -> None:
            for name, width in loops.items():
                if width is None or width is True:
                    self._replace(text(name), change_loop)
                elif width is False:
                    continue
                else:
                    size = integer(width, f"vectorize: the number of {shown(name)}")
                    result = partial(self._by_width, text(name), size, change_loop)
                    self._when_there((text(name),), result)

        return self._checked(change)

    def _by_width(self, name: str, width: int, change: Callable[[NestLoop], NestLoop]) -> None:
        """Vectorize with `width` elements: a tile of the loop, or the whole loop."""
        loop = self._loop(name)
        if 0 < width < (loop.tile or self.space.size(loop.axis)):
            vector = f"{name}_{width}"
            self._check_new(vector)
            where = user_location()
            self._loops.append(change(NestLoop(loop.axis, width, vector, where=where)))
            self._vectors.add(vector)
        elif width < 1:
            raise UserError(f"'{name}' of {self.node} cannot be vectorized by {width} elements")
        else:
            self._replace(name, change)

    def parallelize(self, loops: Sequence[str]) -> Self:
        """Run the iterations of the outermost `loops` on several threads.

        for i in 0..512      ->      parallel for i in 0..512      parallelize(["i"])
        """
        return self._annotate(loops, "parallelize", partial(replace, parallelize=True))

    def unroll(self, factors: Mapping[str, int | bool]) -> Self:
        """Unroll loops: replicate their bodies.

        for k1 in 0..2               body(0)
          body(k1)             ->    body(1)                       unroll({"k1": 2})

        A factor of 0 cancels an earlier call: the loop is not unrolled. True unrolls completely,
        False means 0.
        """

        def change() -> None:
            all_or_none = {True: MAX_MAGNITUDE, False: 0}
            given = integers(factors, "unroll", "factors by loop", all_or_none)
            for name, factor in given.items():
                if factor < 0:
                    raise UserError(f"'{name}' of {self.node} cannot be unrolled by {factor}")
                whole = factor == MAX_MAGNITUDE
                self._replace(name, partial(replace, unroll=ALL if whole else factor))

        return self._checked(change)

    def buffer_at(self, loop: str) -> Self:
        """Compute the result's tile inside `loop` in a local buffer, with copies in and out.

        for i                        for i
          for k                        buffer = c[i]
            c[i] += ...        ->      for k
                                         buffer += ...
                                       c[i] = buffer               buffer_at("i")
        """
        return self._annotate([loop], "buffer_at", partial(replace, buffer=True))

    def pack_at(self, loop: str, operand: int) -> Self:
        """Pack the operand's tile into a dense buffer inside `loop`; operands are numbered from 0.

        for j                        for j
          for k                        packed = b[:, j]
            ... b[k, j]        ->      for k
                                         ... packed[k]             pack_at("j", 1)
        """

        def packed(old: NestLoop) -> NestLoop:
            return replace(old, pack=joined(old.pack, self._operand(operand, "pack", old.name)))

        return self._annotate([loop], "pack_at", packed)

    def fuse_producer_at(self, loop: str, operand: int) -> Self:
        """Fuse the producer of an operand into `loop`: compute it tile by tile instead of whole.

        for i: p[i] = f(i)           for i
        for i: c[i] = g(p[i])  ->      p = f(i)
                                       c[i] = g(p)                 fuse_producer_at("i", 0)
        """

        def fused(old: NestLoop) -> NestLoop:
            return replace(old, fuse=joined(old.fuse, self._operand(operand, "fuse", old.name)))

        return self._annotate([loop], "fuse_producer_at", fused)

    def fuse_consumer_at(self, loop: str) -> Self:
        """Fuse the consumer of the result into `loop`: compute it for each complete tile.

        for i: c[i] = f(i)           for i
        for i: r[i] = g(c[i])  ->      c[i] = f(i)
                                       r[i] = g(c[i])              fuse_consumer_at("i")

        The consumer is the only one, elementwise and without a schedule. The loops outside `loop`
        are over axes of the result.
        """
        return self._annotate([loop], "fuse_consumer_at", partial(replace, consumer=True))

    def external_at(
        self, loop: str, function: str, *, sources: object = (), flags: Sequence[str] = ()
    ) -> Self:
        """Replace the body of `loop` by a call of a C function in each iteration.

        for k1                       for k1
          for i1                       f(&c[i, j], &a[i, k], &b[k, j],
            for j1             ->        extents, strides)
              c += a * b                                           external_at("k1", "f")

        `sources` are C or assembly files that define it, `flags` the compiler's options for them.
        Its signature, for loops inside over i and j and a float32 matmul:

            int32_t f(float *c, const float *a, const float *b, int64_t extent_i, int64_t extent_j,
                      int64_t c_stride_i, int64_t c_stride_j, int64_t a_stride_i, ...)

        It computes the operator on this tile, and so accumulates into `c` for a reduction. Axes are
        in the operator's order. Strides are in elements, 0 if an axis does not index an operand. It
        returns 0; any other status makes the call fail.
        """

        def change() -> None:
            name = function_name(function, text(loop))
            words = texts(flags, "external_at", "flags of the compiler")
            external = External(name, files(sources, "external_at"), words)
            self._replace(loop, partial(replace, external=external))

        return self._checked(change)

    def distribute(self, loops: Mapping[str, str] | str, processor_axis: str | None = None) -> Self:
        """Distribute the iterations of loops over processors along axes of the processor mesh.

        for i in 0..4 step 2         for i in 0..4 step 2, one iteration per index of psx
          for j in 0..8        ->      for j in 0..8, one iteration per index of psy
            body                         body          distribute({"i": "psx", "j": "psy"})

        Loops over mesh axes that cross memories are outermost; loops over the processors of one
        memory are adjacent. `distribute("i", "px")` distributes one loop.
        """

        def change() -> None:
            given = loops if processor_axis is None else {text(loops): processor_axis}
            if not isinstance(given, Mapping) or not given:
                raise UserError(
                    f"distribute of {self.node} takes axes of the processor mesh by loop, "
                    f"not {shown(given)}",
                    hints=['distribute({"i": "px"}) or distribute("i", "px")'],
                )
            for name, axis in given.items():
                self._replace(text(name), partial(self._distributed, text(axis)))

        return self._checked(change)

    def distributed_buffer_at(self, loop: str, operand: int, axes: Sequence[str]) -> Self:
        """Shard an operand over the memories of the memory mesh; each shard is copied there once.

        for i, over px               b's rows i are copied to memory i
          for j                ->    for i, over px
            ... b[i, j]                for j
                                         ... b[i, j]   distributed_buffer_at("i", 1, ["mx", "*"])

        `axes` has an axis of the memory mesh for each dimension of the operand, or "*" for one that
        is not sharded. The loop encloses the loops over the processors of one memory.
        """

        def change() -> None:
            names = texts(axes, "distributed_buffer_at", "axes")
            number = integer(operand, "the operand of distributed_buffer_at")
            self._replace(text(loop), partial(self._shard, (number, names)))

        return self._checked(change)

    def _distributed(self, axis: str, old: NestLoop) -> NestLoop:
        if old.distribute not in ("", axis):
            raise UserError(
                f"'{old.name}' of {self.node} is already distributed over '{old.distribute}'"
            )
        return replace(old, distribute=axis)

    def _shard(self, entry: tuple[int, tuple[str, ...]], old: NestLoop) -> NestLoop:
        if any(entry[0] == number for number, _ in old.shard):
            raise UserError(
                f"operand {entry[0]} of {self.node} is distributed at '{old.name}' twice"
            )
        return replace(old, shard=(*old.shard, entry))

    def __str__(self) -> str:
        return nest_text(self.nest, self.node)

    def _tile(self, word: str, dim: str, tiles: Mapping[str, int]) -> Self:
        def change() -> None:
            axis = self._axis(dim)
            sizes = integers(tiles, word, "tile sizes by name")
            where = user_location()
            for name, size in sizes.items():
                self._check_new(name)
                self._loops.insert(self._inside(), NestLoop(axis, size, name, where=where))

        return self._checked(change)

    def _inside(self) -> int:
        """The position of the next loop: innermost, but outside vectors with a given width."""
        return next(
            (at for at, loop in enumerate(self._loops) if loop.name in self._vectors),
            len(self._loops),
        )

    def _annotate(
        self, names: Sequence[str], what: str, change: Callable[[NestLoop], NestLoop]
    ) -> Self:
        def change_all() -> None:
            for name in texts([names] if isinstance(names, str) else names, what, "loops"):
                self._replace(name, change)

        return self._checked(change_all)

    def _operand(self, operand: object, word: str, loop: str) -> int:
        """The number of an existing operand. Raises UserError otherwise."""
        number = integer(operand, f"the operand of {word}_at")
        check_number(self.space, number, word, loop, self.node)
        return number
