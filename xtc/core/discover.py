# SPDX-License-Identifier: Apache-2.0
"""Finds operators, targets and passes by name; the only dynamic imports of the project.

A thing is found because its file is there: an operator is `xtc/ops/<name>.py`, a target the folder
`targets/<name>`. No list is edited when one is added. Names are checked before they are imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from xtc.core.errors import UserError, XtcError, did_you_mean
from xtc.core.passes import Pass

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def targets() -> tuple[str, ...]:
    """Names of the targets: folders of `targets/`, and entry points of the group `xtc.targets`.

    Raises XtcError where two targets have one name.
    """
    places = {name: f"xtc_targets.{name}" for name in _packages("xtc_targets")}
    for entry in sorted(_foreign_targets(), key=lambda entry: entry.name):
        place = f"entry point {entry.value}"
        if entry.name in places:
            notes = [places[entry.name], place]
            raise XtcError(f"several targets are called '{entry.name}'", notes=notes)
        places[entry.name] = place
    return tuple(places)


def target(name: str) -> Any:
    """The Target called `name`; one of ours is found without a look at what else is installed.

    Raises UserError where there is none, XtcError where what is installed under the name is broken
    or there twice.
    """
    own = _is_name(name) and name in _packages("xtc_targets")
    if not own and (not _is_name(name) or name not in targets()):
        raise UserError(f"there is no target {name!r}", hints=did_you_mean(str(name), targets()))
    found = importlib.import_module(f"xtc_targets.{name}") if own else _load(name)
    if isinstance(found, ModuleType):
        found = getattr(found, "TARGET", None)
    if found is None:
        raise XtcError(f"target '{name}' defines no TARGET")
    return found


@cache
def operators() -> tuple[str, ...]:
    """Names of the operators: files of `xtc/ops` that define the operator of their name."""
    return tuple(name for name in _modules("xtc.ops") if _operator_class(name) is not None)


def operator(name: str) -> type[Any]:
    """The Operator class called `name`. Raises UserError where there is none."""
    known = _is_name(name) and name in _modules("xtc.ops")
    found = _operator_class(name) if known else None
    if found is None:
        raise UserError(
            f"there is no operator {name!r}", hints=did_you_mean(str(name), operators())
        )
    return found


@cache
def passes() -> dict[str, type[Pass]]:
    """Our own passes by name, sorted: of `mlir_passes/` and of every target's `passes/`.

    The pass `tile-for-cache` is the class in `tile_for_cache.py` that bears the name; other files
    there hold what passes share. Raises XtcError where two passes have one name.
    """
    found: dict[str, type[Pass]] = {}
    for module in _pass_modules():
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        one = _class_named(name, module, Pass)
        if one is None:
            continue
        if name in found:
            files = [found[name].__module__, module.__name__]
            raise XtcError(f"two passes are called '{name}'", notes=files)
        found[name] = one
    return dict(sorted(found.items()))


def _pass_modules() -> Iterator[ModuleType]:
    own = [f"xtc_targets.{name}.passes" for name in _packages("xtc_targets")]
    for package in ["xtc_passes", *(one for one in own if importlib.util.find_spec(one))]:
        for name in _modules(package):
            yield importlib.import_module(f"{package}.{name}")


@cache
def _operator_class(name: str) -> type[Any] | None:
    base = importlib.import_module("xtc.graph.operator").Operator
    return _class_named(name, importlib.import_module(f"xtc.ops.{name}"), base)


def _class_named(name: str, module: ModuleType, base: type[Any]) -> type[Any] | None:
    """The subclass of `base` that is written in `module` and whose own `name` is `name`."""
    for value in vars(module).values():
        if (
            isinstance(value, type)
            and issubclass(value, base)
            and value.__module__ == module.__name__
            and vars(value).get("name") == name
        ):
            return value
    return None


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


@cache
def _modules(package: str) -> tuple[str, ...]:
    """Sorted names of a package's modules that are not packages themselves."""
    return tuple(sorted(info.name for info in _contents(package) if not info.ispkg))


@cache
def _packages(package: str) -> tuple[str, ...]:
    return tuple(sorted(info.name for info in _contents(package) if info.ispkg))


def _contents(package: str) -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(importlib.import_module(package).__path__)


@cache
def _foreign_targets() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group="xtc.targets"))


def _load(name: str) -> Any:
    (entry,) = (entry for entry in _foreign_targets() if entry.name == name)
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise XtcError(
            f"target '{name}' cannot be loaded",
            notes=[f"entry point {entry.value}", str(error)],
            hints=["reinstall the package it comes with, or remove it"],
        ) from error
