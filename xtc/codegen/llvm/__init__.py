# SPDX-License-Identifier: Apache-2.0
"""Code generation by LLVM, in this process, for the host and other machines.

The library is loaded at the first call that needs it, each target family at its first use.
"""

from xtc.codegen.llvm.codegen import compile_ir, optimize_ir
from xtc.codegen.llvm.data import data_object, write_data_object
from xtc.codegen.llvm.jit import LoadedObjects
from xtc.codegen.llvm.link import Constants, compile_shared, link_shared, linker_version
from xtc.codegen.llvm.machine import Machine

__all__ = [
    "Constants",
    "LoadedObjects",
    "Machine",
    "compile_ir",
    "compile_shared",
    "data_object",
    "link_shared",
    "linker_version",
    "optimize_ir",
    "write_data_object",
]
