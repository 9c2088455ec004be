# SPDX-License-Identifier: Apache-2.0
"""Slots that loops and branches may change: names, attributes, elements of lists, and tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xtc.core.errors import UserError
from xtc.tile.arithmetic import data
from xtc.tile.classes import Class
from xtc.tile.instructions import Instructions
from xtc.tile.rebinding import ELEMENTS, rebound
from xtc.tile.types import DataType
from xtc.tile.values import Data, RegisterTensor, Scalar, apart

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

    def read(self) -> Data:
        """The current value. Raises UserError if it is no longer run-time data."""
        found = self.names[self.key]
        if isinstance(found, bool | int | float):
            found = data(found)
            self.names[self.key] = found
        if not isinstance(found, Data):
            raise UserError(
                f"'{self.key}' was run-time data before, and is {found!r} now",
                hints=["let the name have the same kind of value in all branches and iterations"],
            )
        return found

    def write(self, value: Value, dtype: DataType, shape: tuple[int, ...]) -> None:
        """Set the value."""
        made = RegisterTensor(value, dtype, shape) if shape else Scalar(value, dtype)
        self.names[self.key] = made


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
        if isinstance(own[name], Data | bool | int | float):
            slot = Slot(own, name)
            slot.read()
            found.append(slot)
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
            found += [
                Slot(_held(value), key)
                for key, part in _items(value)
                if isinstance(part, Scalar) or _may_be_another(value, key, part, rebinding)
            ]
    return found


def _may_be_another(holder: Any, key: Any, part: Any, rebinding: set[str]) -> bool:
    """Whether the tile of a container at a key may be replaced in an iteration."""
    name = key if isinstance(holder, Instructions) else ELEMENTS
    return isinstance(part, RegisterTensor) and name in rebinding


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
                hints=["declare a number with its type, as int32(0), or loop over constants"],
            )


def forget_set(names: Names, before: Mapping[str, Any], read: Set[tuple[str, int]]) -> None:
    """Unset the names that an iteration has set, except for those that the loop carries.
    Raises UserError for a name with a value other than numbers or tiles that the iteration has read

    (`read` has the name and that value) before it set it.
    """
    for name, value in list(names.items()):
        old = before.get(name, names)
        if old is value or isinstance(old, Data) or _is_constant(old, value):
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
    a, b = before[key], now[key]
    return a is b or (isinstance(a, Data) and isinstance(b, Data)) or bool(a == b)


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


def made_since(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> set[Any]:
    """The names that have a value now and had none before."""
    return {
        name
        for name, value in now.items()
        if name not in before or (isinstance(before[name], Unset) and value is not before[name])
    }
