# SPDX-License-Identifier: Apache-2.0
"""Modules: files with parameter values, whose declarations are evaluated on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.errors import did_you_mean
from xtc_targets.wse.csl import tree
from xtc_targets.wse.csl.errors import CslError, Position
from xtc_targets.wse.csl.parser import parse
from xtc_targets.wse.sema import types as t
from xtc_targets.wse.sema.frame import Frame, Memory, Scope
from xtc_targets.wse.sema.per_pe import AS_DATA
from xtc_targets.wse.sema.values import (
    Address,
    Const,
    FunctionValue,
    Global,
    Value,
    type_value,
)

if TYPE_CHECKING:
    from xtc_targets.wse.sema.program import Program

LIBRARY = Path(__file__).parent.parent / "lib"
"""The folder of modules that programs import in angle brackets."""
_FORMER = {"<memcpy_multi/memcpy>": "<memcpy/memcpy>"}
"""Libraries by their names before SDK 0.9."""


@lru_cache(maxsize=256)
def _parsed(path: Path, stamp: tuple[int, int], name: str) -> tree.File:
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        raise CslError("the file is not UTF-8 text", where=path) from None
    return parse(text, name)


def read(path: Path, at: Position | None) -> tree.File:
    """The tree of a file. Raises CslError."""
    try:
        status = path.stat()
        return _parsed(path, (status.st_mtime_ns, status.st_size), str(path))
    except OSError as error:
        raise CslError(f"{path} cannot be read: {error.strerror}", where=at) from None


def locate(name: str, importer: Path, folders: Sequence[Path], at: Position) -> Path:
    """Find the file of an import: a library, or a file next to the importer or in `folders`.

    Raises CslError.
    """
    name = _FORMER.get(name, name)
    is_library = name.startswith("<") and name.endswith(">")
    inner = name[1:-1] + ".csl" if is_library else name
    tried = [LIBRARY if is_library else importer.parent, *folders]
    for folder in tried:
        path = folder / inner
        if path.is_file():
            return path if folder is LIBRARY else path.resolve()
    if is_library:
        known = sorted(str(p.relative_to(LIBRARY))[:-4] for p in LIBRARY.rglob("*.csl"))
        hints = did_you_mean(name[1:-1], known)
        raise CslError(f"there is no library {name}", where=at, hints=hints)
    notes = [f"looked for {(folder / inner).resolve()}" for folder in tried]
    raise CslError(f"there is no file {name}", where=at, notes=notes)


class Module:
    """A file with parameters; names are evaluated on first use."""

    def __init__(self, program: Program, path: Path, given: Mapping[str, Value]) -> None:
        self.program = program
        self.path = path
        self.file = read(path, None)
        self.given = dict(given)
        self._items: dict[str, tree.Declared] = {}
        for item in self.file.items:
            if isinstance(item, tree.Declaration | tree.Function):
                if item.name in self._items:
                    first = self._items[item.name].at
                    raise CslError(
                        f"'{item.name}' is declared twice",
                        where=item.at,
                        notes=[f"first at {first}"],
                    )
                self._items[item.name] = item
        self._known: dict[str, Value | Memory] = {}
        self._busy: set[str] = set()
        self._check_given()

    @property
    def functions(self) -> list[tree.Function]:
        return [item for item in self._items.values() if isinstance(item, tree.Function)]

    def frame(self) -> Frame:
        """The frame for the top level of the file."""
        return Frame(self.program, self, Scope())

    def has(self, name: str) -> bool:
        return name in self._items

    def names(self) -> list[str]:
        return list(self._items)

    def member(self, name: str, at: Position) -> Value | Memory:
        """The value of a name, or the location of its variable. Raises CslError."""
        if name not in self._known:
            self._known[name] = self._evaluated(name, at)
        return self._known[name]

    def _evaluated(self, name: str, at: Position) -> Value | Memory:
        item = self._items.get(name)
        if item is None:
            raise CslError(f"there is no '{name}'", where=at, hints=did_you_mean(name, self._items))
        if isinstance(item, tree.Function):
            return self._function(item)
        if name in self._busy:
            raise CslError(f"'{name}' depends on itself", where=item.at)
        self._busy.add(name)
        try:
            return _KINDS[item.kind](self, item, at)
        finally:
            self._busy.discard(name)

    def _function(self, item: tree.Function) -> Const:
        return Const(t.Fn((), t.VOID), FunctionValue(self, item))

    def _param(self, item: tree.Declaration, at: Position) -> Value | Memory:
        frame = self.frame()
        value: Value | None = self.given.get(item.name)
        if value is AS_DATA:
            kind = t.VOID if item.type is None else frame.program.type_of(frame, item.type)
            return frame.program.parameter_as_data(item.name, kind, item.at)
        if value is None and item.value is not None:
            value = frame.program.evaluate(frame, item.value)
        if value is None:
            raise CslError(
                f"the parameter '{item.name}' has no value",
                where=at,
                notes=[f"declared at {item.at}"],
                hints=[f"pass .{item.name} = ... where {self.path.name} is used"],
            )
        if item.type is None:
            return value
        kind = frame.program.type_of(frame, item.type)
        return frame.program.as_parameter(frame, value, kind, item.at)

    def _constant(self, item: tree.Declaration, at: Position) -> Value | Memory:
        frame = self.frame()
        if item.value is None:
            raise CslError(f"the constant '{item.name}' has no value", where=item.at)
        value = frame.program.evaluate(frame, item.value)
        if item.type is not None:
            kind = frame.program.type_of(frame, item.type)
            value = frame.program.coerce(frame, value, kind, item.at)
        if isinstance(value, Const) and value.type == t.TYPE:
            value = type_value(frame.program.renamed(value.value, item.name))
        located = item.attributes or (item.storage and isinstance(value.type, t.Array))
        if located and isinstance(value, Const) and t.is_runtime(value.type):
            return self._placed(item, value, value.type, const=True)
        return value

    def _variable(self, item: tree.Declaration, at: Position) -> Memory:
        frame = self.frame()
        value = None
        if item.value is not None:
            value = frame.program.evaluate(frame, item.value)
        kind = value.type if value is not None else t.VOID
        if item.type is not None:
            kind = frame.program.type_of(frame, item.type)
            if value is not None:
                value = frame.program.coerce(frame, value, kind, item.at)
        elif value is None:
            raise CslError(f"'{item.name}' has neither a type nor a value", where=item.at)
        if not t.is_runtime(kind) and kind != t.VOID and not _is_empty(kind):
            raise CslError(
                f"a variable of type {kind} cannot exist on a PE",
                where=item.at,
                hints=["give it a type such as i16 or f32"] if t.is_number(kind) else [],
            )
        if value is not None and not isinstance(value, Const):
            raise CslError("the initial value must be known at compile time", where=item.at)
        return self._placed(item, value, kind, const=False)

    def _placed(
        self, item: tree.Declaration, value: Const | None, kind: t.Type, const: bool
    ) -> Memory:
        alignment = 0
        for attribute in item.attributes:
            given = self.program.evaluate(self.frame(), attribute.value)
            if attribute.name == "align" and isinstance(given, Const):
                alignment = int(given.value)
        placed = Global(item.name, kind, value, item.at, alignment, const=const)
        return Memory(kind, Address(placed), const)

    def _check_given(self) -> None:
        for name in self.given:
            item = self._items.get(name)
            if not isinstance(item, tree.Declaration) or item.kind != "param":
                params = [
                    each.name
                    for each in self._items.values()
                    if isinstance(each, tree.Declaration) and each.kind == "param"
                ]
                raise CslError(
                    f"{self.path.name} has no parameter '{name}'",
                    hints=did_you_mean(name, params),
                )

    def force_imports(self) -> None:
        """Evaluate all imports, because modules have effects even if they are unused."""
        for item in self.file.items:
            if (
                isinstance(item, tree.Declaration)
                and isinstance(item.value, tree.Builtin)
                and item.value.name == "import_module"
            ):
                self.member(item.name, item.at)


def _is_empty(kind: t.Type) -> bool:
    return isinstance(kind, t.Array) and kind.count == 0


_KINDS: dict[str, Callable[[Module, tree.Declaration, Position], Value | Memory]] = {
    "param": Module._param,
    "const": Module._constant,
    "var": Module._variable,
}
