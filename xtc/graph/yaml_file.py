# SPDX-License-Identifier: Apache-2.0
"""Graphs as YAML files with their constants; large constants are in a `.npz` file beside it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xtc.core.errors import UserError
from xtc.graph.array_text import listed
from xtc.graph.constants_file import SUFFIX, file_sha256, write_constants
from xtc.graph.finish import FinishedGraph
from xtc.graph.tensor import Tensor
from xtc.graph.yaml_read import LIMITS, read_document, read_graph
from xtc.graph.yaml_write import graph_text

if TYPE_CHECKING:
    from xtc.graph.graph import Graph

MAX_INLINE = 1 << 20


def parse_graph(text: str, where: str = "<text>") -> FinishedGraph:
    """The graph that `text` describes; `where` is the text's name in errors."""
    return read_graph(read_document(text, where), None)


def load_graph(path: Path) -> FinishedGraph:
    """Read a graph that `save_graph` wrote. Raises UserError for other files."""
    return read_graph(read_document(_read_text(path), str(path)), path.resolve().parent)


def save_graph(graph: Graph, path: Path) -> None:
    """Write the graph as YAML; an error leaves no partial file.

    Constants of more than `MAX_INLINE` bytes in total go to `<stem>.constants.npz` in the same
    folder. Raises UserError if the folder is not writable.
    """
    stored = [
        t for t in graph.constants if t.const is not None and listed(t.const, t.element) is None
    ]
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        if sum(tensor.type.nbytes for tensor in stored) <= MAX_INLINE:
            with _replacing(path) as file:
                file.write(graph_text(graph).encode())
        else:
            _save_both(graph, stored, path)
    except (OSError, ValueError) as error:
        raise UserError(
            f"graph '{graph.name}' cannot be saved as '{path}'",
            notes=[getattr(error, "strerror", None) or str(error)],
        ) from None


def _save_both(graph: Graph, stored: list[Tensor], path: Path) -> None:
    beside = path.with_name(path.stem + SUFFIX)
    with _replacing(path) as file, _replacing(beside) as constants:
        arrays = {str(t.name): t.const for t in stored if t.const is not None}
        write_constants(constants, arrays)
        digest = file_sha256(constants)
        file.write(graph_text(graph, set(stored), (beside.name, digest)).encode())


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces `path` at the end of the block, or is removed on an error."""
    temporary = path.with_name(f".{secrets.token_hex(12)}.tmp")
    try:
        with temporary.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise UserError(f"there is no graph file '{path}'")
        with path.open("rb") as file:
            data = file.read(LIMITS.text + 1)
        if len(data) > LIMITS.text:
            raise UserError(f"'{path}' is longer than {LIMITS.text >> 20} MiB")
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"'{path}' is not UTF-8 text", notes=[str(error)]) from None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read", notes=[str(error.strerror or error)]) from None
