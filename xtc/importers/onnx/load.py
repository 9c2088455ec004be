# SPDX-License-Identifier: Apache-2.0
"""Reads and checks a model; a malformed file raises UserError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx

from xtc.core.errors import UserError
from xtc.importers.onnx.large_constants import is_repeated, with_inputs, without_data
from xtc.importers.onnx.sort_nodes import sort_nodes
from xtc.importers.values import Array

_DOMAINS = ("", "ai.onnx")


def load_model(source: Any) -> tuple[onnx.ModelProto, dict[str, Array], str | None]:
    """The checked model, the arrays of its constants without data, and its file, if any.

    Nodes are sorted topologically if the file's order is not. Two common deviations are repaired:
    "ai.onnx" as the name of the standard operator set, and constants that are not inputs in files
    of the first versions.

    External data of constants is read too; it must lie in the folder of the model's file.

    Raises UserError for invalid files.
    """
    if not isinstance(source, onnx.ModelProto | str | Path):
        raise UserError(f"xtc.from_onnx takes a path or a model, not {type(source).__name__}")
    is_model = isinstance(source, onnx.ModelProto)
    file = None if is_model else str(source)
    whole = source if is_model else _read(Path(source))
    with _refused(file):
        _check_texts(whole)
    model, arrays = without_data(whole)
    _make_valid(model)
    with _refused(file):
        sort_nodes(model.graph)
        onnx.checker.check_model(with_inputs(model, arrays))
    return model, arrays, file


def _make_valid(model: onnx.ModelProto) -> None:
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.shape.SetInParent()  # required by the checker, unused otherwise
    inputs = {value.name for value in model.graph.input}
    if model.ir_version == 3 and any(x.name not in inputs for x in model.graph.initializer):
        model.ir_version = 4  # the first version that permits them
    if any(entry.domain == "ai.onnx" for entry in model.opset_import):
        _rename_domain(model)


def _rename_domain(model: onnx.ModelProto) -> None:
    """Rename "ai.onnx", the long name of the standard domain, to "", which the checker expects."""
    named = {entry.domain for entry in model.opset_import}
    for entry in list(model.opset_import):
        if entry.domain == "ai.onnx" and "" in named:
            model.opset_import.remove(entry)
        elif entry.domain == "ai.onnx":
            entry.domain = ""
    graphs = [model.graph]
    while graphs:
        for node in graphs.pop().node:
            node.domain = "" if node.domain == "ai.onnx" else node.domain
            for attribute in node.attribute:
                graphs += [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]


def _read(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    try:
        return onnx.load(str(path))
    except Exception as error:  # onnx and protobuf raise arbitrary errors for damaged files
        raise UserError(
            f"{path} cannot be read as an ONNX model",
            notes=[_first_line(error)],
            hints=_external_hint(error),
        ) from None


def _external_hint(error: Exception) -> list[str]:
    text = str(error).lower()
    if "external" in text or "symlink" in text or "outside" in text:
        return ["data of constants must be plain files, not links, in the model's own folder"]
    return []


@contextmanager
def _refused(file: str | None) -> Iterator[None]:
    """Convert errors of a check to UserError."""
    try:
        yield
    except Exception as error:
        raise UserError(
            "the model violates ONNX's rules", where=file, notes=[_first_line(error)]
        ) from None


def _check_texts(message: Any) -> None:
    """Raise ValueError if a string is not UTF-8; protobuf returns it as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for item in value if is_repeated(field) else [value]:
                _check_texts(item)
        elif field.type == field.TYPE_STRING:
            for text in value if is_repeated(field) else [value]:
                if not isinstance(text, str):
                    raise ValueError(f"the text {text!r} is not UTF-8")


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"


def opsets(model: onnx.ModelProto) -> dict[str, int]:
    """The versions of the operator sets that the model uses, by domain."""
    return {
        "" if entry.domain in _DOMAINS else entry.domain: entry.version
        for entry in model.opset_import
    }


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Attributes as Python values: tensors as arrays, bytes as strings. Raises UserError."""
    return {attribute.name: _attribute(attribute) for attribute in node.attribute}


def _attribute(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [item.decode("utf-8") for item in value]
    if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return list(value)
    return value
