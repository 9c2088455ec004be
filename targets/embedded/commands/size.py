# SPDX-License-Identifier: Apache-2.0
"""Say what a program takes of a board's flash and RAM, by operator and by buffer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xtc.core.errors import ArtifactError
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.memory_map import MemoryMap
from xtc_targets.embedded.build import PLAN
from xtc_targets.embedded.passes import OPERATOR

_WIDTH = 40  # characters that a lifetime is drawn in


def run(argv: Sequence[str]) -> int:
    """Print the tables; returns the exit code. Raises XtcError."""
    parser = argparse.ArgumentParser(prog="xtc embedded size", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="what xtc-compile graph.py --target embedded -o FOLDER wrote"
    )
    artifact = Artifact.read(parser.parse_args(argv).folder)
    memory = artifact.manifest.memory
    if artifact.manifest.target != "embedded" or memory is None:
        raise ArtifactError("this is no program for a board", where=artifact.folder)
    print("\n".join([*_regions(memory), "", *_flash(memory), "", *_arena(artifact)]))
    return 0


def _regions(memory: MemoryMap) -> list[str]:
    return [
        f"{region.name:6} {region.address:#010x}  {memory.used(region.name):>9,} of "
        f"{region.nbytes:,} bytes"
        for region in memory.regions
    ]


def _flash(memory: MemoryMap) -> list[str]:
    """Symbols in flash, the largest first; operators by their names."""
    symbols = [symbol for symbol in memory.symbols if symbol.region == memory.regions[0].name]
    largest = sorted(symbols, key=lambda symbol: -symbol.nbytes)
    lines = ["    bytes  in flash"]
    return lines + [f"{s.nbytes:9,}  {s.name.rpartition(OPERATOR)[2]}" for s in largest]


def _arena(artifact: Artifact) -> list[str]:
    """Buffers by offset, and when they live, from the first call to the last."""
    buffers: list[dict[str, Any]] = json.loads(artifact.file(PLAN).read_text())
    last = max((buffer["end"] for buffer in buffers), default=0) or 1
    lines = ["   offset     bytes  lives                                     in the arena"]
    for buffer in sorted(buffers, key=lambda buffer: (buffer["offset"], buffer["begin"])):
        begin, end = (buffer[key] * (_WIDTH - 1) // last for key in ("begin", "end"))
        bar = " " * begin + "#" * (end - begin + 1)
        name = str(buffer["name"]).rpartition(OPERATOR)[2]
        lines.append(f"{buffer['offset']:9,} {buffer['bytes']:9,}  {bar:{_WIDTH}}  {name}")
    return lines
