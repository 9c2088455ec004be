# SPDX-License-Identifier: Apache-2.0
"""C from MLIR: readable source that any C compiler of a target can take, one file per dialect."""

from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.source import CSource, c_source

__all__ = ["CSource", "Printer", "Rule", "c_source"]
