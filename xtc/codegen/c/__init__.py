# SPDX-License-Identifier: Apache-2.0
"""The C code generator: readable source for any C compiler, with a file for each dialect."""

from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.source import CSource, c_source

__all__ = ["CSource", "Printer", "Rule", "c_source"]
