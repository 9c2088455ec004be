# SPDX-License-Identifier: Apache-2.0
"""Many small functions compiled as one module, which takes two thirds of the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xtc.driver import Compilation
from xtc.driver.arguments import empty_outputs, host_arrays
from xtc.interfaces.artifact import Artifact
from xtc.ir import mlir
from xtc.ir.packed_constants import packed_constants
from xtc.ir.pipeline import PassRunner

Array = np.ndarray[Any, Any]


def results(batch: Sequence[Compilation], inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """The outputs of each graph on its inputs; all graphs have the same target and options."""
    common = batch[0].graph.name
    batch = [_named(compilation, number) for number, compilation in enumerate(batch)]
    first = batch[0]
    text = "".join(map(_functions, batch))
    constants = {name: data for c in batch for name, data in c.request().constants.items()}
    with mlir.Context():
        module = mlir.Module.parse(text).operation
        PassRunner().run(module, first.target.pipeline(first.options))
        data = packed_constants(module, constants)
        request = replace(first.request(), entry=common, constants=data)
        artifact = first.target.build_in_memory(module, request, first.options)
    found = []
    with first.target.runtime(first.options) as runtime:
        for member, arrays in zip(batch, inputs, strict=True):
            manifest = replace(
                artifact.manifest, entry=member.graph.name, arguments=member.arguments()
            )
            loaded = runtime.load(Artifact(manifest, objects=artifact.objects))
            given = host_arrays(manifest, arrays, {})
            outputs = empty_outputs(manifest)
            loaded.bind([array.ctypes.data for array in (*given, *outputs)])()
            runtime.unload(loaded)
            found.append(outputs)
    return found


def _named(compilation: Compilation, number: int) -> Compilation:
    """The compilation of a graph under a unique name, the prefix of its constants' symbols."""
    graph = compilation.graph
    return replace(compilation, graph=replace(graph, name=f"{graph.name}{number}"))


def _functions(compilation: Compilation) -> str:
    """The text of a graph's function, and of its constants."""
    lines = compilation.source(locations=False).splitlines()
    assert (lines[0], lines[-1]) == ("module {", "}")
    return "\n".join([*lines[1:-1], ""])
