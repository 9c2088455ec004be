# SPDX-License-Identifier: Apache-2.0
"""Accessors for a YAML tree: check mappings, lists and names, with the location of mistakes."""

from __future__ import annotations

from collections.abc import Sequence

from xtc.core.errors import UserError, did_you_mean, located
from xtc.core.yaml_tree import Leaf, List, Map, Plain, Tree, kind_of
from xtc.graph.names import check_name


def fields(
    tree: Tree, what: str, required: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Tree]:
    """The values of a mapping by key. Raises UserError for unknown and missing keys."""
    if not isinstance(tree, Map):
        raise UserError(f"{what} is a mapping, not {kind_of(tree)}", where=tree.where)
    for key, location in tree.keys.items():
        if key not in required and key not in optional:
            raise UserError(
                f"{what} has no key '{key}'",
                where=location,
                hints=did_you_mean(key, [*required, *optional]),
            )
    for key in required:
        if key not in tree.items:
            raise UserError(f"{what} lacks the key '{key}'", where=tree.where)
    return tree.items


def items(tree: Tree | None, what: str) -> list[Tree]:
    """The values of a list; None is an empty list."""
    if tree is None:
        return []
    if not isinstance(tree, List):
        raise UserError(f"{what} is a list, not {kind_of(tree)}", where=tree.where)
    return tree.items


def text(tree: Tree, what: str) -> str:
    """A text. Raises UserError for any other value."""
    if not isinstance(tree, Leaf) or not isinstance(tree.value, str):
        raise UserError(f"{what} is a string, not {kind_of(tree)}", where=tree.where)
    return tree.value


def checked_name(tree: Tree, of_what: str) -> str:
    """The name of a graph or a tensor. Raises UserError if it is invalid."""
    with located(tree.where):
        return check_name(text(tree, f"the name of {of_what}"), of_what)


def scalar(tree: Tree, what: str) -> Plain:
    """A number, text, truth value or nothing."""
    if not isinstance(tree, Leaf):
        raise UserError(f"{what} is a single value, not {kind_of(tree)}", where=tree.where)
    return tree.value
