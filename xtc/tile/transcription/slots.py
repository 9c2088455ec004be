# SPDX-License-Identifier: Apache-2.0
"""Slots that loops and branches may change: names, attributes, elements of lists, and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xtc.core.errors import UserError
from xtc.tile.classes import Class
from xtc.tile.instructions.block import Instructions
from xtc.tile.transcription.rebinding import ELEMENTS, rebound
from xtc.tile.types import DataType
from xtc.tile.values.arithmetic import data
from xtc.tile.values.runtime import Data, RegisterTensor, Scalar, apart, stale

if TYPE_CHECKING:
    from xtc.ir.mlir import Value

Names = MutableMapping[str, Any]


class Unset:
    """The value of a name that only one of two branches has set."""

    def __repr__(self) -> str:
        return "a value that only one branch has set"


@dataclass(eq=False)
class Lost(Unset):
    """The value of a name after thread groups have set it.

    Attributes:
        before: its value in other threads.
        groups: the first thread and the size of each.
    """

    before: Any
    groups: tuple[tuple[int, int], ...]

    def is_known_to(self, threads: tuple[int, int]) -> bool:
        """Whether none of these threads has set it."""
        return all(apart(threads, group) for group in self.groups)

    def __repr__(self) -> str:
        return "a value that was set in a thread group, and is known only to its threads"


class Ended(Class):
    """Whether the kernel has ended: False, True, or a run-time number."""

    ended: Any = False

    def __init__(self) -> None:
        self.ended = False


@dataclass(eq=False)
class Slot:
    """A name, an attribute or an element of a list or dictionary that holds run-time data."""

    names: Any
    key: Any
    given: Any = field(default=None, init=False)

    def held(self) -> Any:
        """What it holds."""
        return self.names[self.key]

    def hold(self, value: Data) -> None:
        """Let it hold this."""
        self.names[self.key] = value

    def read(self) -> Data:
        """The current value. Raises UserError if it is no longer run-time data."""
        found = self.held()
        if isinstance(found, bool | int | float):
            found = data(found)
            self.hold(found)
        if isinstance(found, Lost):
            raise UserError(
                f"'{self.key}' changes in a thread group, from one iteration to the next",
                notes=["the threads outside of the group would have another value"],
                hints=[
                    "change it outside of the group, where all threads compute it, or write the "
                    "loop within the group"
                ],
            )
        if not isinstance(found, Data):
            raise UserError(
                f"'{self.key}' was run-time data before, and is {found!r} now",
                hints=["let the name have the same kind of value in all branches and iterations"],
            )
        return found

    def write(self, value: Value, dtype: DataType, shape: tuple[int, ...]) -> None:
        """Set the value."""
        if not shape:
            self.hold(Scalar(value, dtype))
            return
        made = RegisterTensor(value, dtype, shape).may_be(self.given, self.held())
        self.given = made
        self.hold(made)


@dataclass(eq=False)
class PartSlot(Slot):
    """An element of a tuple that is the value of a name, an attribute or an element of a list.

    Attributes:
        at: its index.
        count: the length of the tuple.
    """

    at: int = 0
    count: int = 0

    def held(self) -> Any:
        """The current value. Raises UserError if the length of the tuple has changed."""
        whole = self.names[self.key]
        if not isinstance(whole, tuple) or len(whole) != self.count:
            raise UserError(
                f"'{self.key}' was a tuple of {self.count} before, and is {whole!r} now",
                hints=["let it keep its length, or use another name"],
            )
        return whole[self.at]

    def hold(self, value: Data) -> None:
        """Replace the tuple."""
        whole = self.names[self.key]
        self.names[self.key] = tuple_like(whole, (*whole[: self.at], value, *whole[self.at + 1 :]))


def tuple_like(whole: tuple[Any, ...], parts: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of these parts, with the names of another one, if it has names."""
    make: Callable[[Iterable[Any]], tuple[Any, ...]] = getattr(type(whole), "_make", tuple)
    return make(parts)


@dataclass(eq=False)
class TileSlot:
    """A tile that instructions may write by `out=`."""

    tile: RegisterTensor

    def read(self) -> Data:
        """The tile."""
        return self.tile

    def write(self, value: Value, dtype: DataType, shape: tuple[int, ...]) -> None:
        """Set the value."""
        self.tile.value = value


AnySlot = Slot | TileSlot


