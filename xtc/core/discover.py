# SPDX-License-Identifier: Apache-2.0
"""Finds operators, targets and passes by name: the only place that imports modules by their name.

A thing is found because its file is there: `xtc/ops/<name>.py`, `targets/<name>/`, `passes/<name>.py`.
No list is edited when one is added. A name is checked before it reaches an import statement.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from xtc.core.errors import UserError, XtcError, did_you_mean

ENTRY_POINTS = "xtc.targets"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def operators() -> tuple[str, ...]:
    """Names of all operators, sorted. A file of `xtc/ops` that defines none is left out."""
    return tuple(name for name in _modules("xtc.ops") if _operator_class(name) is not None)


def operator(name: str) -> type[Any]:
    """The `Operator` subclass called `name`. Raises UserError where there is none."""
    found = _operator_class(name) if _is_module(name, "xtc.ops") else None
    if found is None:
        raise UserError(f"unknown operator {name!r}", hints=did_you_mean(str(name), operators()))
    return found


def targets() -> tuple[str, ...]:
    """Names of all targets, sorted: folders of `xtc_targets`, and installed entry points."""
    return tuple(sorted({*_packages("xtc_targets"), *(entry.name for entry in _entry_points())}))


def target(name: str) -> Any:
    """The `TARGET` of the target called `name`.

    Raises UserError where there is none, XtcError where what is installed under the name is broken
    or taken twice.
    """
    if name not in targets() or _NAME.fullmatch(name) is None:
        raise UserError(f"unknown target {name!r}", hints=did_you_mean(str(name), targets()))
    entries = [entry for entry in _entry_points() if entry.name == name]
    places = [f"xtc_targets.{name}"] if name in _packages("xtc_targets") else []
    places += [f"entry point {entry.value}" for entry in entries]
    if len(places) > 1:
        raise XtcError(f"several targets are called '{name}'", notes=places)
    found = _load(entries[0]) if entries else importlib.import_module(f"xtc_targets.{name}")
    if isinstance(found, ModuleType):
        found = getattr(found, "TARGET", None)
    if found is None:
        raise XtcError(f"target '{name}' defines no TARGET", notes=places)
    return found


def passes() -> dict[str, type[Any]]:
    """All passes by their command-line name, sorted: shared ones and those of every target.

    The pass `tile-for-tasklets` is the class in a file `tile_for_tasklets.py` whose `name` says so;
    other files hold what passes share. Raises XtcError where two passes have one name.
    """
    found: dict[str, type[Any]] = {}
    for module in _pass_modules():
        kebab = module.__name__.rpartition(".")[2].replace("_", "-")
        pass_class = _named_class(module, kebab)
        if pass_class is None:
            continue
        if kebab in found:
            files = [found[kebab].__module__, module.__name__]
            raise XtcError(f"two passes are called '{kebab}'", notes=files)
        found[kebab] = pass_class
    return dict(sorted(found.items()))


def _pass_modules() -> Iterator[ModuleType]:
    packages = ["xtc_passes"]
    for name in _packages("xtc_targets"):
        if importlib.util.find_spec(f"xtc_targets.{name}.passes") is not None:
            packages.append(f"xtc_targets.{name}.passes")
    for package in packages:
        for name in _modules(package):
            yield importlib.import_module(f"{package}.{name}")


def _operator_class(name: str) -> type[Any] | None:
    base: type[Any] = importlib.import_module("xtc.graph.operator").Operator
    found = _named_class(importlib.import_module(f"xtc.ops.{name}"), name)
    return found if found is not None and issubclass(found, base) else None


def _named_class(module: ModuleType, name: str) -> type[Any] | None:
    """The class written in `module` whose own `name` is `name`."""
    for value in vars(module).values():
        if (
            isinstance(value, type)
            and value.__module__ == module.__name__
            and vars(value).get("name") == name
        ):
            return value
    return None


def _is_module(name: object, package: str) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and name in _modules(package)


def _modules(package: str) -> tuple[str, ...]:
    """Names of the modules of a package that are not packages, sorted."""
    return tuple(sorted(info.name for info in _contents(package) if not info.ispkg))


def _packages(package: str) -> tuple[str, ...]:
    return tuple(sorted(info.name for info in _contents(package) if info.ispkg))


def _contents(package: str) -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(importlib.import_module(package).__path__)


def _entry_points() -> tuple[importlib.metadata.EntryPoint, ...]:
    return tuple(importlib.metadata.entry_points(group=ENTRY_POINTS))


def _load(entry: importlib.metadata.EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise XtcError(
            f"target '{entry.name}' cannot be loaded",
            notes=[f"entry point {entry.value}", str(error)],
            hints=["reinstall the package it comes with, or remove it"],
        ) from error
