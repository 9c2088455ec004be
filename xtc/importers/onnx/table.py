# SPDX-License-Identifier: Apache-2.0
"""The table of the importer: operator and version of its schema -> function that writes it.

A version of a schema is the operator set in which it came or last changed; a file of operator set
17 has Softmax of version 13. A version that is not in the table is not read: never the nearest one.
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
    """A line of the table.

    Attributes:
        write: appends what the node computes to the open graph, and returns its outputs.
        folds: whether a node of constants alone is computed at import.
    """

    write: Writer
    folds: bool = True


TABLE: dict[Key, Entry] = {}


def reads(
    name: str, *versions: int, domain: str = "", folds: bool = True
) -> Callable[[AnyWriter], AnyWriter]:
    """Marks the function that writes operator `name` as these versions of its schema say."""

    def register(write: AnyWriter) -> AnyWriter:
        for version in versions:
            TABLE[domain, name, version] = Entry(write, folds)
        return write

    return register


def versions_of(domain: str, name: str) -> list[int]:
    """The versions of an operator that the table has, ascending."""
    return sorted(version for d, n, version in TABLE if (d, n) == (domain, name))
