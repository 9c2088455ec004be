# SPDX-License-Identifier: Apache-2.0
"""Run-time branches and loops: values that they change become results of `scf` operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders.tile import in_group
from xtc.ir.mlir import Block, InsertionPoint, Value, scf
from xtc.tile.transcription.kernel_ends import ended_in
from xtc.tile.transcription.slots import (
    AnySlot,
    Lost,
    Names,
    Unset,
    are_equal,
    changed,
    contents,
    forget_made,
    require_apart,
    require_same,
    slots,
    tuple_like,
    uses,
)
from xtc.tile.transcription.unchanged import origin
from xtc.tile.types import DataType
from xtc.tile.values.arithmetic import cast, data, spread
from xtc.tile.values.runtime import Data, RegisterTensor, Scalar

Frames = Sequence[Names]


def loop_slots(frames: Frames, assigned: set[str]) -> list[AnySlot]:
    """The slots that a loop carries if it assigns these names."""
    return slots(frames, assigned)


def for_loop(
    frames: Frames,
    assigned: set[str],
    bounds: Sequence[Data],
    body: Callable[[Data], None],
) -> None:
    """A loop over run-time numbers; `bounds` are start, stop and step."""
    carried = slots(frames, assigned)
    kinds = [(slot.read().dtype, slot.read().shape) for slot in carried]
    start, stop, step = (bound.value for bound in bounds)
    loop = scf.ForOp(start, stop, step, [_raw(slot.read()) for slot in carried])
    before = contents(frames)
    with InsertionPoint(loop.body):
        _give(carried, kinds, list(loop.body.arguments)[1:])
        before_it = uses(carried)
        body(Scalar(loop.body.arguments[0], bounds[0].dtype))
        require_apart(frames, carried, before_it)
        scf.yield_(_taken(carried, kinds))
    _give(carried, kinds, list(loop.results))
    require_same(before)
    forget_made(before)


def while_loop(
    frames: Frames,
    assigned: set[str],
    condition: Callable[[], Value],
    body: Callable[[], None],
) -> None:
    """A loop that runs while a run-time condition holds."""
    carried = slots(frames, assigned)
    kinds = [(slot.read().dtype, slot.read().shape) for slot in carried]
    initial = [_raw(slot.read()) for slot in carried]
    types = [value.type for value in initial]
    loop = scf.WhileOp(types, initial)
    before, after = (Block.create_at_start(region, types) for region in loop.regions)
    held = contents(frames)
    with InsertionPoint(before):
        _give(carried, kinds, list(before.arguments))
        holds = condition()
        scf.condition(holds, _taken(carried, kinds))
    with InsertionPoint(after):
        _give(carried, kinds, list(after.arguments))
        before_it = uses(carried)
        body()
        require_apart(frames, carried, before_it)
        scf.yield_(_taken(carried, kinds))
    _give(carried, kinds, list(loop.results))
    require_same(held)
    forget_made(held)


def branch(
    frames: Frames, condition: Value, bodies: tuple[Callable[[], None], Callable[[], None]]
) -> None:
    """Two run-time branches; slots that they change get the values of the branch that ran."""
    made = scf.IfOp(condition, has_else=True)
    before, held = state(frames), contents(frames)
    after: list[State] = []
    for block, body in zip((made.then_block, made.else_block), bodies, strict=True):
        with InsertionPoint(block):
            body()
        require_same(held)
        after.append(state(frames))
        restore(before, after[-1])
    merged = _Merge((made.then_block, made.else_block), after, set(before.tiles))
    positions = dict.fromkeys([*after[0].names, *after[1].names])
    owners = {**after[0].owners, **after[1].owners}
    decided = [(owners[position], merged.value(*_both(after, position))) for position in positions]
    tiles = [
        (was, merged.tile(*(state.tiles.get(number, was).value for state in after)))
        for number, was in before.tiles.items()
    ]
    results = merged.finish(made)
    for was, result in tiles:
        if result is not None:
            was.tile.value = results[result]
        was.tile.is_stale = any(
            state.tiles.get(id(was.tile), was).is_stale for state in after if not state.has_ended
        )
    for (names, key), value in decided:
        names[key] = _after(value, results)


def group(frames: Frames, begin: int, size: int, body: Callable[[], None]) -> None:
    """Transcribe the body of a thread group; only its threads know the values that it changes."""
    threads = (begin, size)
    made = scf.IfOp(in_group(begin, size))
    kept = _known_to(frames, threads)
    before, held = state(frames), contents(frames)
    with InsertionPoint(made.then_block):
        body()
        scf.yield_([])
    require_same(held)
    after = state(frames)
    restore(before, after)
    for position, (names, key) in after.owners.items():
        old, lost = before.names.get(position, _MISSING), kept.get(position)
        if not _is_same(old, after.names[position]):
            names[key] = Lost(old, (*(lost.groups if lost else ()), threads))
        elif lost:
            names[key] = lost
    for number, now in after.tiles.items():
        if number in before.tiles and origin(before.tiles[number].value) != origin(now.value):
            now.tile.lose(threads)


def _known_to(frames: Frames, threads: tuple[int, int]) -> dict[tuple[int, str], Lost]:
    """Restore the values that names have in these threads, after other threads changed them."""
    kept = {}
    for names, key, value in changed(frames):
        if isinstance(value, Lost) and value.is_known_to(threads):
            kept[id(names), key] = value
            names[key] = value.before
    return kept


def _is_same(before: Any, after: Any) -> bool:
    if (
        isinstance(before, Data)
        and isinstance(after, Data)
        and not isinstance(before, RegisterTensor)
    ):
        return bool(origin(before.value) == origin(after.value))
    return are_equal(before, after)


@dataclass(eq=False)
class _Handed:
    """A result of the branch, by its index, with its value in each."""

    number: int
    dtype: DataType
    shape: tuple[int, ...]
    sides: tuple[Any, ...]
    made: Data | None = None

    def of(self, results: Sequence[Value]) -> Data:
        """The same tile or number each time."""
        if self.made is None:
            value = results[self.number]
            self.made = Scalar(value, self.dtype)
            if self.shape:
                self.made = RegisterTensor(value, self.dtype, self.shape).may_be(*self.sides)
        return self.made


def _after(value: Any, results: Sequence[Value]) -> Any:
    """The value of a name after a branch with these results."""
    if isinstance(value, tuple) and any(isinstance(part, _Handed | tuple) for part in value):
        return tuple_like(value, (_after(part, results) for part in value))
    return value.of(results) if isinstance(value, _Handed) else value


@dataclass
class State:
    """The value of every name and of every tile."""

    names: dict[tuple[int, str], Any]
    owners: dict[tuple[int, str], tuple[Names, str]]
    tiles: dict[int, _Tile]
    has_ended: bool


@dataclass(frozen=True)
class _Tile:
    """A tile, its value, and whether it may not be read."""

    tile: RegisterTensor
    value: Value
    is_stale: bool


def state(frames: Frames) -> State:
    """What names, attributes, elements and tiles hold now."""
    names, owners = {}, {}
    for holder, key, value in changed(frames):
        names[id(holder), key] = value
        owners[id(holder), key] = (holder, key)
    found = [slot.tile for slot in slots(frames, set()) if hasattr(slot, "tile")]
    tiles = {id(tile): _Tile(tile, tile.raw, tile.is_stale) for tile in found}
    return State(names, owners, tiles, ended_in(frames) is True)


def restore(before: State, after: State) -> None:
    """Let names, attributes, elements and tiles hold what they held before."""
    for position, (names, key) in after.owners.items():
        if position in before.names:
            names[key] = before.names[position]
        else:
            del names[key]
    for held in before.tiles.values():
        held.tile.value, held.tile.is_stale = held.value, held.is_stale


def _both(states: Sequence[State], position: tuple[int, str]) -> list[Any]:
    return [state.names.get(position, _MISSING) for state in states]


_MISSING = Unset()


class _Merge:
    """Collects the values that two branches yield. If one has ended the kernel, the code after it
    does not run, so it yields any value."""

    def __init__(
        self, blocks: tuple[Block, Block], after: Sequence[State], known: set[int]
    ) -> None:
        self.blocks, self.after, self.known = blocks, after, known
        self.ended = [state.has_ended for state in after]
        self.yields: list[tuple[Value, Value]] = []
        self.handed: dict[tuple[int, int], _Handed] = {}

    def value(self, left: Any, right: Any) -> Any:
        """The value of a name after both branches, or the index of a result."""
        found = self._of_both(left, right)
        if found is _MISSING and self.ended[0] != self.ended[1]:
            return self._of_other(right if self.ended[0] else left, int(self.ended[1]))
        return found

    def _of_both(self, left: Any, right: Any) -> Any:
        if are_equal(left, right):
            return left
        if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
            parts = tuple_like(left, map(self._of_both, left, right))
            return _MISSING if any(part is _MISSING for part in parts) else parts
        pair = id(left), id(right)
        if pair in self.handed:  # two names of one tile in each branch, and so behind them
            return self.handed[pair]
        numbers = (Data, bool, int, float)
        if not isinstance(left, numbers) or not isinstance(right, numbers):
            return _MISSING
        like = left if isinstance(left, Data) else right if isinstance(right, Data) else None
        sides = [self._as_data(value, like, n) for n, value in enumerate((left, right))]
        if sides[0].dtype != sides[1].dtype or sides[0].shape != sides[1].shape:
            return _MISSING
        self.yields.append((_raw(sides[0]), _raw(sides[1])))
        made = _Handed(len(self.yields) - 1, sides[0].dtype, sides[0].shape, (left, right))
        self.handed[pair] = made
        return made

    def _of_other(self, value: Any, ended: int) -> Any:
        """The value of a name that only the branch that does not end the kernel has set."""
        if not isinstance(value, Data):
            return value if isinstance(value, str | int | float | None) else _MISSING
        if id(value) in self.known:
            return value
        with InsertionPoint(self.blocks[ended]):
            nothing = spread(cast(0, value.dtype), value.shape)
        self.yields.append((value.value, nothing.value) if ended else (nothing.value, value.value))
        return _Handed(len(self.yields) - 1, value.dtype, value.shape, (value,))

    def tile(self, left: Value, right: Value) -> int | None:
        """The index of a tile's result; None if neither branch changes it."""
        if left == right:
            return None
        self.yields.append((left, right))
        return len(self.yields) - 1

    def _as_data(self, value: Any, like: Data | None, side: int) -> Data:
        """The value of a name at the end of a branch: a tile may have changed there."""
        if id(value) in self.known:
            return RegisterTensor(self.after[side].tiles[id(value)].value, value.dtype, value.shape)
        with InsertionPoint(self.blocks[side]):
            found = data(value, None if like is None else like.dtype)
            return found if like is None or like.shape or found.shape else cast(found, like.dtype)

    def finish(self, made: Any) -> list[Value]:
        """Rebuild the operation with results, and return them."""
        types = [left.type for left, _ in self.yields]
        whole = scf.IfOp(made.operation.operands[0], types, has_else=True)
        for side, block in enumerate((whole.then_block, whole.else_block)):
            with InsertionPoint(block):
                end = scf.YieldOp([pair[side] for pair in self.yields]).operation
            for op in list(self.blocks[side].operations):
                op.operation.move_before(end)
        made.operation.erase()
        return list(whole.results)


