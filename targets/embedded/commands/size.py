# SPDX-License-Identifier: Apache-2.0
"""Print the flash and RAM that a program needs, by operator and by buffer."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xtc.core.errors import ArtifactError, UserError
from xtc.interfaces.artifact import Artifact
from xtc.interfaces.memory_map import MemoryMap
from xtc.system.workspace import private_folder
from xtc_targets.embedded.build import PLAN
from xtc_targets.embedded.commands._picture import picture
from xtc_targets.embedded.passes import OPERATOR

_WIDTH = 40  # width of a drawn lifetime in characters


def run(argv: Sequence[str]) -> int:
    """Print the tables; returns the exit code. Raises XtcError."""
    parser = argparse.ArgumentParser(prog="xtc embedded size", description=__doc__)
    parser.add_argument(
        "graph", type=Path, help="a graph as for xtc-compile, or a folder that it wrote with -o"
    )
    parser.add_argument("--board", help="board of a graph (default: nucleo-l4r5zi)")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="size of a symbolic dimension; may be repeated",
    )
    parser.add_argument(
        "--option",
        "-O",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the target, such as opt_level=2; may be repeated",
    )
    parser.add_argument(
        "--svg", type=Path, help="file for a drawing of the arena's buffers over time"
    )
    args = parser.parse_args(argv)
    if args.graph.is_dir():
        return _report(args.graph, args.svg)
    with private_folder("size") as folder:
        program = Path(folder, "program")
        status = _compiled(args, program)
        return status or _report(program, args.svg)


def _compiled(args: argparse.Namespace, folder: Path) -> int:
    """Run xtc-compile, which reports what does not fit; returns its exit code."""
    options = [*args.option, *([f"board={args.board}"] if args.board else [])]
    command = [sys.executable, "-m", "xtc.cli.main", "compile", str(args.graph)]
    command += ["--target", "embedded", "-o", str(folder)]
    command += [text for option in options for text in ("-O", option)]
    command += [text for dim in args.dim for text in ("--dim", dim)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode  # noqa: S603


def _report(folder: Path, svg: Path | None) -> int:
    artifact = Artifact.read(folder)
    memory = artifact.manifest.memory
    if artifact.manifest.target != "embedded" or memory is None:
        raise ArtifactError("this is not a program for a board", where=artifact.folder)
    print("\n".join([*_regions(memory), "", *_flash(memory), "", *_arena(artifact)]))
    if svg is not None:
        _draw(artifact, svg)
    return 0


def _draw(artifact: Artifact, path: Path) -> None:
    buffers = [{**b, "name": str(b["name"]).rpartition(OPERATOR)[2]} for b in _buffers(artifact)]
    arena = max((b["offset"] + b["bytes"] for b in buffers), default=0)
    try:
        path.write_text(picture(buffers, arena), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def _buffers(artifact: Artifact) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(artifact.file(PLAN).read_text())
    return found


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
    """Buffers by offset, with their lifetimes from the first call to the last."""
    buffers = _buffers(artifact)
    last = max((buffer["end"] for buffer in buffers), default=0) or 1
    lines = ["   offset     bytes  lives                                     in the arena"]
    for buffer in sorted(buffers, key=lambda buffer: (buffer["offset"], buffer["begin"])):
        begin, end = (buffer[key] * (_WIDTH - 1) // last for key in ("begin", "end"))
        bar = " " * begin + "#" * (end - begin + 1)
        name = str(buffer["name"]).rpartition(OPERATOR)[2]
        lines.append(f"{buffer['offset']:9,} {buffer['bytes']:9,}  {bar:{_WIDTH}}  {name}")
    return lines
