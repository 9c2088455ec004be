# SPDX-License-Identifier: Apache-2.0
"""Third-party passes, operators and targets: entry points of packages, and the user's files.

An entry point is found by its group and name, and imported only on demand. A file runs
as a module; the option `--load`, `xtc.extend` and XTC_EXTENSIONS name it.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from xtc.core import knobs
from xtc.core.errors import UserError, XtcError

_KINDS = {"xtc.targets": "target", "xtc.passes": "pass", "xtc.ops": "operator"}
_loaded: dict[Path, ModuleType] = {}


def extend(path: str | Path) -> None:
    """Register the passes and operators that a Python file defines, by their names.

    They are known in this process and its child processes. The file runs once; a module that was
    already imported from it is used. Raises UserError if it cannot be read, or fails.
    """
    file = Path(path).resolve()
    _load(file)
    if file not in knobs.EXTENSIONS.get():
        knobs.add_extension(file)


def defined(base: type[Any]) -> dict[str, type[Any]]:
    """The subclasses of `base` that the files define, by `name`.

    Raises UserError like `extend`, and XtcError if two have the same name.
    """
    found: dict[str, type[Any]] = {}
    for file in knobs.EXTENSIONS.get():
        for kind in _classes(_load(file.resolve()), base):
            name: str = vars(kind)["name"]
            if name in found:
                notes = [inspect.getfile(found[name]), str(file)]
                raise XtcError(f"several classes are called '{name}'", notes=notes)
            found[name] = kind
    return found


def _classes(module: ModuleType, base: type[Any]) -> Iterator[type[Any]]:
    for value in vars(module).values():
        own = isinstance(value, type) and value.__module__ == module.__name__
        if own and issubclass(value, base) and isinstance(vars(value).get("name"), str):
            yield value


def _load(file: Path) -> ModuleType:
    if file not in _loaded:
        _loaded[file] = _imported(file) or _run(file)
    return _loaded[file]


def _imported(file: Path) -> ModuleType | None:
    """The module that this process imported from a file, or runs as its main program."""
    for module in list(sys.modules.values()):
        origin = Path(getattr(module, "__file__", None) or "")
        if origin.name == file.name and origin.resolve() == file:
            return module
    return None


def _run(file: Path) -> ModuleType:
    if not file.is_file():
        raise UserError(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(_module_name(file), file)
    if spec is None or spec.loader is None:
        raise UserError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except XtcError:
        del sys.modules[spec.name]
        raise
    except Exception as error:
        del sys.modules[spec.name]
        raise failure_of(file, error) from None
    return module


def _module_name(file: Path) -> str:
    """The name under which other modules can import the file, unless it is taken."""
    plain = file.stem.isidentifier() and file.stem not in sys.modules
    if plain and importlib.util.find_spec(file.stem) is None:
        return file.stem
    return f"xtc_extension_{len(_loaded)}"


def failure_of(path: Path, error: Exception) -> UserError:
    """The error for a failed program of the user: its exception and the calls that led to it."""
    calls = traceback.extract_tb(error.__traceback__)
    inside = (number for number, call in enumerate(calls) if call.filename == str(path))
    first = next(inside, len(calls))
    return UserError(
        f"{path} failed: {type(error).__name__}: {error}",
        notes=[f"{call.filename}:{call.lineno} in {call.name}" for call in calls[first:]],
    )


@functools.cache
def entries(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name. Raises XtcError if two have the same name."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        if entry.name in found:
            raise several(group, entry.name, *map(entry_text, (found[entry.name], entry)))
        found[entry.name] = entry
    return found


def load_entry(entry: EntryPoint, base: type[Any] | None = None) -> Any:
    """The object of an entry point; with `base`, a subclass of it that has the entry's name.

    Raises XtcError if it cannot be imported or is not such a subclass.
    """
    kind = _KINDS[entry.group]
    hints = ["reinstall the package it comes with, or remove it"]
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        notes = [entry_text(entry), str(error)]
        raise XtcError(
            f"{kind} '{entry.name}' cannot be loaded", notes=notes, hints=hints
        ) from error
    if base is not None and not (
        isinstance(found, type)
        and issubclass(found, base)
        and vars(found).get("name") == entry.name
    ):
        notes = [
            entry_text(entry),
            f"it refers to {found!r}, not to a {base.__name__} of that name",
        ]
        raise XtcError(f"{kind} '{entry.name}' cannot be used", notes=notes, hints=hints)
    return found


def several(group: str, name: str, *where: str) -> XtcError:
    """The error for a name with several definitions."""
    kind = _KINDS[group]
    plural = f"{kind}es" if kind.endswith("s") else f"{kind}s"
    return XtcError(f"several {plural} are called '{name}'", notes=list(where))


def entry_text(entry: EntryPoint) -> str:
    """An entry point as text, for the notes of errors."""
    return f"entry point {entry.value}"
