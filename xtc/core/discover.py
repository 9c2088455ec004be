# SPDX-License-Identifier: Apache-2.0
"""Finds classes and targets by their file names.

A target is the folder `targets/<name>`; `xtc.ir.known_passes` and `xtc.graph.known_operators` find
passes and operators the same way, and `xtc.core.extensions` those of other packages. These are the
only dynamic imports of the project. Adding a target needs no entry in a list. Names are checked
before they are imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from xtc.core.errors import UserError, XtcError, did_you_mean
from xtc.core.extensions import entries, entry_text, load_entry, several

_GROUP = "xtc.targets"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def targets() -> tuple[str, ...]:
    """Names of the targets: folders of `targets/`, and entry points of the group `xtc.targets`.

    Raises XtcError if two targets have one name.
    """
    found = {name: f"xtc_targets.{name}" for name in packages("xtc_targets")}
    for name, entry in entries(_GROUP).items():
        if name in found:
            raise several(_GROUP, name, found[name], entry_text(entry))
        found[name] = entry_text(entry)
    return tuple(found)


def target(name: str) -> Any:
    """The Target called `name`; the project's own targets need no search of installed packages.

    Raises UserError if it does not exist, XtcError if the installed package is broken or if two
    packages define the name.
    """
    own = is_name(name) and name in packages("xtc_targets")
    if not own and (not is_name(name) or name not in targets()):
        raise UserError(f"there is no target {name!r}", hints=did_you_mean(str(name), targets()))
    found = (
        importlib.import_module(f"xtc_targets.{name}") if own else load_entry(entries(_GROUP)[name])
    )
    if isinstance(found, ModuleType):
        found = getattr(found, "TARGET", None)
    if found is None:
        raise XtcError(f"target '{name}' defines no TARGET")
    return found


def target_commands(name: str) -> dict[str, ModuleType]:
    """Commands of a target by name: the modules of its package `commands`.

    Empty if the target does not exist or has no commands. The package of another project's target
    is that of its entry point. Raises XtcError if it cannot be loaded.
    """
    package = _target_package(name)
    if package is None or "commands" not in packages(package):
        return {}
    folder = f"{package}.commands"
    return {
        command: importlib.import_module(f"{folder}.{command}")
        for command in modules(folder)
        if not command.startswith("_")
    }


def _target_package(name: str) -> str | None:
    if is_name(name) and name in packages("xtc_targets"):
        return f"xtc_targets.{name}"
    entry = entries(_GROUP).get(name)
    if entry is None:
        return None
    load_entry(entry)
    return entry.module


def class_in(package: str, module_name: str, base: type[Any], name: str) -> type[Any] | None:
    """The subclass of `base` called `name` that a module of `package` defines, or None."""
    return _class_named(name, importlib.import_module(f"{package}.{module_name}"), base)


def has_package(name: str) -> bool:
    """True if a package of this name can be imported."""
    return importlib.util.find_spec(name) is not None


def _class_named(name: str, module: ModuleType, base: type[Any]) -> type[Any] | None:
    """The subclass of `base` that `module` defines with the `name` given."""
    for value in vars(module).values():
        if (
            isinstance(value, type)
            and value.__module__ == module.__name__
            and vars(value).get("name") == name
            and issubclass(value, base)  # last, because it is the slowest test
        ):
            return value
    return None


def is_name(name: object) -> bool:
    """Whether `name` can be the name of an operator, a pass or a target."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


@cache
def modules(package: str) -> tuple[str, ...]:
    """Sorted names of a package's modules that are not packages themselves."""
    return tuple(sorted(info.name for info in _contents(package) if not info.ispkg))


@cache
def packages(package: str) -> tuple[str, ...]:
    """Sorted names of the packages in a package."""
    return tuple(sorted(info.name for info in _contents(package) if info.ispkg))


def _contents(package: str) -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(getattr(importlib.import_module(package), "__path__", ()))
