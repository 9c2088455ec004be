# SPDX-License-Identifier: Apache-2.0
"""Finds operators, targets and passes by name; the only dynamic imports of the project."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from xtc.core.errors import UserError, did_you_mean
from xtc.core.passes import Pass

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@cache
def targets() -> tuple[str, ...]:
    """Names of the targets: folders of `targets/`, and entry points of the group `xtc.targets`."""
    package = importlib.import_module("xtc_targets")
    own = [info.name for info in pkgutil.iter_modules(package.__path__) if info.ispkg]
    return tuple(dict.fromkeys([*sorted(own), *sorted(_foreign_targets())]))


def target(name: str) -> Any:
    """The Target called `name`. Raises UserError where there is none."""
    if name not in targets():
        raise UserError(f"there is no target '{name}'", hints=did_you_mean(name, targets()))
    if name in _foreign_targets():
        return _foreign_targets()[name].load()
    return importlib.import_module(f"xtc_targets.{name}").TARGET


@cache
def _foreign_targets() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group="xtc.targets")}


@cache
def operators() -> tuple[str, ...]:
    """Names of the operators: files of `xtc/ops` that define the operator of their name."""
    package = importlib.import_module("xtc.ops")
    names = (info.name for info in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in names if _operator_class(name) is not None))


def operator(name: str) -> type[Any]:
    """The Operator class called `name`. Raises UserError where there is none."""
    if _NAME.fullmatch(name) is None or name not in operators():
        raise UserError(f"there is no operator '{name}'", hints=did_you_mean(name, operators()))
    found = _operator_class(name)
    if found is None:
        raise UserError(f"there is no operator '{name}'")
    return found


def _operator_class(name: str) -> type[Any] | None:
    module = importlib.import_module(f"xtc.ops.{name}")
    return next((one for one in _own_classes(module) if vars(one).get("name") == name), None)


@cache
def passes() -> dict[str, type[Pass]]:
    """Our own passes by name: of `mlir_passes/` and of every target's `passes/`."""
    packages = ["xtc_passes", *(f"xtc_targets.{name}.passes" for name in targets())]
    found: dict[str, type[Pass]] = {}
    for package in packages:
        for module in _modules(package):
            found |= {one.name: one for one in _own_classes(module) if _is_pass(one, module)}
    return found


def _is_pass(one: type[Any], module: ModuleType) -> bool:
    file = module.__name__.rsplit(".", 1)[1].replace("_", "-")
    return issubclass(one, Pass) and vars(one).get("name") == file


def _own_classes(module: ModuleType) -> list[type[Any]]:
    classes = (one for _, one in inspect.getmembers(module, inspect.isclass))
    return [one for one in classes if one.__module__ == module.__name__]


def _modules(package: str) -> list[ModuleType]:
    try:
        parent = importlib.import_module(package)
    except ModuleNotFoundError:
        return []
    names = sorted(info.name for info in pkgutil.iter_modules(parent.__path__))
    return [importlib.import_module(f"{package}.{name}") for name in names]
