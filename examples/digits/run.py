# SPDX-License-Identifier: Apache-2.0
"""Runs one model on one target over all test images, and compares it with NumPy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import xtc
from examples.digits.data import Digits, Labels, load_split
from examples.digits.demo_targets import DemoTarget
from examples.digits.models import DemoModel, Images

WARM_UP_CALLS = 20

Probabilities = npt.NDArray[np.floating[Any]]
Progress = Callable[[str, int, int], None]
"""Receives the current activity, the number of finished batches, and their total."""


@dataclass(frozen=True)
class BoardFigures:
    """The cost of a program on a board: bytes, and instructions per image."""

    flash: int
    ram: int
    instructions: int


@dataclass(frozen=True)
class Outcome:
    """The results of one model on one target; all probabilities have the shape (images, 10).

    `tolerance` is the fraction of images that it may misread beyond the NumPy reference.
    """

    model: str
    target: str
    labels: Labels
    probabilities: Probabilities
    reference: Probabilities
    compile_seconds: float
    batch_seconds: float | None
    bytes_per_batch: int | None
    modelled_batch_seconds: float | None = None
    board: BoardFigures | None = None
    tolerance: float = 0.0

    @property
    def correct(self) -> int:
        """Number of images read correctly."""
        return int(np.sum(self.predictions == self.labels))

    @property
    def reference_correct(self) -> int:
        """Number of images that the NumPy reference reads correctly."""
        return int(np.sum(most_likely(self.reference) == self.labels))

    @property
    def predictions(self) -> Labels:
        """The digit read in each image."""
        return most_likely(self.probabilities)

    @property
    def accuracy(self) -> float:
        """`correct` as a fraction of the images."""
        return self.correct / len(self.labels)

    @property
    def agreement(self) -> float:
        """The fraction of images read as the same digit as by the NumPy reference."""
        return float(np.mean(self.predictions == most_likely(self.reference)))

    @property
    def max_difference(self) -> float:
        """The largest difference of a probability from the NumPy reference; NaN propagates."""
        return float(np.max(np.abs(self.probabilities - self.reference)))


def most_likely(probabilities: Probabilities) -> Labels:
    """The most likely digit of each row."""
    digits: Labels = probabilities.argmax(axis=1)
    return digits


@dataclass(frozen=True)
class BatchRun:
    """The results of all images, and the wall time of each batch in seconds."""

    probabilities: Probabilities
    seconds: list[float]


def padded_batches(images: Images, batch: int) -> Iterator[Images]:
    """The images in batches of exactly `batch`; the last one is padded with zeros.

    A module compiled for one batch size can thus process any number of images.
    """
    for start in range(0, len(images), batch):
        part = images[start : start + batch]
        missing = batch - len(part)
        yield np.pad(part, [(0, missing)] + [(0, 0)] * (part.ndim - 1)) if missing else part


def warm_up(module: Callable[[Images], Any], images: Images, batch: int) -> None:
    """Warm up Python and the caches; otherwise the first target looks slow."""
    first = next(padded_batches(images, batch))
    for _ in range(WARM_UP_CALLS):
        module(first)


def run_batches(
    module: Callable[[Images], Any], images: Images, batch: int, progress: Callable[[int], None]
) -> BatchRun:
    """Call `module` batch by batch; `progress` receives the number of finished batches."""
    results, seconds = [], []
    for done, part in enumerate(padded_batches(images, batch), start=1):
        begin = time.perf_counter()
        results.append(np.asarray(module(part)))
        seconds.append(time.perf_counter() - begin)
        progress(done)
    return BatchRun(np.concatenate(results)[: len(images)], seconds)


def run(
    model: DemoModel, target: DemoTarget, digits: Digits, batch: int, progress: Progress
) -> Outcome:
    """Compile `model` for `target` and run it on all `digits`; closes what it opens."""
    device = target.open()
    with nullcontext() if device is None else closing(device):
        return _run_on(device, model, target, digits, batch, progress)


def _run_on(
    device: Any,
    model: DemoModel,
    target: DemoTarget,
    digits: Digits,
    batch: int,
    progress: Progress,
) -> Outcome:
    images, label = model.images(digits), f"{model.name} on {target.label}"
    batch = target.batch or batch
    batches = -(-len(images) // batch)
    progress(f"compile {label}", 0, batches)
    # A board runs the whole program; on other devices, operators are placed.
    meaning = graph = model.graph(None if target.board else device, int8=target.int8)
    if target.quantized:
        training, _ = load_split()
        graph = xtc.quantize(graph, [model.images(training)])
    begin = time.perf_counter()
    compile_for = "host" if device is None else device
    module = xtc.compile(graph, target=compile_for, dims={"batch": batch}, **target.options)
    compile_seconds = time.perf_counter() - begin
    moved = target.bytes_moved or (lambda _: 0)
    modelled = target.modelled_seconds or (lambda _: 0.0)
    with module:
        if target.timed and target.modelled_seconds is None:
            warm_up(module, images, batch)
        before, start = moved(device), modelled(device)
        result = run_batches(
            module, images, batch, lambda done: progress(f"run {label}", done, batches)
        )
        figures = board_figures(module, len(images)) if target.board else None
        bytes_moved, seconds = moved(device) - before, modelled(device) - start
    return Outcome(
        model=model.name,
        target=target.label,
        labels=digits.labels,
        probabilities=result.probabilities,
        reference=meaning.evaluate(images=images),
        compile_seconds=compile_seconds,
        batch_seconds=statistics.median(result.seconds) if target.timed else None,
        bytes_per_batch=bytes_moved // batches if target.bytes_moved else None,
        modelled_batch_seconds=seconds / batches if target.modelled_seconds else None,
        board=figures,
        tolerance=0.01 if target.quantized else 0.0,
    )


def board_figures(module: xtc.Module, images: int) -> BoardFigures:
    """The cost of a module on a board for this number of images."""
    counters = module.host.counters()
    flash, ram = (int(counters[f"embedded.{name}_BYTES"]) for name in ("FLASH", "RAM"))
    return BoardFigures(flash, ram, int(counters["embedded.INSTRUCTIONS"]) // images)
