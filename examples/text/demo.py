# SPDX-License-Identifier: Apache-2.0
"""Read text in a picture with three networks of the package rapidocr, compiled by xtc.

The package finds lines of text, rotates upside-down ones, and recognizes them; it runs its networks
in ONNX Runtime. The demo also runs them as compiled graphs: the strings must be equal. Run as
`make demo-text`, or `python -m examples.text.demo --help`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import xtc
from xtc.core.errors import UserError, XtcError

Array = np.ndarray[Any, Any]
LINES = ("Hello compiler 2026", "models are files")
STAGES = ("text_det", "text_cls", "text_rec")


@dataclass
class Timed:
    """A network that records the seconds of each call; other attributes are the session's.

    Attributes:
        run: runs the network on one array.
        session: the session of the package.
        seconds: seconds of the calls so far.
        shapes: input shapes of the calls.
    """

    run: Callable[[Array], Any]
    session: Any
    seconds: list[float] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def __call__(self, array: Array) -> Any:
        start = time.perf_counter()
        result = self.run(array)
        self.seconds.append(time.perf_counter() - start)
        self.shapes.append(array.shape)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


def picture(lines: Sequence[str]) -> Array:
    """Black letters on white, one line of text below the other, as (height, width, 3) bytes."""
    import cv2

    image = np.full((60 * len(lines) + 20, 460, 3), 255, np.uint8)
    for number, line in enumerate(lines, start=1):
        cv2.putText(
            image, line, (12, 60 * number - 10), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (0, 0, 0), 2
        )
    return image


def reader(side: int) -> Any:
    """The package's pipeline with loaded networks. Raises UserError if it is not installed."""
    try:
        from rapidocr import RapidOCR
    except ModuleNotFoundError:
        raise UserError(
            "the demo needs the packages rapidocr and onnxruntime",
            hints=["pip install rapidocr onnxruntime"],
        ) from None
    settings = {
        "Global.log_level": "error",
        "Det.limit_type": "max",
        "Det.limit_side_len": side,
    }
    return RapidOCR(params=settings)


def compiled(session: Any) -> Callable[[Array], Array]:
    """The network of an ONNX Runtime session, compiled for each size on first use."""
    module = xtc.compile(xtc.from_onnx(session.session._model_path))

    def run(array: Array) -> Array:
        result: Array = module(array)
        return result

    return run


def strings(engine: Any, image: Array) -> list[str]:
    """The strings that the pipeline recognizes."""
    return list(engine(image).txts or ())


def compare(side: int, console: Console) -> bool:
    """Read with both engines; print strings and times; return whether the strings are equal."""
    engine, image = reader(side), picture(LINES)
    strings(engine, image)  # loads the networks
    sessions = {stage: getattr(engine, stage).session for stage in STAGES}
    theirs = {stage: Timed(session, session) for stage, session in sessions.items()}
    wanted = _timed(engine, image, theirs)
    console.print(f"ONNX Runtime reads {wanted}", markup=False)
    ours = {stage: Timed(compiled(session), session) for stage, session in sessions.items()}
    start = time.perf_counter()
    _timed(engine, image, ours)
    console.print(f"compiled in {time.perf_counter() - start:.0f} s", markup=False)
    found = _timed(engine, image, ours)
    console.print(f"xtc reads          {found}", markup=False)
    console.print(_table(theirs, ours))
    return found == wanted


def _timed(engine: Any, image: Array, networks: dict[str, Timed]) -> list[str]:
    for stage, network in networks.items():
        network.seconds.clear()
        network.shapes.clear()
        getattr(engine, stage).session = network
    return strings(engine, image)


def _table(theirs: dict[str, Timed], ours: dict[str, Timed]) -> Table:
    table = Table("network", "calls", "largest input", "ONNX Runtime, ms", "xtc, ms")
    for stage in STAGES:
        shapes = ours[stage].shapes
        largest = max(shapes, key=np.prod, default=())
        table.add_row(
            stage.removeprefix("text_"),
            str(len(shapes)),
            "x".join(map(str, largest)),
            f"{sum(theirs[stage].seconds) * 1e3:.1f}",
            f"{sum(ours[stage].seconds) * 1e3:.1f}",
        )
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """The demo's exit code: 0, or 1 if something failed or the strings differ."""
    parser = argparse.ArgumentParser(prog="examples.text.demo", description=__doc__)
    parser.add_argument("--side", type=int, default=320, help="longest image side for detection")
    args = parser.parse_args(argv)
    console = Console()
    try:
        equal = compare(args.side, console)
    except XtcError as error:
        Console(stderr=True).print(f"error: {error}", markup=False, highlight=False)
        return 1
    console.print("the strings are equal" if equal else "the strings differ")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
