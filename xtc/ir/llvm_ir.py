# SPDX-License-Identifier: Apache-2.0
"""Translation of modules in the llvm dialect to LLVM IR text, by MLIR's C API.

The function of the bindings leaks the text at each call, and an operation that MLIR cannot
translate aborts the process.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xtc.core.errors import CompileError

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_CAPSULE = b"mlir.ir.Operation._CAPIPtr"


def translate_to_llvm_ir(module: Operation) -> str:
    """The LLVM IR text of a module in the llvm dialect. Raises CompileError for other dialects."""
    _check_dialect(module)
    address = _capsule_pointer()(module._CAPIPtr, _CAPSULE)
    text = _translator()(address)
    try:
        return ctypes.string_at(text).decode()
    finally:
        _free()(text)


def _check_dialect(module: Operation) -> None:
    from xtc.ir.mlir import all_operations

    names = (op.name for op in all_operations(module))
    left = (name for name in names if not name.startswith("llvm.") and name != "builtin.module")
    if name := next(left, None):
        raise CompileError(f"'{name}' is left in the lowered IR; LLVM has no such operation")


@functools.lru_cache(maxsize=1)
def _translator() -> ctypes._NamedFuncPointer:
    """`char *mlirTranslateModuleToLLVMIRToString(MlirOperation)`; the argument is one pointer."""
    spec = importlib.util.find_spec("mlir._mlir_libs")
    folder = Path(str(spec.origin)).parent if spec else Path()
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    library = ctypes.CDLL(str(folder / f"libMLIRPythonCAPI{suffix}"))
    function = library.mlirTranslateModuleToLLVMIRToString
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    return function


@functools.lru_cache(maxsize=1)
def _capsule_pointer() -> ctypes._NamedFuncPointer:
    function = ctypes.pythonapi.PyCapsule_GetPointer
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return function


@functools.lru_cache(maxsize=1)
def _free() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None).free
    function.restype, function.argtypes = None, [ctypes.c_void_p]
    return function
