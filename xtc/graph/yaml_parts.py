# SPDX-License-Identifier: Apache-2.0
"""Readers of the independent parts of a graph's YAML: types, devices, constants, operators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xtc.core.errors import UserError, located
from xtc.core.types import TensorType, tensor_type
from xtc.core.yaml_tree import Leaf, List, Tree
from xtc.graph import known_operators
from xtc.graph.array_text import Array, from_base64, from_list
from xtc.graph.attributes import attribute_names, check_attribute, missing_attributes
from xtc.graph.constants_file import check_file_name, read_constants
from xtc.graph.operator import Operator
from xtc.graph.placement import Placement
from xtc.graph.yaml_fields import fields, items, scalar, text

_TARGET_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DEVICE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,79}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def declared_type(shape: Tree, dtype: Tree) -> TensorType:
    """A tensor's type. Raises UserError like `tensor_type`."""
    dims = tuple(scalar(item, "a dimension") for item in items(shape, "shape"))
    with located(dtype.where):
        tensor_type((), text(dtype, "dtype"))
    with located(shape.where):
        return tensor_type(dims, text(dtype, "dtype"))


def device(tree: Tree | None) -> Placement | None:
    """The device of a tensor or an operator; None, the host, if the key is absent."""
    if tree is None:
        return None
    data = fields(tree, "device", ("target", "name"))
    for key, allowed in (("target", _TARGET_NAME), ("name", _DEVICE_NAME)):
        if allowed.fullmatch(text(data[key], key)) is None:
            raise UserError(
                f"{text(data[key], key)!r} is not the {key} of a device", where=data[key].where
            )
    return Placement(text(data["target"], "target"), text(data["name"], "name"))


def constant_data(tree: Tree, type: TensorType) -> Array:
    """A constant inside the file: base64 if it is text, else nested lists of numbers."""
    with located(tree.where):
        if isinstance(tree, Leaf) and isinstance(tree.value, str):
            return from_base64(tree.value, type)
        return from_list(tree, type)


def stored_constants(
    tree: Tree, folder: Path | None, types: Mapping[str, TensorType]
) -> dict[str, Array]:
    """The constants in the separate constants file, by name."""
    data = fields(tree, "constants_file", ("name", "sha256"))
    with located(data["name"].where):
        file = check_file_name(text(data["name"], "the name of the constants file"))
        sha256 = text(data["sha256"], "sha256")
        if _SHA256.fullmatch(sha256) is None:
            raise UserError("sha256 must have 64 hexadecimal digits", where=data["sha256"].where)
        if folder is None:
            raise UserError(
                f"the constants are in another file, '{file}'",
                hints=["load the graph from its file"],
            )
        return read_constants(folder / file, sha256, types)


def operator(op: Tree, attributes: Tree | None) -> Operator:
    """An operator with its attributes, checked against the declared types."""
    with located(op.where):
        op_class: type[Operator] = known_operators.operator(text(op, "op"))
    if attributes is None:
        values: dict[str, Any] = {}
    else:
        trees = fields(attributes, op_class.name, (), attribute_names(op_class))
        values = {key: _attribute(op_class, key, value) for key, value in trees.items()}
    for missing in missing_attributes(op_class, values):
        raise UserError(f"{op_class.name} lacks the attribute '{missing}'", where=op.where)
    return op_class(**values)


def _attribute(op_class: type[Operator], key: str, tree: Tree) -> Any:
    value = _plain(tree)
    with located(tree.where):
        check_attribute(op_class, key, value)
    return value


def _plain(tree: Tree) -> Any:
    if isinstance(tree, List):
        return tuple(_plain(item) for item in tree.items)
    return scalar(tree, "an attribute")
