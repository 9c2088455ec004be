# SPDX-License-Identifier: Apache-2.0
"""Passes by name: those in `mlir_passes/*/` and targets' `passes/`, and installed ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from xtc.core.discover import class_in, has_package, modules, packages
from xtc.core.errors import XtcError
from xtc.core.extensions import defined, entries, load_entry, several
from xtc.ir.passes import Pass

_GROUP = "xtc.passes"


@cache
def passes() -> dict[str, type[Pass]]:
    """The project's passes by name, sorted.

    The pass `tile-for-cache` is the class with that name in `tile_for_cache.py`; other files there
    contain code that passes share. Raises XtcError if two passes have the same name.
    """
    found: dict[str, type[Pass]] = {}
    for package in _packages_of_passes():
        for module in modules(package):
            name = module.replace("_", "-")
            known = class_in(package, module, Pass, name)
            if known is None:
                continue
            if name in found:
                files = [found[name].__module__, known.__module__]
                raise XtcError(f"two passes are called '{name}'", notes=files)
            found[name] = known
    return dict(sorted(found.items()))


def find(name: str) -> type[Pass] | None:
    """The pass `name`, the project's or an installed one, or None.

    Raises XtcError if several have this name, or an installed pass cannot be imported.
    """
    own, loaded, entry = passes().get(name), defined(Pass).get(name), entries(_GROUP).get(name)
    installed = entry and load_entry(entry, Pass)
    found = list(dict.fromkeys(kind for kind in (own, loaded, installed) if kind is not None))
    if len(found) > 1:
        raise several(_GROUP, name, *(f"{kind.__module__}.{kind.__qualname__}" for kind in found))
    return found[0] if found else None


def names() -> tuple[str, ...]:
    """The names of all passes, the project's and installed ones, sorted."""
    return tuple(sorted({*passes(), *defined(Pass), *entries(_GROUP)}))


def _packages_of_passes() -> Iterator[str]:
    yield from (f"xtc_passes.{package}" for package in packages("xtc_passes"))
    targets = (f"xtc_targets.{target}.passes" for target in packages("xtc_targets"))
    yield from (package for package in targets if has_package(package))
