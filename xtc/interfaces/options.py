# SPDX-License-Identifier: Apache-2.0
"""Options of targets: which ones belong to a device, and which ones affect code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass, replace
from typing import Any

from xtc.core.errors import UserError

_OWNER = "xtc.owner"
_MACHINE, _DEVICE = "machine", "device"


def of_machine(default: Any) -> Any:
    """A field of `Options` that belongs to a device and affects code, such as its architecture."""
    return field(default=default, metadata={_OWNER: _MACHINE})


def of_device(default: Any) -> Any:
    """A field of `Options` that belongs to a device and does not affect code, such as a timeout."""
    return field(default=default, metadata={_OWNER: _DEVICE})


def code_options(options: Any) -> Any:
    """The options with every field that does not affect code at its default.

    Equal results give equal code, so the cache compares them.
    """
    if not is_dataclass(options) or isinstance(options, type):
        return options
    return replace(
        options,
        **{each.name: _default(each) for each in fields(options) if _owner(each) == _DEVICE},
    )


def options_of_device(options: Any, given: Mapping[str, Any], device_name: str) -> Any:
    """Options of code for a live device that was opened with `options`.

    Raises UserError if `given` contradicts a field of the device.
    """
    if not given:
        return options
    for each in fields(options):
        here = getattr(options, each.name)
        if _owner(each) is not None and given.get(each.name, here) != here:
            raise UserError(
                f"option {each.name}={given[each.name]!r} does not fit {device_name}",
                notes=[f"it has {each.name}={here!r}"],
                hints=["omit the option: the device determines it"],
            )
    return replace(options, **given)


def check_left_alone(options: Any, names: tuple[str, ...], platform: str) -> None:
    """Raise UserError unless the fields `names` have their defaults; `platform` ignores them."""
    defaults = {each.name: _default(each) for each in fields(options)}
    for name in names:
        value = getattr(options, name)
        if value != defaults[name]:
            raise UserError(f"{name}={value!r} is not for platform '{platform}'")


def _owner(each: Field[Any]) -> str | None:
    owner: str | None = each.metadata.get(_OWNER)
    return owner


def _default(each: Field[Any]) -> Any:
    return each.default_factory() if each.default_factory is not MISSING else each.default
