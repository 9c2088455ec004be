# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of a call against the parameters of the kernel."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from xtc.core.errors import UserError, did_you_mean, shown
from xtc.core.location import user_location
from xtc.core.types import element_type
from xtc.tile.launch.foreign import over
from xtc.tile.launch.host_tensors import Tensor
from xtc.tile.transcription.source import Parameter
from xtc.tile.types import TYPES, DataType, PointerType


def bound(
    kernel: str,
    known: Sequence[Parameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    arrays: bool,
) -> dict[str, Any]:
    """The arguments of a call by name, converted to the types of the parameters.
    Arrays may be None unless `arrays` is set.

    Raises UserError, with the line of the call and the kernel's parameters, if they do not match.
    """
    with _told(kernel, known):
        given = _named(kernel, known, args, kwargs)
        return {p.name: checked(p, given[p.name], arrays) for p in known}


def constructed(cls: type, args: Sequence[Any], kwargs: Mapping[str, Any], tuned: str) -> None:
    """Raise UserError unless a kernel's `__init__` accepts these arguments and the `tuned` ones."""
    init: Any = _nothing if cls.__init__ is object.__init__ else cls.__init__  # type: ignore[misc]
    try:
        inspect.signature(init).bind(None, *args, **kwargs)
    except TypeError as error:
        names = [name for name in inspect.signature(init).parameters if name != "self"]
        unknown = [name for name in kwargs if name not in names]
        hints = did_you_mean(unknown[0], names) if unknown else []
        raise UserError(
            f"{cls.__name__}.__init__: {error}",
            where=user_location(),
            notes=[tuned] if tuned else (),
            hints=hints or [f"it takes {', '.join(names) or 'nothing'}"],
        ) from None


def _nothing(self: Any) -> None:
    """The parameters of a kernel that has no `__init__`."""


@contextmanager
def _told(kernel: str, known: Sequence[Parameter]) -> Iterator[None]:
    """Add the line of the call and the kernel's parameters to errors."""
    try:
        yield
    except UserError as error:
        words = ", ".join(
            f"{p.name}: {p.kind.__name__ if isinstance(p.kind, type) else p.kind}" for p in known
        )
        raise UserError(
            error.what,
            where=user_location(),
            notes=[*error.notes, f"the kernel is {kernel}({words})"],
            hints=error.hints,
        ) from None


def _named(
    kernel: str, known: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    names = [parameter.name for parameter in known]
    if len(args) > len(names):
        raise UserError(
            f"{kernel} takes {len(names)} arguments, not {len(args)}",
            hints=["tuning parameters belong to the object: Kernel(block=64)(...)"],
        )
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise UserError(
                f"{kernel} gets '{name}' twice", hints=["by its position, or by its name"]
            )
        if name not in names:
            hints = did_you_mean(name, names)
            raise UserError(f"{kernel} does not take an argument '{name}'", hints=hints)
        given[name] = value
    for parameter in known:
        if parameter.name not in given:
            if parameter.default is None:
                raise UserError(f"{kernel} needs '{parameter.name}'", hints=[_example(parameter)])
            given[parameter.name] = parameter.default
    return given


def _example(parameter: Parameter) -> str:
    if isinstance(parameter.kind, PointerType):
        return f"an array, as {parameter.name}=numpy.zeros(...)"
    return f"a number, as {parameter.name}=1"


def checked(parameter: Parameter, value: Any, arrays: bool) -> Any:
    """An argument converted to its parameter's type. Raises UserError if it does not match."""
    kind, name = parameter.kind, parameter.name
    if isinstance(kind, PointerType):
        return _array(name, kind, value) if arrays or value is not None else None
    if isinstance(kind, DataType):
        if kind.is_boolean() and isinstance(value, bool | np.bool_):
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise _no_number(name, kind, value)
        if not kind.is_float() and not np.isfinite(value):
            raise _no_number(name, kind, value)
        if not kind.is_float() and not kind.least <= int(value) <= kind.greatest:
            raise UserError(
                f"'{name}' = {value} does not fit in {kind}",
                hints=[f"it holds numbers from {kind.least} to {kind.greatest}"],
            )
        if not kind.is_float() and int(value) != value:
            raise _no_number(name, kind, value)
        return float(kind.numpy.type(value)) if kind.is_float() else int(value)
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise UserError(
            f"'{name}' is a constant of type {kind.__name__}, not {_brief(value)}",
            hints=["annotate the parameter int32 or float32 for a run-time number"],
        )
    return value


def _no_number(name: str, kind: DataType, value: Any) -> UserError:
    article = "an" if kind.name.startswith("i") else "a"
    hint = "pass int(x)" if isinstance(value, float) else "annotate the parameter ~float32, ..."
    hints = [hint] if isinstance(value, float) or hasattr(value, "shape") else ["pass a number"]
    return UserError(f"'{name}' is {article} {kind}, not {_brief(value)}", hints=hints)


def _brief(value: Any) -> str:
    """A value for messages; for an array its type and shape, not its contents."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and tuple(value.shape):
        return f"an array of {value.dtype} and shape {list(value.shape)}"
    return shown(value)


def _array(name: str, kind: PointerType, value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.numpy() if value.is_on_host else value.storage
    value = over(value)
    dtype = getattr(value, "dtype", None)
    if not hasattr(value, "__dlpack__") and (dtype is None or not hasattr(value, "shape")):
        raise UserError(
            f"'{name}' is an array, not {_brief(value)}",
            notes=["an address alone does not give the size of the memory"]
            if isinstance(value, int)
            else (),
            hints=["pass the tensor itself, or a slice from the offset on: tensor.view(-1)[64:]"]
            if isinstance(value, int)
            else ["NumPy arrays, device arrays, and tensors of libraries that support DLPack"],
        )
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise UserError(
                f"'{name}' is not contiguous, and a pointer has no strides",
                hints=[f"pass numpy.ascontiguousarray({name}), or a copy of the slice"],
            )
        is_small = any(dtype.is_coded and dtype.numpy == value.dtype for dtype in TYPES)
        found: Any = value.dtype if is_small else element_type(value.dtype).numpy
    else:
        found = np.dtype(dtype) if isinstance(dtype, np.dtype) else None
    if kind.element is not None and found is not None and found != kind.element.numpy:
        raise UserError(
            f"'{name}' has elements of {found}, and the kernel takes {kind.element}",
            hints=[f"pass an array of {kind.element.numpy}, or annotate the parameter otherwise"],
        )
    return value
