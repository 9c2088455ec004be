# SPDX-License-Identifier: Apache-2.0
"""Context managers for LLVM's target machine objects, and initialization of target families."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_void_p
from typing import NamedTuple

from xtc.codegen.llvm.capi import llvm, take_string
from xtc.codegen.llvm.triple import FAMILY_OF, normalize, split
from xtc.core.errors import UserError

_RELOCATION_STATIC, _RELOCATION_PIC = 1, 2
_CODE_MODEL_DEFAULT = 0

# Inline assembly in a module needs the assembler; PTX has no object format.
_WITH_ASSEMBLER = ("X86", "AArch64", "ARM")

_initialized: set[str] = set()
_lock = threading.Lock()


class Layout(NamedTuple):
    """The data layout of a triple: the pointer width in bits and LLVM's data layout string."""

    pointer_bits: int
    text: str


@contextmanager
def target_machine(
    triple: str, cpu: str, features: str, opt: int, *, static: bool = False
) -> Iterator[int]:
    """A target machine for code generation level `opt` (0 to 3).

    Its code is position-independent, or linked at fixed addresses if `static`.

    The processor and the features must be checked before: LLVM only warns of unknown ones.
    """
    lib = llvm()
    handle = lib.LLVMCreateTargetMachine(
        _target_of(triple),
        triple.encode(),
        cpu.encode(),
        features.encode(),
        opt,
        _RELOCATION_STATIC if static else _RELOCATION_PIC,
        _CODE_MODEL_DEFAULT,
    )
    try:
        yield handle
    finally:
        lib.LLVMDisposeTargetMachine(handle)


@contextmanager
def target_data(handle: int) -> Iterator[int]:
    """The data layout of a target machine."""
    lib = llvm()
    layout = lib.LLVMCreateTargetDataLayout(handle)
    try:
        yield layout
    finally:
        lib.LLVMDisposeTargetData(layout)


@functools.lru_cache(maxsize=256)
def layout_of(triple: str) -> Layout:
    """The data layout of a triple, for any processor. Raises UserError if it is unknown."""
    lib = llvm()
    with target_machine(triple, "", "", 0) as machine, target_data(machine) as layout:
        text = take_string(lib.LLVMCopyStringRepOfTargetData(layout))
        return Layout(8 * lib.LLVMPointerSize(layout), text)


def initialize(triple: str) -> None:
    """Initialize the target family of a triple. Raises UserError if the triple is unknown."""
    family = FAMILY_OF[split(normalize(triple)).architecture]
    with _lock:
        if family in _initialized:
            return
        parts = ["TargetInfo", "Target", "TargetMC", "AsmPrinter"]
        if family in _WITH_ASSEMBLER:
            parts.append("AsmParser")
        for part in parts:
            getattr(llvm(), f"LLVMInitialize{family}{part}")()
        _initialized.add(family)


def _target_of(triple: str) -> c_void_p:
    initialize(triple)
    target, message = c_void_p(), c_void_p()
    if llvm().LLVMGetTargetFromTriple(triple.encode(), byref(target), byref(message)):
        raise UserError(take_string(message.value))
    return target
