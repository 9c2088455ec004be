# SPDX-License-Identifier: Apache-2.0
"""Passes that only this target uses."""

OPERATOR = ".op."
"""The separator between the names of graph and node in the symbol of a node's function."""
ARENA = "_arena"
"""The suffix after the name of the graph in the symbol of the arena."""
KEPT = "loop_annotation"
"""LLVM's loop attribute, here for loops that must not be unrolled further."""
