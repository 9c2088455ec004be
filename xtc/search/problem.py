# SPDX-License-Identifier: Apache-2.0
"""Tuning problems as files and plain data, for other processes and machines."""

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
    """A graph, its target and options, and the seed of its sample data.

    Attributes:
        folder: contains only the graph; not owned by the problem.
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
                hints=["omit --target, or the operators' device="],
            )
        graph.save(folder / _GRAPH)
        return problem

    def compilation(self) -> Compilation:
        """A compilation of the graph without a schedule, before any stage has run."""
        return prepare(Graph.load(Path(self.folder, _GRAPH)), self.target, **self.options)

    def as_dict(self) -> Data:
        """As JSON types, for a process with access to the same files."""
        return asdict(self)

    def packed(self) -> Data:
        """As JSON types including the files, for another machine."""
        files = {
            path.name: base64.b64encode(path.read_bytes()).decode()
            for path in sorted(Path(self.folder).iterdir())
        }
        rest = {"target": self.target, "options": dict(self.options), "seed": self.seed}
        return {**rest, "files": files}

    @staticmethod
    def unpacked(data: Data, folder: Path) -> Problem:
        """The inverse of `packed`; writes the files to the empty `folder`."""
        for name, text in data["files"].items():
            if Path(name).name != name:
                raise UserError(f"'{name}' is not a file name")
            (folder / name).write_bytes(base64.b64decode(text))
        return Problem(str(folder), data["target"], data["options"], data["seed"])


def digest(data: Data) -> str:
    """A hash that identifies a packed problem."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
