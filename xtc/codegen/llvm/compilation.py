# SPDX-License-Identifier: Apache-2.0
"""A compilation: an LLVM context, a target machine and their diagnostics."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import byref, c_void_p
from typing import Literal

from xtc.codegen.llvm import processors
from xtc.codegen.llvm.capi import (
    DIAGNOSTIC_HANDLER,
    llvm,
    string_attribute,
    take_buffer,
    take_error,
    take_string,
)
from xtc.codegen.llvm.machine import Machine
from xtc.codegen.llvm.target_machine import target_data, target_machine
from xtc.codegen.llvm.triple import split
from xtc.core.errors import CompileError, UserError

_log = logging.getLogger(__name__)

Kind = Literal["object", "assembly"]

_FILE_TYPE = {"assembly": 0, "object": 1}
_SEVERITY_ERROR = 0
_RETURN_STATUS = 2  # LLVMReturnStatusAction: the verifier neither prints nor aborts


class Unit:
    """A context whose modules are compiled to machine code and freed at its end.

    LLVM's diagnostics are collected instead of printed: an error raises CompileError at the end of
    its step, other diagnostics are logged. Not thread-safe; created by `compilation`.
    """

    def __init__(self, machine: Machine, opt: int, name: str, context: int, target: int) -> None:
        self.context = context
        self._machine = machine
        self._opt = opt
        self._name = name
        self._target = target
        self._errors: list[str] = []
        self._handler = DIAGNOSTIC_HANDLER(self._diagnose)
        llvm().LLVMContextSetDiagnosticHandler(context, self._handler, None)

    def new_module(self) -> c_void_p:
        """An empty module."""
        name = self._name.encode()
        module = c_void_p(llvm().LLVMModuleCreateWithNameInContext(name, self.context))
        self._set_target(module)
        return module

    def parse(self, ir: bytes) -> c_void_p:
        """Parse and verify LLVM IR text or bitcode; replace its triple and data layout."""
        lib = llvm()
        # The text is not copied, as a bytes object ends with the zero that LLVM's lexer needs.
        buffer = lib.LLVMCreateMemoryBufferWithMemoryRange(ir, len(ir), self._name.encode(), 1)
        module, message = c_void_p(), c_void_p()
        try:
            failed = lib.LLVMParseIRInContext2(self.context, buffer, byref(module), byref(message))
        finally:
            lib.LLVMDisposeMemoryBuffer(buffer)
        self._expect("parse", not failed, take_string(message.value))
        self._set_target(module)
        self._verify(module)
        self._check_processors(module)
        return module

    def optimize(self, module: c_void_p) -> None:
        """Run LLVM's pipeline of the optimization level, with loop and SLP vectorization."""
        lib = llvm()
        options = lib.LLVMCreatePassBuilderOptions()
        try:
            lib.LLVMPassBuilderOptionsSetLoopInterleaving(options, 1)
            lib.LLVMPassBuilderOptionsSetLoopUnrolling(options, 1)
            lib.LLVMPassBuilderOptionsSetLoopVectorization(options, 1)
            lib.LLVMPassBuilderOptionsSetSLPVectorization(options, 1)
            pipeline = f"default<O{self._opt}>".encode()
            said = take_error(lib.LLVMRunPasses(module, pipeline, self._target, options))
        finally:
            lib.LLVMDisposePassBuilderOptions(options)
        self._expect("optimize", not said, said)

    def emit(self, module: c_void_p, kind: Kind) -> bytes:
        """The machine code of a module, which code generation consumes."""
        if kind == "object" and split(self._machine.triple).architecture in ("nvptx", "nvptx64"):
            raise UserError("PTX is text: it has no object files", hints=["emit assembly"])
        buffer, message = c_void_p(), c_void_p()
        failed = llvm().LLVMTargetMachineEmitToMemoryBuffer(
            self._target, module, _FILE_TYPE[kind], byref(message), byref(buffer)
        )
        code = take_buffer(buffer) if buffer else b""
        self._expect("generate code for", not failed, take_string(message.value))
        return code

    def _set_target(self, module: c_void_p) -> None:
        lib = llvm()
        lib.LLVMSetTarget(module, self._machine.triple.encode())
        with target_data(self._target) as layout:
            lib.LLVMSetModuleDataLayout(module, layout)

    def _verify(self, module: c_void_p) -> None:
        message = c_void_p()
        broken = llvm().LLVMVerifyModule(module, _RETURN_STATUS, byref(message))
        self._expect("verify", not broken, take_string(message.value))

    def _check_processors(self, module: c_void_p) -> None:
        """Check the processors that functions request, as LLVM does not."""
        lib = llvm()
        function = lib.LLVMGetFirstFunction(module)
        while function:
            cpu = string_attribute(function, "target-cpu")
            features = string_attribute(function, "target-features")
            if cpu or features:
                processors.check(self._machine.triple, cpu or self._machine.cpu, features)
            function = lib.LLVMGetNextFunction(function)

    def _diagnose(self, info: int, _: int) -> None:
        lib = llvm()
        said = take_string(lib.LLVMGetDiagInfoDescription(info))
        if lib.LLVMGetDiagInfoSeverity(info) == _SEVERITY_ERROR:
            self._errors.append(said)
        else:
            _log.debug("%s: LLVM: %s", self._name, said)

    def _expect(self, step: str, succeeded: bool, said: str) -> None:
        if succeeded and not self._errors:
            return
        raise CompileError(
            f"LLVM cannot {step} '{self._name}' ({self._machine.triple})",
            notes=[text.strip() for text in (*self._errors, said) if text.strip()],
        )


@contextmanager
def compilation(machine: Machine, opt: int, name: str, *, static: bool = False) -> Iterator[Unit]:
    """A unit for `machine`, which it checks, at optimization level `opt` (0 to 3).

    `name` is the name of the module in errors; `static` code is linked at fixed addresses.
    """
    if opt not in (0, 1, 2, 3):
        raise UserError(f"there is no optimization level {opt!r}", hints=["choose 0, 1, 2 or 3"])
    machine.check()
    lib = llvm()
    with ExitStack() as stack:
        target = stack.enter_context(
            target_machine(machine.triple, machine.cpu, machine.features, opt, static=static)
        )
        context = lib.LLVMContextCreate()
        stack.callback(lib.LLVMContextDispose, context)
        yield Unit(machine, opt, name, context, target)
