# SPDX-License-Identifier: Apache-2.0
"""Loads object files into this process without a linker, by LLVM's ORC JIT."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Sequence
from ctypes import byref, c_uint64, c_void_p

from xtc.codegen.llvm.capi import ERROR_REPORTER, llvm, take_error
from xtc.codegen.llvm.data import data_object
from xtc.codegen.llvm.machine import Machine
from xtc.codegen.llvm.target_machine import initialize
from xtc.core.closing import Closing
from xtc.core.errors import CompileError, UserError

# Python loads these with local visibility, so that a lookup in the process does not find them.
# libgcc_s has the conversions that a processor lacks (such as __truncsfhf2 and __extendhfsf2).
_RUNTIME_LIBRARIES = (b"libm.so.6", b"libgcc_s.so.1") if sys.platform == "linux" else ()


class LoadedObjects(Closing):
    """Host code in memory; a context manager. Addresses are invalid after `close`.

    The code may use symbols of the objects, of the process, of libm and of libgcc. Constructors and
    thread-local variables are not supported. Thread-safe.

    Args:
        objects: the contents of object files for this process's machine.

    Raises:
        CompileError: an object is for another machine, or a symbol has two definitions.
    """

    def __init__(self, objects: Sequence[bytes]) -> None:
        self._objects = tuple(objects)  # LLVM reads them at the first symbol lookup
        self._lock = threading.Lock()
        self._said: list[str] = []
        self._reporter = ERROR_REPORTER(self._report)
        self._addresses: dict[str, int] = {}
        for content in self._objects:
            _check_loadable(content)
        self._jit: c_void_p | None = _new_jit(self._reporter)
        try:
            self._add_all(self._jit)
        except BaseException:
            self.close()
            raise

    def address(self, symbol: str) -> int:
        """The address of a function or a constant.

        Raises:
            CompileError: it, or a symbol that it uses, is undefined.
            UserError: the objects are closed.
        """
        with self._lock:
            if self._jit is None:
                raise UserError(f"the objects of '{symbol}' are closed")
            if symbol not in self._addresses:
                self._addresses[symbol] = self._look_up(self._jit, symbol)
            return self._addresses[symbol]

    def close(self) -> None:
        """Free the code; idempotent."""
        with self._lock:
            if self._jit is not None:
                take_error(llvm().LLVMOrcDisposeLLJIT(self._jit))
            self._jit = None
            self._objects = ()
            self._addresses.clear()

    def _add_all(self, jit: c_void_p) -> None:
        lib = llvm()
        library = lib.LLVMOrcLLJITGetMainJITDylib(jit)
        for index, content in enumerate(self._objects):
            buffer = lib.LLVMCreateMemoryBufferWithMemoryRange(
                content, len(content), f"object {index}".encode(), 0
            )
            said = take_error(lib.LLVMOrcLLJITAddObjectFile(jit, library, buffer))
            self._expect(said, f"object {index} cannot be loaded")

    def _look_up(self, jit: c_void_p, symbol: str) -> int:
        address = c_uint64()
        said = take_error(llvm().LLVMOrcLLJITLookup(jit, byref(address), symbol.encode()))
        self._expect(said, f"'{symbol}' cannot be loaded")
        return address.value

    def _report(self, _: int, error: int) -> None:
        self._said.append(take_error(error))

    def _expect(self, said: str, what: str) -> None:
        notes, self._said[:] = [*self._said, said], []
        if said:
            raise CompileError(what, notes=[note for note in notes if note])


def _new_jit(reporter: object) -> c_void_p:
    """An empty ORC JIT that searches the runtime libraries and reports errors to `reporter`."""
    initialize(Machine.host().triple)
    lib = llvm()
    jit = c_void_p()
    said = take_error(lib.LLVMOrcCreateLLJIT(byref(jit), None))
    if said:
        raise CompileError("LLVM cannot load code into this process", notes=[said])
    session = lib.LLVMOrcLLJITGetExecutionSession(jit)
    lib.LLVMOrcExecutionSessionSetErrorReporter(session, reporter, None)
    library, prefix = lib.LLVMOrcLLJITGetMainJITDylib(jit), lib.LLVMOrcLLJITGetGlobalPrefix(jit)
    for name in _RUNTIME_LIBRARIES:
        generator = c_void_p()
        absent = take_error(
            lib.LLVMOrcCreateDynamicLibrarySearchGeneratorForPath(
                byref(generator), name, prefix, None, None
            )
        )
        if not absent:  # musl has neither library; a lookup reports the missing symbols
            lib.LLVMOrcJITDylibAddGenerator(library, generator)
    return jit


def _check_loadable(content: bytes) -> None:
    """Raise CompileError for an object of another machine, which LLVM would load."""
    if _signature(content) != _host_signature():
        raise CompileError(f"an object is not for this machine, {Machine.host().triple}")


@functools.lru_cache(maxsize=1)
def _host_signature() -> bytes:
    return _signature(data_object({"probe": b""}, Machine.host()))


def _signature(content: bytes) -> bytes:
    """The bytes with format, class, byte order, file type and machine of ELF or Mach-O."""
    return content[:6] + content[16:20] if content[:4] == b"\x7fELF" else content[:8]
