# SPDX-License-Identifier: Apache-2.0
"""Other front doors: ONNX, PyTorch, TensorFlow Lite, and graphs as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtc.core.errors import UserError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xtc.graph.graph import Graph
    from xtc.importers.onnx.model import OnnxModel
    from xtc.importers.torch.exported import TorchModel


def from_onnx(
    source: Any,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    states: Mapping[str, str] | None = None,
    device: object = None,
) -> OnnxModel:
    """The model in an ONNX file.

    Args:
        source: a path, or an `onnx.ModelProto`.
        dims: sizes of free dimensions, by the names that the file has for them; a dimension
            without a name is called after its input and its number: "x_0".
        values: arrays or numbers of inputs that become constants, by name.
        states: names of inputs that stay in the module between calls, as the cache of a language
            model, each with the name of the output that it is in the next call.
        device: where all operators run; inputs and outputs live on the host.

    Raises UserError if the package `onnx` is missing, the file is no model, or an input is of a
    type that graphs do not have.
    """
    try:
        from xtc.importers.onnx.load import load_model
        from xtc.importers.onnx.model import model_of
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise UserError(
            "xtc.from_onnx needs the package onnx", hints=["pip install 'onnx>=1.21'"]
        ) from None
    proto, arrays, file = load_model(source)
    return model_of(proto, arrays, file, dims or {}, values or {}, states or {}, device)


def from_yaml(path: str | Path) -> Graph:
    """The graph in a YAML file, in this project's form (`Graph.save`) or in that of xtc-tools.

    Raises UserError, with line and column, for anything else.
    """
    from xtc.importers.graph_yaml import graph_of

    return graph_of(Path(path))


def from_torch(
    program: ExportedProgram,
    *,
    name: str = "model",
    dims: Mapping[str, int] | None = None,
    device: object = None,
) -> Graph | TorchModel:
    """The graph of what `torch.export.export(module, args)` gives, weights as constants.

    Args:
        program: as exported.
        name: of the graph.
        dims: sizes of dimensions that the program leaves free, called after the first input that
            has them and its number: "x_0".
        device: where all operators run; inputs and outputs live on the host.

    Returns: the graph; or a model, where sizes stay free, which `xtc.compile` takes as it is.

    Raises UserError if the package `torch` is missing, for names and sizes that do not fit, and
    with all operators that are not supported, each with the line of the program that wrote it.
    """
    try:
        from torch.export import ExportedProgram
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UserError(
            "xtc.from_torch needs the package torch", hints=["pip install 'torch>=2.13'"]
        ) from None
    from xtc.importers.torch.exported import model_of

    if not isinstance(program, ExportedProgram):
        raise UserError(
            f"xtc.from_torch takes an exported program, not {type(program).__name__}",
            hints=["torch.export.export(module, example_arguments) gives one"],
        )
    return model_of(program, name, dims or {}, device)


def import_tflite(path: str | Path, *, device: object = None) -> Graph:
    """The graph in a TensorFlow Lite file: float32, or int8 with the bits of its reference kernels.

    All operators run on `device`; inputs and outputs live on the host.

    Raises UserError if the package `tflite` is missing, the file is no model, and with all
    operators that are not supported.
    """
    try:
        from xtc.importers.tflite.convert import graph_of
    except ModuleNotFoundError as error:
        if error.name not in ("tflite", "flatbuffers"):
            raise
        raise UserError(
            "xtc.import_tflite needs the package tflite", hints=["pip install 'tflite>=2.18'"]
        ) from None
    if not isinstance(path, str | Path):
        raise UserError(f"xtc.import_tflite takes a path, not {type(path).__name__}")
    return graph_of(Path(path), device)
