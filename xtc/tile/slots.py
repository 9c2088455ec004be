# SPDX-License-Identifier: Apache-2.0
"""What loops and branches may change: names, attributes, elements of lists, and tiles."""

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
    """What a name stands for that only one of two branches has set."""

    def __repr__(self) -> str:
        return "a value that only one branch has set"


@dataclass(eq=False)
class Lost(Unset):
    """What a name stands for after groups of threads have set it.

    Attributes:
        before: what it stands for in other threads.
        groups: the first thread and the size of each.
    """

    before: Any
    groups: tuple[tuple[int, int], ...]

    def is_known_to(self, threads: tuple[int, int]) -> bool:
        """Whether none of these threads has set it."""
        return all(apart(threads, group) for group in self.groups)

    def __repr__(self) -> str:
        return "a value that was set in a thread group, and that only its threads know"


class Ended(Class):
    """Whether the kernel has ended: False, True, or a number of run time."""

    ended: Any = False

    def __init__(self) -> None:
        self.ended = False


@dataclass(eq=False)
class Slot:
    """A name, an attribute or an element of a list or dictionary that holds run-time data."""

    names: Any
    key: Any

    def read(self) -> Data:
        """What it holds. Raises UserError for what is no data any more."""
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
        """Let it hold this."""
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
        """Let it hold this."""
        self.tile.value = value


AnySlot = Slot | TileSlot


def slots(frames: Sequence[Names], assigned: set[str]) -> list[AnySlot]:
    """What may change in a part of the innermost frame's code that assigns these names.

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
    """Whether a holder may have another tile at a key after an iteration."""
    name = key if isinstance(holder, Instructions) else ELEMENTS
    return isinstance(part, RegisterTensor) and name in rebinding


def contents(frames: Sequence[Names]) -> dict[int, tuple[Any, dict[Any, Any]]]:
    """What lists, dictionaries and the attributes of objects hold."""
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
    """Raise UserError where such a thing was changed in a run-time loop or branch, and does not
    hold run-time data of the same type."""
    for value, parts in before.values():
        now = dict(_items(value))
        made = made_since(parts, now) if isinstance(value, Instructions) else set()
        changed = [key for key in {**parts, **now} if not _is_kept(parts, now, key)]
        changed = [key for key in changed if key not in made]
        if changed:
            what = "element" if isinstance(value, list | dict) else "attribute"
            raise UserError(
                f"{what} {changed[0]!r} of a {type(value).__name__} is changed in a loop or branch "
                "of run time",
                notes=["only numbers of run time and tiles may change there"],
                hints=["declare a number with its type, as int32(0), or loop over constants"],
            )


def forget_set(names: Names, before: Mapping[str, Any], read: Set[tuple[str, int]]) -> None:
    """Let the names that an iteration has set stand for nothing behind the loop, but for those
    that the loop carries.

    Raises UserError for a name that stands for something else than numbers or tiles, and that the
    iteration has read (`read` has the name and what it stood for) before it set it.
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
                    "let a number choose, as slots[number % 2], or self.range(..., unroll='all')"
                ],
            )
        names[name] = Unset()


def _is_constant(old: Any, new: Any) -> bool:
    """Whether a name stands for the same constant as before."""
    return type(old) is type(new) and isinstance(old, str | int | float | None) and old == new


def forget_made(before: dict[int, tuple[Any, dict[Any, Any]]]) -> None:
    """Let the attributes that an iteration made stand for nothing behind the loop."""
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
    """What has the elements or attributes of a holder by their keys."""
    return vars(value) if isinstance(value, Instructions) else value


def _items(value: Any) -> list[tuple[Any, Any]]:
    """The keys of a holder, and what it has there; a tuple's are never changed."""
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
    dictionary, with what it stands for."""
    yield from ((frames[-1], name, value) for name, value in list(frames[-1].items()))
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
    for value in seen.values():
        if isinstance(value, _HOLDERS):
            yield from ((_held(value), key, part) for key, part in _items(value))


def made_since(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> set[Any]:
    """The names that stand for something now, and stood for nothing before."""
    return {
        name
        for name, value in now.items()
        if name not in before or (isinstance(before[name], Unset) and value is not before[name])
    }
