# SPDX-License-Identifier: Apache-2.0
"""Importers: ONNX, PyTorch, TensorFlow Lite, and graphs as text."""

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
        dims: sizes of dynamic dimensions by their names in the file; an unnamed dimension is named
            after its input and its index: "x_0".
        values: arrays or numbers by input name; these inputs become constants.
        states: inputs that the module keeps between calls, such as the cache of a language model;
            each name maps to the output that holds the next value.
        device: the device of all operators; inputs and outputs live on the host.

    Raises UserError if the package `onnx` is missing, the file is not a model, or an input has an
    unsupported type.
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
    """The graph in a YAML file, in this project's format (`Graph.save`) or that of xtc-tools.

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
    """The graph of a program from `torch.export.export(module, args)`, with weights as constants.

    Args:
        program: the exported program.
        name: the graph's name.
        dims: sizes of the program's dynamic dimensions, named after their first input and index:
            "x_0".
        device: the device of all operators; inputs and outputs live on the host.

    Returns: the graph or, if sizes remain free, a model, which `xtc.compile` accepts too.

    Raises UserError if the package `torch` is missing, for invalid names and sizes, and for
    unsupported operators; the error lists all of them with their source lines.
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
            hints=["torch.export.export(module, example_arguments) returns one"],
        )
    return model_of(program, name, dims or {}, device)


def import_tflite(path: str | Path, *, device: object = None) -> Graph:
    """The graph in a TensorFlow Lite file: float32, or int8 bit-identical to its reference kernels.

    All operators run on `device`; inputs and outputs live on the host.

    Raises UserError if the package `tflite` is missing, if the file is not a model, and for
    unsupported operators; the error lists all of them.
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