def slots(frames: Sequence[Names], assigned: set[str]) -> list[AnySlot]:
    """The slots that code of the innermost frame that assigns these names may change.

    Numbers among the names become run-time data.
    """
    found: list[AnySlot] = []
    own = frames[-1]
    for name in sorted(assigned & set(own)):
        made = _slots_at(own, name, own[name])
        for slot in made:
            slot.read()
        found += made
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
    rebinding: set[str] = set()
    for value in seen.values():
        if isinstance(value, Instructions):
            kind: Any = type(value)
            rebinding |= rebound(kind)
    for value in seen.values():
        if isinstance(value, RegisterTensor):
            found += [] if value.is_lost else [TileSlot(value)]
        else:
            for key, part in _items(value):
                if isinstance(part, Scalar) or _may_be_another(value, key, part, rebinding):
                    found += _slots_at(_held(value), key, part)
    return found


def _slots_at(holder: Any, key: Any, value: Any) -> list[Slot]:
    """The slots of a value at a key: one, or one for each element of a tuple with data."""
    if isinstance(value, _NUMBERS):
        return [Slot(holder, key)]
    if not _has_data(value):
        return []
    count = len(value)
    return [
        PartSlot(holder, key, at, count)
        for at, part in enumerate(value)
        if isinstance(part, _NUMBERS)
    ]


_NUMBERS = (Data, bool, int, float)


def _has_data(value: Any) -> bool:
    """Whether a value is a tuple with run-time data."""
    return isinstance(value, tuple) and any(isinstance(part, Data) for part in value)


def _may_be_another(holder: Any, key: Any, part: Any, rebinding: set[str]) -> bool:
    """Whether the tile, or tuple, of a container at a key may be replaced in an iteration."""
    name = key if isinstance(holder, Instructions) else ELEMENTS
    return (isinstance(part, RegisterTensor) or _has_data(part)) and name in rebinding


def contents(frames: Sequence[Names]) -> dict[int, tuple[Any, dict[Any, Any]]]:
    """The contents of lists, dictionaries and attributes of objects."""
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
    return {
        key: (value, dict(_items(value)))
        for key, value in seen.items()
        if isinstance(value, _HOLDERS) and not isinstance(value, Ended)
    }


def require_same(before: dict[int, tuple[Any, dict[Any, Any]]]) -> None:
    """Raise UserError if one was changed in a run-time loop or branch and does not hold run-time
    data of the same type."""
    for value, parts in before.values():
        now = dict(_items(value))
        made = made_since(parts, now) if isinstance(value, Instructions) else set()
        changed = [key for key in {**parts, **now} if not _is_kept(parts, now, key)]
        changed = [key for key in changed if key not in made]
        if changed:
            what = "element" if isinstance(value, list | dict) else "attribute"
            raise UserError(
                f"{what} {changed[0]!r} of a {type(value).__name__} is changed in a run-time loop "
                "or branch",
                notes=["only run-time numbers and tiles may change there"],
                hints=[
                    "declare a number with its type, as int32(0), or unroll the loop: "
                    "self.range(..., unroll='all')"
                ],
            )


def forget_set(names: Names, before: Mapping[str, Any], read: Set[tuple[str, int]]) -> None:
    """Unset the names that an iteration has set, except for those that the loop carries.

    Raises UserError if the iteration has read a name before setting it (`read` has the name and the
    value read), and the value is neither a number nor a tile.
    """
    for name, value in list(names.items()):
        old = before.get(name, names)
        if old is value or isinstance(old, Data) or _is_constant(old, value):
            continue
        if _has_data(old) and are_alike(old, value):
            continue
        if (name, id(old)) in read:
            raise UserError(
                f"'{name}' is {old!r} before an iteration, and {value!r} after it",
                notes=["from one iteration to the next, only numbers and tiles may change"],
                hints=[
                    "select by a number, as slots[number % 2], or use self.range(..., unroll='all')"
                ],
            )
        names[name] = Unset()


def _is_constant(old: Any, new: Any) -> bool:
    """Whether a name has the same constant value as before."""
    return type(old) is type(new) and isinstance(old, str | int | float | None) and old == new


def forget_made(before: dict[int, tuple[Any, dict[Any, Any]]]) -> None:
    """Unset the attributes that an iteration has created."""
    for value, parts in before.values():
        if isinstance(value, Instructions):
            vars(value).update({key: Unset() for key in made_since(parts, vars(value))})


def _is_kept(before: dict[Any, Any], now: dict[Any, Any], key: Any) -> bool:
    if key not in before or key not in now:
        return False
    return are_alike(_before_groups(before[key]), _before_groups(now[key]))


