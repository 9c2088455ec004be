# SPDX-License-Identifier: Apache-2.0
"""Engines that run an ONNX file: each provides a call, and the results of the last call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Ready:
    """A file that is ready to run.

    Attributes:
        run: one call.
        results: the results of the last call, in the file's order.
        artifact_bytes: size of the compiled artifact with weights; 0 if none is kept.
        slowest: the most expensive operators, one line of text each, found by further calls.
    """

    run: Callable[[], object]
    results: Callable[[], Sequence[Array]]
    artifact_bytes: int = 0
    slowest: Callable[[], Sequence[str]] = lambda: ()


def _xtc(path: Path, arrays: Mapping[str, Array], threads: int) -> Ready:
    import xtc

    model = xtc.from_onnx(path)
    graph = model.graph
    module = xtc.compile(graph, threads=threads, cache=False)
    given = [arrays[name] for name in model.input_names(graph).values()]
    results = module(*given)
    out = results if isinstance(results, tuple) else (results,)
    folder = module.artifact.folder
    size = sum(file.stat().st_size for file in folder.iterdir()) if folder else 0

    def slowest() -> list[str]:
        found = module.profile(*given, repeat=5)
        return [
            f"{operator.name} ({'+'.join(operator.computes)}): {operator.seconds * 1e3:.2f} ms, "
            f"{operator.seconds / found.operator_seconds:.0%}, "
            f"{operator.flop_rate / 1e9:.0f} GFLOP/s, {operator.byte_rate / 1e9:.1f} GB/s"
            for operator in found.slowest(3)
        ]

    return Ready(lambda: module(*given, out=results), lambda: out, size, slowest)


def _onnxruntime(path: Path, arrays: Mapping[str, Array], threads: int) -> Ready:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in arrays.items():
        binding.bind_cpu_input(name, array)
    names = [given.name for given in session.get_outputs()]
    for name in names:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    values = binding.get_outputs()
    for name, value in zip(names, values, strict=True):
        binding.bind_ortvalue_output(name, value)  # later calls write to the same memory
    return Ready(
        lambda: session.run_with_iobinding(binding), lambda: [value.numpy() for value in values]
    )


def _openvino(path: Path, arrays: Mapping[str, Array], threads: int) -> Ready:
    import openvino

    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = openvino.Core().compile_model(str(path), "CPU", settings)
    request = compiled.create_infer_request()
    for name, array in arrays.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
    outputs = range(len(compiled.outputs))
    return Ready(request.infer, lambda: [request.get_output_tensor(n).data for n in outputs])


def _pytorch(path: Path, arrays: Mapping[str, Array], threads: int) -> Ready:
    return _torch(path, arrays, threads, inductor=False)


def _inductor(path: Path, arrays: Mapping[str, Array], threads: int) -> Ready:
    return _torch(path, arrays, threads, inductor=True)


def _torch(path: Path, arrays: Mapping[str, Array], threads: int, *, inductor: bool) -> Ready:
    import torch

    from benchmarks.networks.torch_module import module_of

    torch.set_num_threads(threads)
    network = module_of(path).eval()
    call: Any = torch.compile(network) if inductor else network
    given = [torch.from_numpy(array) for array in arrays.values()]
    last: list[Any] = []

    def run() -> None:
        with torch.inference_mode():
            last[:] = [call(*given)]

    return Ready(run, lambda: [value.numpy() for value in last[0]])


ENGINES: Mapping[str, Callable[[Path, Mapping[str, Array], int], Ready]] = {
    "xtc": _xtc,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "pytorch": _pytorch,
    "inductor": _inductor,
}
PACKAGES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "pytorch": "torch"} | {
    "inductor": "torch"
}
"""The packages that other engines need."""
