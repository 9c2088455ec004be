# SPDX-License-Identifier: Apache-2.0
"""A child's reply to its parent, as JSON: the result or the error."""

from __future__ import annotations

import json
import traceback
from typing import Any

from xtc.core import errors
from xtc.core.errors import CompileError, XtcError

_CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, XtcError)
}
_FRAMES = 3


class MemoryLimitError(CompileError):
    """The child reported that it is out of memory."""


def encode_result(text: str) -> bytes:
    """A reply that `decode` returns as `text`."""
    return _encode({"result": text})


def encode_error(error: BaseException) -> bytes:
    """A reply for which `decode` raises an equivalent error."""
    if isinstance(error, MemoryError):
        return _encode({"memory": True})
    if not isinstance(error, XtcError):
        return _encode({"class": "CompileError", **_bug(error)})
    kind = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _CLASSES)
    return _encode(
        {
            "class": kind,
            "what": error.what,
            "where": None if error.where is None else str(error.where),
            "notes": error.notes,
            "hints": error.hints,
        }
    )


def decode(reply: bytes) -> str:
    """The result. Raises the child's error, and ValueError for an invalid reply."""
    try:
        data: dict[str, Any] = json.loads(reply)
        if "result" in data:
            return str(data["result"])
        error = _error(data)
    except (KeyError, TypeError, AttributeError, RecursionError) as wrong:
        raise ValueError(f"not a reply: {wrong!r}") from None
    raise error


def _encode(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()


def _error(data: dict[str, Any]) -> XtcError:
    if "memory" in data:
        return MemoryLimitError("out of memory")
    kind: type[XtcError] = _CLASSES[data["class"]]
    notes, hints = map(str, data["notes"]), map(str, data["hints"])
    return kind(str(data["what"]), where=data["where"], notes=list(notes), hints=list(hints))


def _bug(error: BaseException) -> dict[str, Any]:
    """An unexpected exception, with the innermost frames of its traceback."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    lines = [f"{frame.filename}:{frame.lineno}, in {frame.name}" for frame in frames]
    what = f"the compiler failed on this input with {type(error).__name__}: {error}"
    return {"what": what, "where": None, "notes": lines, "hints": []}
