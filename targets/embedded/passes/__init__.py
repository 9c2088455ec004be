# SPDX-License-Identifier: Apache-2.0
"""Passes of this target alone."""

OPERATOR = ".op."
"""Between the names of the graph and of a node, in the symbol of the node's function."""
ARENA = "xtc_arena"
"""The symbol of the memory that buffers share."""
