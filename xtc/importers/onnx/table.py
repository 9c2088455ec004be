# SPDX-License-Identifier: Apache-2.0
"""The operator table of the importer: (domain, operator, schema version) -> writer function.

The version of a schema is the operator set that introduced or last changed it; a file of operator
set 17 has Softmax of version 13. Versions must match exactly; a missing one is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xtc.importers.onnx.call import Call
from xtc.importers.values import Value

Result = Value | Sequence[Value | None]
Writer = Callable[[Call], Result]
AnyWriter = TypeVar("AnyWriter", bound=Writer)
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Entry:
    """An entry of the table.

    Attributes:
        write: appends operators that compute the node to the open graph, and returns its outputs.
        folds: whether a node of constants is folded at import.
    """

    write: Writer
    folds: bool = True


TABLE: dict[Key, Entry] = {}


def reads(
    name: str, *versions: int, domain: str = "", folds: bool = True
) -> Callable[[AnyWriter], AnyWriter]:
    """Register the function that writes operator `name` for these schema versions."""

    def register(write: AnyWriter) -> AnyWriter:
        for version in versions:
            TABLE[domain, name, version] = Entry(write, folds)
        return write

    return register


def versions_of(domain: str, name: str) -> list[int]:
    """The supported schema versions of an operator, ascending."""
    return sorted(version for d, n, version in TABLE if (d, n) == (domain, name))
