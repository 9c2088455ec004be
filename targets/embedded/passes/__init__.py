# SPDX-License-Identifier: Apache-2.0
"""Passes of this target alone."""

OPERATOR = ".op."
"""Between the names of the graph and of a node, in the symbol of the node's function."""
ARENA = "_arena"
"""Behind the name of the graph, in the symbol of the memory that buffers share."""
KEPT = "loop_annotation"
"""LLVM's attribute of a loop, here of those that are not unrolled further."""
