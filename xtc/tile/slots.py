# SPDX-License-Identifier: Apache-2.0
"""What loops and branches may change: names, attributes of device objects, and tiles themselves."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xtc.core.errors import UserError
from xtc.tile.arithmetic import data
from xtc.tile.classes import Class
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
    """A name or an attribute that holds run-time data."""

    names: Names
    key: str

    def read(self) -> Data:
        """What it holds. Raises UserError for what is no data any more."""
        found = self.names[self.key]
        if isinstance(found, bool | int | float):
            found = data(found)
            self.names[self.key] = found
        if not isinstance(found, Data):
            raise UserError(f"'{self.key}' was run-time data before, and is {found!r} now")
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
    for value in seen.values():
        if isinstance(value, RegisterTensor):
            found += [] if value.is_lost else [TileSlot(value)]
        elif isinstance(value, Class):
            attributes = vars(value)
            found += [Slot(attributes, k) for k, v in attributes.items() if isinstance(v, Data)]
    return found


def contents(frames: Sequence[Names]) -> dict[int, tuple[Any, list[Any]]]:
    """What lists and dictionaries hold, and device objects that is no run-time data."""
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
    return {
        key: (value, [part for part in _parts(value) if not isinstance(part, Scalar)])
        for key, value in seen.items()
        if isinstance(value, list | dict | Class) and not isinstance(value, Ended)
    }


def require_same(before: dict[int, tuple[Any, list[Any]]]) -> None:
    """Raise UserError where such a thing was changed in a run-time loop or branch."""
    for value, parts in before.values():
        now = [part for part in _parts(value) if not isinstance(part, Scalar)]
        same = len(now) == len(parts) and all(
            a is b or (isinstance(a, RegisterTensor) and isinstance(b, RegisterTensor)) or a == b
            for a, b in zip(now, parts, strict=True)
        )
        if not same:
            raise UserError(
                f"{type(value).__name__} {value!r} is changed in a loop or branch of run time",
                notes=["what it holds must be known when compiling"],
                hints=["write the loop over constants, or keep the number in an int32 variable"],
            )


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    return list(vars(value).values()) if isinstance(value, Class) else []


def _visit(value: Any, seen: dict[int, Any]) -> None:
    if id(value) in seen or not isinstance(value, list | tuple | dict | Class | RegisterTensor):
        return
    seen[id(value)] = value
    for part in _parts(value):
        _visit(part, seen)


def changed(frames: Sequence[Names]) -> Iterator[tuple[Names, str, Any]]:
    """Every name of the innermost frame, and attribute of an object, with what it stands for."""
    yield from ((frames[-1], name, value) for name, value in list(frames[-1].items()))
    seen: dict[int, Any] = {}
    for frame in frames:
        for value in list(frame.values()):
            _visit(value, seen)
    for value in seen.values():
        if isinstance(value, Class):
            yield from ((vars(value), name, part) for name, part in list(vars(value).items()))
