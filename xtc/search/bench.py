# SPDX-License-Identifier: Apache-2.0
"""The work of a worker process on a candidate: compile it, or check and time its code.

It runs in children of `xtc.search.worker`, which loads a problem once for all of them.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import math
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import xtc.ops as O
from xtc.core.errors import XtcError
from xtc.driver.compilation import Compilation
from xtc.driver.compile import prepare
from xtc.driver.module import Module
from xtc.evaluate import MismatchError, compare, rounding_noise, sample, time_calls
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import Artifact, Manifest
from xtc.ir.pipeline import PassRunner
from xtc.schedule import schedule_texts
from xtc.search.problem import Data, Problem

if TYPE_CHECKING:
    from xtc.ir.mlir import Context

Array = np.ndarray[Any, Any]

_SAMPLE_SECONDS = 1e-3  # the shortest sample, so that clock and call overhead are negligible
_FEW, _MORE = 3, 8  # samples of every candidate, and of one that may be the best
_FIRST = (
    10.0,
    0.02,
)  # a first call slower than the best by this factor and these seconds is not repeated
_HOPELESS = 3.0  # times the best time, above which two more calls are enough
_NOT_BETTER = 1.1  # times the best time, above which few samples are enough


_SMALL_SCHEDULE = "C: [j, k=pack:1, i, k#4, i#2=unroll, j#4=vectorize]"


def _nothing() -> None:
    return


def _small_product() -> Graph:
    left, right = O.tensor((8, 8), name="A"), O.tensor((8, 8), name="B")
    with O.graph(name="product") as builder:
        O.matmul(left, right, name="C")
    return builder.graph


@dataclass(frozen=True)
class _Expected:
    """The NumPy reference of an output in float64, and its rounding noise."""

    name: str
    values: Array
    noise: float


class Bench:
    """A problem: its graph and, once something is measured, its data and NumPy reference."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def warm_up(self) -> None:
        """Compile a matmul with and without a schedule, so that children inherit one-time
        initialization."""
        options = {"schedule": _SMALL_SCHEDULE, **self._problem.options}
        prepare(_small_product(), self._problem.target, **options).build(None, self._context)
        with contextlib.suppress(XtcError):  # the candidate without a schedule reports it
            self._compilation.build(None, self._context)

    def compile(self, schedule: str) -> Data:
        """Code for a schedule, "" for the default one. Raises like `xtc.compile`."""
        start = time.perf_counter()
        texts = schedule_texts(self._graph, schedule or None, trusted=False)
        compilation = replace(self._compilation, schedules=texts, runner=PassRunner())
        artifact = compilation.build(None, self._context)
        return {
            "objects": [base64.b64encode(code).decode() for code in artifact.objects],
            "manifest": artifact.manifest.to_json(),
            "seconds": time.perf_counter() - start,
        }

    def measure(self, compiled: Data, best: float | None, repeat: int | None) -> Data:
        """The seconds per call in "samples" if the code is correct, else the mistake in "wrong".

        Slower code than `best`, the best time so far, gets fewer samples. `repeat` is a fixed
        number of samples.
        """
        manifest = replace(Manifest.from_json(compiled["manifest"], Path("manifest")), flops=0)
        artifact = Artifact(
            manifest, objects=tuple(base64.b64decode(code) for code in compiled["objects"])
        )
        with ExitStack() as resources:
            target, options = self._compilation.target, self._compilation.options
            host = resources.enter_context(target.runtime(options))
            with Module(None, artifact, host, {}, resources) as module:
                for name, value in self._compilation.initial_states().items():
                    module.state[name] = value
                try:
                    first = self._check(module)
                except MismatchError as error:
                    return {"wrong": "; ".join([error.what, *error.notes])}
                return {"samples": self._times(module, first, best, repeat)}

    def load(self) -> None:
        """Create the data and NumPy's results, and let NumPy import its modules."""
        time_calls(_nothing, repeat=2).median  # noqa: B018
        for expected in self._expected:
            self._compare(expected, expected.values)

    def _check(self, module: Module) -> float:
        """Seconds of a first call. Raises MismatchError if it is wrong."""
        start = time.perf_counter()
        results = module(*self._inputs)
        seconds = time.perf_counter() - start
        outputs = results if isinstance(results, tuple) else (results,)
        for expected, actual in zip(self._expected, outputs, strict=True):
            self._compare(expected, actual)
        return seconds

    def _compare(self, expected: _Expected, actual: Array) -> None:
        compare(
            actual,
            expected.values,
            name=expected.name,
            reduction=self._graph.reduction_size,
            noise=expected.noise,
        ).raise_if_wrong()

    def _times(
        self, module: Module, first: float, best: float | None, repeat: int | None
    ) -> list[float]:
        if repeat is not None:
            best = None
        if best is not None and first > _FIRST[0] * best + _FIRST[1]:
            return [first]
        twice = self._samples(module, 2, 1)
        if best is not None and min(twice) > _HOPELESS * best:
            return twice
        number = max(1, math.ceil(_SAMPLE_SECONDS / max(min(twice), 1e-9)))
        if repeat is not None:
            return self._samples(module, repeat, number)
        few = self._samples(module, _FEW, number)
        if best is not None and min(few) > _NOT_BETTER * best:
            return few
        return [*few, *self._samples(module, _MORE, number)]

    def _samples(self, module: Module, repeat: int, number: int) -> list[float]:
        measured = module.measure(*self._inputs, repeat=repeat, number=number)
        return list(measured.timing.samples)

    @functools.cached_property
    def _context(self) -> Context:
        """An MLIR context for all children, with dialects loaded and without threads at a fork."""
        from xtc.ir.mlir import single_threaded_context

        return single_threaded_context()

    @functools.cached_property
    def _compilation(self) -> Compilation:
        return self._problem.compilation()

    @property
    def _graph(self) -> Graph:
        return self._compilation.graph

    @functools.cached_property
    def _inputs(self) -> list[Array]:
        return [
            sample(tensor.type.sizes, tensor.dtype, self._problem.seed + position)
            for position, tensor in enumerate(self._graph.inputs)
            if not tensor.state
        ]

    @functools.cached_property
    def _expected(self) -> list[_Expected]:
        precise, rounded = (self._reference(precise=precise) for precise in (True, False))
        return [
            _Expected(name, values, rounding_noise(rounded[name], values))
            for name, values in precise.items()
        ]

    def _reference(self, *, precise: bool) -> dict[str, Array]:
        names = [str(tensor.name) for tensor in self._graph.outputs]
        values = self._graph.evaluate(*self._inputs, precise=precise)
        return (
            {name: values[name] for name in names}
            if isinstance(values, dict)
            else {names[0]: values}
        )


@functools.lru_cache(maxsize=4)
def bench_of(problem: str) -> Bench:
    """The bench of a problem, given as the JSON of `Problem.as_dict`."""
    return Bench(Problem(**json.loads(problem)))