def _before_groups(value: Any) -> Any:
    """The value in threads that were in none of the groups that set it."""
    return _before_groups(value.before) if isinstance(value, Lost) else value


def are_alike(left: Any, right: Any) -> bool:
    """Whether both are the same, or both run-time data, or tuples of such."""
    if isinstance(left, Data) and isinstance(right, Data):
        return True
    if _has_data(left) and isinstance(right, tuple) and len(left) == len(right):
        return all(
            are_alike(a, b) or (isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS))
            for a, b in zip(left, right, strict=True)
        )
    return are_equal(left, right)


def are_equal(left: Any, right: Any) -> bool:
    """Whether both are the same constant, or lists, tuples or dictionaries of the same things."""
    if left is right:
        return True
    if type(left) is not type(right) or isinstance(left, Data):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(are_equal(left[k], right[k]) for k in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(are_equal, left, right))
    return bool(left == right)


_HOLDERS = (list, dict, Instructions)


def _held(value: Any) -> Any:
    """The mapping or list with the elements or attributes of a container."""
    return vars(value) if isinstance(value, Instructions) else value


def _items(value: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a container; those of a tuple never change."""
    if isinstance(value, list):
        return list(enumerate(value))
    return list(_held(value).items()) if isinstance(value, _HOLDERS) else []


def _visit(value: Any, seen: dict[int, Any]) -> None:
    if id(value) in seen or not isinstance(value, (*_HOLDERS, tuple, RegisterTensor)):
        return
    seen[id(value)] = value
    for part in value if isinstance(value, tuple) else [part for _, part in _items(value)]:
        _visit(part, seen)


def changed(frames: Sequence[Names]) -> Iterator[tuple[Any, Any, Any]]:
    """Every name of the innermost frame, attribute of an object and element of a list or
    dictionary, with its value."""
    yield from ((frames[-1], name, value) for name, value in list(frames[-1].items()))
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
    for value in seen.values():
        if isinstance(value, _HOLDERS):
            yield from ((_held(value), key, part) for key, part in _items(value))


def uses(carried: Sequence[AnySlot]) -> dict[int, tuple[int, int]]:
    """How often tiles that a loop may change were changed and read, by the tiles' identity."""
    tiles = [slot.tile for slot in carried if isinstance(slot, TileSlot)]
    return {id(tile): (tile.changes, tile.reads) for tile in tiles}


def require_apart(
    frames: Sequence[Names], carried: Sequence[AnySlot], before: Mapping[int, tuple[int, int]]
) -> None:
    """Raise UserError if the next iteration would change, or read, a tile that has two names.

    Each name has a separate tile from one iteration to the next. `before` has the uses of tiles
    before the iteration.
    """
    for slot in carried:
        last: Any = slot.tile if isinstance(slot, TileSlot) else slot.held()
        given = last if isinstance(slot, TileSlot) else slot.given
        if not isinstance(last, RegisterTensor) or not isinstance(given, RegisterTensor):
            continue
        changes, reads = before.get(id(last), (last.changes, last.reads))
        if last.is_stale and given.reads > (reads if given is last else 0):
            raise stale(last)
        is_changed = last is not given and (given.changes or last.changes > changes)
        if is_changed and _has_another_name(last, given, frames):
            raise UserError(
                f"'{getattr(slot, 'key', '')}' is another name of {last!r} after an iteration, "
                "and an iteration changes this tile itself",
                notes=["each name has a separate tile from one iteration to the next"],
                hints=["x = x + y binds x to another tile; x += y changes the tile itself"],
            )


def _has_another_name(tile: RegisterTensor, given: RegisterTensor, frames: Sequence[Names]) -> bool:
    """Whether two names have, or may have, a tile, which is not the one that an iteration got."""
    others = set(tile.storages) - set(given.storages)
    found = [each for each in _reachable(frames) if isinstance(each, RegisterTensor)]
    return sum(each is tile for each in found) > 1 or any(
        each is not tile and not others.isdisjoint(each.storages) for each in found
    )


def _reachable(frames: Sequence[Names]) -> Iterator[Any]:
    """The value of each name, attribute and element."""
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
            yield value
    for value in seen.values():
        yield from value if isinstance(value, tuple) else (part for _, part in _items(value))


def made_since(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> set[Any]:
    """The names that have a value now and had none before."""
    return {
        name
        for name, value in now.items()
        if name not in before or (isinstance(before[name], Unset) and value is not before[name])
    }