def _give(carried: Sequence[AnySlot], kinds: Sequence[Any], values: Sequence[Value]) -> None:
    for slot, (dtype, shape), value in zip(carried, kinds, values, strict=True):
        slot.write(value, dtype, shape)


def _taken(carried: Sequence[AnySlot], kinds: Sequence[Any]) -> list[Value]:
    """The values that an iteration yields. Raises UserError if a type has changed."""
    values = []
    for slot, (dtype, shape) in zip(carried, kinds, strict=True):
        found = slot.read()
        if not shape and not found.shape:
            found = cast(found, dtype) if _keeps(found, dtype) else found
        if (found.dtype, found.shape) != (dtype, shape):
            was = (
                Scalar(found.value, dtype)
                if not shape
                else RegisterTensor(found.value, dtype, shape)
            )
            raise UserError(
                f"'{getattr(slot, 'key', 'a tile')}' is {was!r} before the loop, and {found!r} "
                "after an iteration",
                hints=[_same_kind(shape, found.shape)],
            )
        values.append(_raw(found))
    return values


def _same_kind(before: Sequence[int], after: Sequence[int]) -> str:
    if list(before) == list(after):
        return "cast it, or annotate the variable: x: float32 = 0"
    return (
        "begin with a tile of this shape, self.register_tensor(dtype=, shape=, init=0), or write "
        "the loop out by self.range(..., unroll='all')"
    )


def _raw(value: Data) -> Value:
    """The value of what is handed on, whether or not it may be read."""
    return value.raw if isinstance(value, RegisterTensor) else value.value


def _keeps(found: Data, dtype: DataType) -> bool:
    """Whether a scalar is implicitly converted to the type of the variable."""
    return found.dtype.kind == dtype.kind == "int"
