# SPDX-License-Identifier: Apache-2.0
"""The server behind `xtc.tile.tuning.ranking`: each child compiles one candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xtc.core import discover
from xtc.core.extensions import extend
from xtc.interfaces.target import AcceleratorTarget
from xtc.ir.mlir import single_threaded_context
from xtc.ir.tile_dialect import load_tile_dialect
from xtc.system.sandbox import Job, serve
from xtc.tile.launch.code import IMAGE, Compiler


def main() -> None:
    """Serve until standard input ends."""
    context = single_threaded_context()
    load_tile_dialect(context)

    def work(job: Job) -> str:
        image = _compiler(job).image(job["text"], context, job["symbol"])
        (Path(job["folder"]) / IMAGE).write_bytes(image)
        return ""

    serve(work, _prepare)


def _prepare(job: Job) -> None:
    """Import the modules that every child needs."""
    for file in job["extensions"]:
        extend(file)
    _compiler(job)


def _compiler(job: Job) -> Compiler:
    target = discover.target(job["target"])
    assert isinstance(target, AcceleratorTarget)  # noqa: S101
    options = target.options(**{name: _plain(value) for name, value in job["options"].items()})
    support = target.tiles(options)
    assert support is not None  # noqa: S101
    return Compiler(target, options, support.pipeline)


def _plain(value: Any) -> Any:
    """JSON has no tuples."""
    return tuple(value) if isinstance(value, list) else value
