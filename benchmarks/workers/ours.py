# SPDX-License-Identifier: Apache-2.0
"""This project, with its default schedule."""

from __future__ import annotations

from typing import Any

import numpy as np

import xtc
from benchmarks.peers.graphs import arguments_of, graph_of
from xtc.evaluate.dtypes import as_dtype

from .call import Array, Call, Workload, aligned


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The compiled graph, called on arrays that are checked once."""
    return compiled(workload, arrays, threads=threads)


def compiled(workload: Workload, arrays: list[Array], **options: Any) -> Call:
    """Compile with these options of `xtc.compile`; the module stays open until the call's end."""
    module = xtc.compile(graph_of(workload, arrays), cache=False, **options)
    manifest = module.artifact.manifest
    inputs = [_aligned_copy(array) for array in arguments_of(workload, arrays)]
    out = aligned(manifest.outputs[0].shape, as_dtype(manifest.outputs[0].dtype))
    loaded = module.host.load(module.artifact)
    arguments = [*inputs, out]
    call = loaded.bind([array.ctypes.data for array in arguments])

    def run(_alive: list[Array] = arguments) -> None:
        call()

    def result() -> Array:
        return out.astype(np.float32) if workload["dtype"] == "bfloat16" else out

    def close() -> None:
        module.host.unload(loaded)
        module.close()

    return Call(run, result, close)


def _aligned_copy(array: Array) -> Array:
    copy = aligned(array.shape, array.dtype)
    copy[...] = array
    return copy
