# SPDX-License-Identifier: Apache-2.0
"""Calls compiled code under a memory limit, in a separate process: memory_worker NAME OPTIONS.

Prints one JSON document. Run it in an environment in which large blocks of memory are separate
mappings, so that leaks show in the size of the address space, and freed memory is returned to the
system: MALLOC_MMAP_THRESHOLD_=65536 MALLOC_ARENA_MAX=1 with the GNU C library.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil

import xtc
import xtc.ops as O
from xtc.core.errors import DeviceMemoryError

MIB = 1 << 20
HEADROOM = 16 * MIB
TIMES = 1000


def temporaries() -> tuple[xtc.Graph, dict[str, Any]]:
    """Two temporary arrays of 12 MiB, of which only one fits."""
    a, b = O.tensor((1024, 8), name="A"), O.tensor((8, 3072), name="B")
    w = O.tensor((4, 1024), name="W")
    with O.graph(name="layers") as gb:
        x, y = O.matmul(a, b, name="X"), O.matmul(O.relu(a), b, name="Y")
        O.add(O.matmul(w, x), O.matmul(w, y), name="R")
    return gb.graph, {}


def loop() -> tuple[xtc.Graph, dict[str, Any]]:
    """An array of 20 MiB in each iteration of a parallel loop."""
    a, b = O.tensor((1, 5 * MIB), name="A"), O.tensor((5 * MIB, 2), name="B")
    with O.graph(name="packed") as gb:
        O.matmul(a, b, name="C")
    return gb.graph, {"C": {"j": {"parallelize": True, "pack": 1}, "k": {}, "i": {}}}


def network() -> tuple[xtc.Graph, dict[str, Any]]:
    """Matmuls whose arrays of 16 MiB share an arena, which the module keeps for later calls."""
    x = O.tensor((1024, 8), name="X")
    wide = O.tensor((8, 4096), const=np.ones((8, 4096), np.float32))
    narrow = O.tensor((4096, 8), const=np.full((4096, 8), 2.0**-15, np.float32))
    with O.graph(name="network") as gb:
        for _ in range(9):
            x = O.matmul(O.matmul(x, wide), narrow)
    return gb.graph, {}


@contextmanager
def little_memory() -> Iterator[None]:
    """Limit the memory to HEADROOM bytes more than the process has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + HEADROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def failures(module: xtc.Module, inputs: list[Any], out: Any) -> list[str]:
    """The error messages of many calls."""
    said = []
    for _ in range(TIMES):
        try:
            module(*inputs, out=out)
        except DeviceMemoryError as error:
            said.append(error.what)
    return said


def main(name: str, **options: Any) -> None:
    """Call with little memory and with enough memory."""
    graphs = {"temporaries": temporaries, "loop": loop, "network": network}
    graph, schedule = graphs[name]()
    with xtc.compile(graph, schedule=schedule, **options) as module:
        inputs = [np.ones(tensor.shape, np.float32) for tensor in module.artifact.manifest.inputs]
        out = np.empty(module.artifact.manifest.outputs[0].shape, np.float32)
        if name == "loop":  # threads, whose stacks are memory as well, start at the first call
            module(*inputs, out=out)
        before = psutil.Process().memory_info().vms
        with little_memory():
            said = failures(module, inputs, out)
        kept = psutil.Process().memory_info().vms - before
        module(*inputs, out=out)
    closed = psutil.Process().memory_info().vms - before
    answer = {"failed": len(said), "said": sorted(set(said)), "kept": kept, "closed": closed}
    json.dump({**answer, "result": sorted(set(out.ravel().tolist()))}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], **json.loads(sys.argv[2]))
