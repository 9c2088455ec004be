# SPDX-License-Identifier: Apache-2.0
"""Compares a module's results with its graph's reference on one set of inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtc.driver.arguments import empty_outputs
from xtc.driver.cached import build_or_fetch
from xtc.evaluate import Comparison, compare, rounding_noise, sample
from xtc.evaluate.dtypes import kind_of
from xtc.graph.graph import Graph
from xtc.graph.reference import evaluate_step
from xtc.interfaces.artifact import Artifact, Manifest
from xtc.ir.pipeline import PassRunner
from xtc.system.workspace import private_folder

if TYPE_CHECKING:
    from xtc.driver.compilation import Compilation

Array = np.ndarray[Any, Any]
Run = Callable[[Sequence[Array], Sequence[Array]], None]
"""Computes the outputs, the second argument, from the inputs."""

LONG_REDUCTION = 4096  # elements above which sequential summation is inaccurate


def samples(manifest: Manifest, seed: int, *, of_one_sign: bool = False) -> list[Array]:
    """An array of sample data for each input."""
    return [
        sample(argument.shape, argument.dtype, seed + position, of_one_sign=of_one_sign)
        for position, argument in enumerate(manifest.inputs)
    ]


def checked_artifact(
    compilation: Compilation, watched: Collection[str], resources: ExitStack
) -> Artifact | None:
    """The artifact with simulator checks enabled in the code of the devices `watched`.

    None if all code already has them. `resources` removes the artifact's folder.
    """
    devices = dict(compilation.devices)
    for name in watched:
        code = devices[name]
        devices[name] = replace(code, options=code.target.checked(code.options))
    if devices == compilation.devices:
        return None
    folder = Path(resources.enter_context(private_folder("checked-")))
    checked = replace(compilation, devices=devices, runner=PassRunner())
    return build_or_fetch(checked, folder, use_cache=True).artifact


def sums_at_length(graph: Graph, inputs: Sequence[Array]) -> bool:
    """Whether rounding errors of sums matter: there are long float reductions."""
    floats = any(kind_of(array.dtype) == "float" for array in inputs)
    return floats and graph.reduction_size >= LONG_REDUCTION


def compared(
    graph: Graph,
    manifest: Manifest,
    inputs: Sequence[Array],
    runs: Sequence[Run],
    *,
    roundoff: float,
    rtol: float | None = None,
    atol: float | None = None,
) -> list[Comparison]:
    """One comparison per output and state, of the first run.

    Raises MismatchError if any run is wrong.
    """
    names = [argument.name for argument in (*manifest.outputs, *manifest.states)]
    precise = _reference(graph, inputs, precise=True)
    rounded = _reference(graph, inputs, precise=False)
    noise = {name: rounding_noise(rounded[name], precise[name]) for name in names}
    found: list[list[Comparison]] = []
    for run in runs:
        given = [
            array.copy() if argument.state else array
            for argument, array in zip(manifest.inputs, inputs, strict=True)
        ]
        outputs = empty_outputs(manifest)
        run(given, outputs)
        named = zip(manifest.inputs, given, strict=True)
        states = [array for argument, array in named if argument.state]
        found.append(
            [
                compare(
                    actual,
                    precise[name],
                    rtol=rtol,
                    atol=atol,
                    name=name,
                    reduction=graph.reduction_size,
                    noise=noise[name],
                    roundoff=roundoff,
                )
                for name, actual in zip(names, (*outputs, *states), strict=True)
            ]
        )
        for comparison in found[-1]:
            comparison.raise_if_wrong()
    return found[0]


def _reference(graph: Graph, inputs: Sequence[Array], *, precise: bool) -> Mapping[str, Array]:
    outputs, states = evaluate_step(graph, inputs, {}, precise=precise)
    return {**outputs, **states}
