# SPDX-License-Identifier: Apache-2.0
"""What is tuned, in a form that other processes and machines read: files and plain data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError
from xtc.driver.compilation import Compilation
from xtc.driver.compile import prepare
from xtc.graph.graph import Graph

_GRAPH = "graph.yaml"
Data = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A graph, what it is compiled for, and the seed of the data that it is checked on.

    Attributes:
        folder: holds the graph, and nothing else; the problem does not own it.
        target: name of the target.
        options: given options of the target, by name.
        seed: of the sample data.
    """

    folder: str
    target: str
    options: Mapping[str, Any]
    seed: int

    @staticmethod
    def of(
        graph: Graph, folder: Path, target: str, options: Mapping[str, Any], seed: int
    ) -> Problem:
        """The problem of `graph`, whose dimensions are fixed, written to the empty `folder`.

        Raises UserError if the program cannot be measured in a child process.
        """
        problem = Problem(str(folder), target, dict(options), seed)
        compilation = prepare(graph, target, **options)
        if compilation.devices:
            raise UserError(
                f"'{graph.name}' runs on {', '.join(compilation.devices)}; "
                "only programs without devices are tuned",
                hints=["leave out --target, or take the operators' device= away"],
            )
        graph.save(folder / _GRAPH)
        return problem

    def compilation(self) -> Compilation:
        """A compilation of the graph without a schedule, that has run nothing yet."""
        return prepare(Graph.load(Path(self.folder, _GRAPH)), self.target, **self.options)

    def as_dict(self) -> Data:
        """As JSON types, for a process that reads the same files."""
        return asdict(self)

    def packed(self) -> Data:
        """As JSON types with the files in it, for another machine."""
        files = {
            path.name: base64.b64encode(path.read_bytes()).decode()
            for path in sorted(Path(self.folder).iterdir())
        }
        rest = {"target": self.target, "options": dict(self.options), "seed": self.seed}
        return {**rest, "files": files}

    @staticmethod
    def unpacked(data: Data, folder: Path) -> Problem:
        """What `packed` made, its files written to the empty `folder`."""
        for name, text in data["files"].items():
            if Path(name).name != name:
                raise UserError(f"'{name}' is no name of a file")
            (folder / name).write_bytes(base64.b64decode(text))
        return Problem(str(folder), data["target"], data["options"], data["seed"])


def digest(data: Data) -> str:
    """What tells packed problems apart."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
