# SPDX-License-Identifier: Apache-2.0
"""Mistakes in a kernel's source, shown with the line and a caret."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xtc.core.errors import DeviceFault, DeviceTimeout, UserError, XtcError
from xtc.core.location import SourceLocation
from xtc.tile.values.idioms import error_hints, in_words


class _ShownError(XtcError):
    """An error whose text has the line of source; `excerpt` is that line, a caret below it."""

    excerpt = ""

    def __str__(self) -> str:
        first, *rest = super().__str__().split("\n")
        excerpt = self.excerpt or _excerpt_at(str(self.where))
        return "\n".join([first, *([excerpt] if excerpt else []), *rest])


class KernelError(_ShownError, UserError):
    """A mistake in a kernel."""


class KernelFault(_ShownError, DeviceFault):  # noqa: N818
    """A kernel broke a rule of the machine."""


class KernelTimeout(_ShownError, DeviceTimeout):  # noqa: N818
    """A kernel exceeded its time limit."""


def _excerpt_at(where: str) -> str:
    """The line of `file:line:column`, with a caret under the column; "" if it is unknown."""
    found = _PLACE.fullmatch(where)
    line = linecache.getline(found["file"], int(found["line"])) if found else ""
    return _with_caret(line, int(found["column"])) if found and line else ""


def _with_caret(line: str, column: int) -> str:
    return f"  {line.rstrip()}\n  {' ' * (column - 1)}^"


_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+):(?P<column>\d+)")


@dataclass(frozen=True)
class Source:
    """The source file of a function, and its lines."""

    file: str
    lines: tuple[str, ...]

    def location(self, node: ast.AST) -> SourceLocation:
        """The location of a syntax node."""
        return SourceLocation(self.file, node.lineno, node.col_offset + 1)  # type: ignore[attr-defined]

    def excerpt(self, node: ast.AST) -> str:
        """The line of a syntax node, with a caret under its beginning."""
        number, column = node.lineno, node.col_offset + 1  # type: ignore[attr-defined]
        return _with_caret(self.lines[number - 1], column) if number <= len(self.lines) else ""


@contextmanager
def shown_at(source: Source, node: ast.AST) -> Iterator[None]:
    """Give errors raised in the block this location in the kernel, unless they have one."""
    try:
        yield
    except KernelError:
        raise
    except XtcError as error:
        raise _kernel_error(source, node, error.what, error) from None
    except Exception as error:  # raised by Python, MLIR or a function of the user
        text = f"there is no key {error}" if isinstance(error, KeyError) else in_words(f"{error}")
        found = _kernel_error(source, node, text or type(error).__name__, None)
        found.hints = tuple(error_hints(error))
        raise found from error


def _kernel_error(source: Source, node: ast.AST, what: str, error: XtcError | None) -> KernelError:
    found = KernelError(
        what,
        where=source.location(node),
        notes=error.notes if error else (),
        hints=error.hints if error else (),
    )
    found.excerpt = source.excerpt(node)
    return found
