# SPDX-License-Identifier: Apache-2.0
"""Sets of DPUs in Python, with the interface of UPMEM's package."""

from __future__ import annotations

import ctypes
import functools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref
from pathlib import Path
from typing import Any, TextIO, cast

from xtc.core.errors import UserError
from xtc_targets.upmem import dpu_library as lib
from xtc_targets.upmem.description import default_profile, profile_named
from xtc_targets.upmem.dpu_context import DpuContext, flags
from xtc_targets.upmem.dpu_fifo import Fifo
from xtc_targets.upmem.dpu_library import DpuError, Set, Symbol
from xtc_targets.upmem.toolchain.command_line import read_command_line
from xtc_targets.upmem.toolchain.elf import variables
from xtc_targets.upmem.toolchain.program import build

__all__ = ["ALLOCATE_ALL", "DpuContext", "DpuError", "DpuProgram", "DpuSet", "DpuSymbol"]

ALLOCATE_ALL = 0xFFFFFFFF
"""As a number of DPUs or ranks: all."""
Buffer = bytes | bytearray | memoryview


class DpuSet:
    """A set of DPUs that are loaded, launched and copied to together.

    Args:
        nr_dpus: number of DPUs to allocate.
        nr_ranks: number of ranks of 64 to allocate instead.
        profile: version of the chip: `v1A`, `v1B`, or the library's form `chip=v1A`.
        binary: the program to load.
        c_source: C to compile and load instead: a file name, text, or a stream.
        log: stream for the output of DPUs after each execution.
        async_mode: whether calls return before they complete.
        tasklets: NR_TASKLETS for `c_source`.

    Raises DpuError with the library's code, and ToolError if the C does not compile.
    """

    def __init__(
        self,
        nr_dpus: int | None = None,
        nr_ranks: int | None = None,
        profile: str = "",
        binary: str | Path | None = None,
        c_source: str | Path | TextIO | None = None,
        log: TextIO | None = None,
        async_mode: bool = False,
        *,
        tasklets: int = 1,
    ) -> None:
        if (nr_dpus is None) == (nr_ranks is None):
            raise UserError("a DpuSet takes either nr_dpus or nr_ranks")
        text = profile if "=" in profile or not profile else f"chip={profile}"
        handle = Set()
        if nr_dpus is not None:
            lib.call("dpu_alloc", nr_dpus, text.encode(), byref(handle))
        else:
            lib.call("dpu_alloc_ranks", nr_ranks, text.encode(), byref(handle))
        self._attach(handle, self, log, async_mode)
        self._profile = _chip_of(text)
        try:
            if c_source is not None:
                self._load_source(c_source, tasklets)
            elif binary is not None:
                self.load(binary)
        except BaseException:
            self.free()
            raise

    def _attach(self, handle: Set, owner: DpuSet, log: TextIO | None, async_mode: bool) -> None:
        self.handle, self._owner, self._log, self._async = handle, owner, log, async_mode
        self._program: ctypes.c_void_p | None = None
        self._kept: list[object] = []  # buffers that jobs may still use
        self._callbacks: list[object] = []
        self._free = False

    def _part(self, handle: Set) -> DpuSet:
        part = DpuSet.__new__(DpuSet)
        part._attach(handle, self._owner, self._log, self._async)
        return part

    @functools.cached_property
    def dpus(self) -> list[DpuSet]:
        """Each DPU as a set."""
        return [self._part(handle) for handle in lib.members(self.handle, "dpu")]

    def ranks(self) -> list[DpuSet]:
        """Each rank as a set."""
        return [self._part(handle) for handle in lib.members(self.handle, "rank")]

    def __len__(self) -> int:
        return len(self.dpus)

    def __iter__(self) -> Iterator[DpuSet]:
        return iter(self.dpus)

    def __getitem__(self, index: int) -> DpuSet:
        return self.dpus[index]

    def __enter__(self) -> DpuSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Release the DPUs; a second call does nothing."""
        if not self._owner._free:
            self._owner._free = True
            lib.call("dpu_free", self._owner.handle)

    def load(self, binary: str | Path) -> DpuProgram:
        """Load a program and return it. Raises DpuError for an invalid file."""
        program = ctypes.c_void_p()
        lib.call("dpu_load", self.handle, str(binary).encode(), byref(program))
        self._owner._program = self._program = program
        return DpuProgram(self, Path(binary))

    def _load_source(self, given: str | Path | TextIO, tasklets: int) -> None:
        source = cast("TextIO", given).read() + "\n" if hasattr(given, "read") else given
        profile = profile_named(self._profile) if self._profile else default_profile(tasklets)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(str(source))
            if "\n" in str(source):
                path = Path(folder, "program.c")
                path.write_text(str(source))
            output = Path(folder, "program.dpu")
            words = [f"-DNR_TASKLETS={tasklets}", "-o", str(output), str(path)]
            build(read_command_line(words), profile)
            self.load(output)

    def symbol(self, name: str) -> Symbol:
        """The location of a variable of the program. Raises DpuError if it does not exist."""
        found = Symbol()
        program = self._program or self._owner._program
        lib.call("dpu_get_symbol", program, name.encode(), byref(found))
        return found

    def copy(
        self,
        dst: str | Buffer | Sequence[Buffer],
        src: str | Buffer | Sequence[Buffer],
        size: int | None = None,
        offset: int = 0,
        async_mode: bool | None = None,
        *,
        parallel: bool = False,
    ) -> None:
        """Copy to a variable of DPUs, or from one.

        One side is the name of a variable; the other is one buffer for all DPUs, or a list with a
        buffer for each. `size` is in bytes; None for the size of the buffer. With `parallel`, the
        copy may run while a program runs.
        """
        if isinstance(dst, str):
            self._move(lib.TO_DPU, dst, src, size, offset, async_mode, parallel)
        elif isinstance(src, str):
            self._move(lib.FROM_DPU, src, dst, size, offset, async_mode, parallel)
        else:
            raise UserError("neither end of the copy is a variable's name")

    def _move(
        self,
        direction: int,
        name: str,
        data: object,
        size: int | None,
        offset: int,
        async_mode: bool | None,
        parallel: bool,
    ) -> None:
        buffers: list[Any] = list(data) if isinstance(data, list | tuple) else [data] * len(self)
        if len(buffers) != len(self):
            raise UserError(f"{len(buffers)} buffers do not fit {len(self)} DPUs")
        nbytes = memoryview(buffers[0]).nbytes if size is None else size
        waits = not (self._async if async_mode is None else async_mode)
        how = (0 if waits else lib.ASYNC) | (lib.PARALLEL if parallel else 0)
        symbol = self.symbol(name)
        for dpu, buffer in zip(self.dpus, buffers, strict=True):
            lib.call("dpu_prepare_xfer", dpu.handle, self._address(buffer, nbytes, direction))
        try:
            lib.call("dpu_push_xfer_symbol", self.handle, direction, symbol, offset, nbytes, how)
        finally:
            if waits and not parallel:  # a parallel copy waits for no other job
                self._kept.clear()

    def _address(self, buffer: Any, nbytes: int, direction: int) -> int:
        """The address of a buffer, which is kept alive until it is no longer used."""
        view = memoryview(buffer).cast("B")
        if view.nbytes < nbytes:
            raise UserError(f"a buffer of {view.nbytes} bytes is shorter than {nbytes}")
        if view.readonly:
            if direction == lib.FROM_DPU:
                raise UserError("the buffer to copy to cannot be written")
            view = memoryview(bytearray(view))
        kept = (ctypes.c_char * view.nbytes).from_buffer(view)
        self._kept.append(kept)
        return ctypes.addressof(kept)

    def exec(self, log: TextIO | None = None, async_mode: bool | None = None) -> None:
        """Run the program, and wait for it unless asynchronous."""
        waits = not (self._async if async_mode is None else async_mode)
        lib.call("dpu_launch", self.handle, 1 if waits else 0)
        stream = log or self._log
        if waits and stream is not None:
            self.log(stream)

    def sync(self) -> None:
        """Wait for all submitted jobs. Raises DpuError if one failed."""
        lib.call("dpu_sync", self.handle)
        self._kept.clear()
        self._callbacks.clear()  # no other call waits for non-blocking callbacks

    def log(self, stream: TextIO | None = None) -> None:
        """Write the output of DPUs."""
        (stream or sys.stdout).write(lib.read_log(self.handle).decode(errors="replace"))

    def call(
        self,
        fn: Callable[[DpuSet, int, Any], object],
        arg: object = None,
        is_blocking: bool = True,
        single_call: bool = False,
        *,
        parallel: bool = False,
    ) -> None:
        """Call a function for each rank, after all earlier jobs.

        Args:
            fn: is called with the rank as a set, its number, and `arg`.
            arg: argument of the function.
            is_blocking: whether later jobs wait for it.
            single_call: whether it is called once for all ranks.
            parallel: whether it may run while a program runs.
        """

        def called(handle: Set, rank: int, _: object) -> int:
            try:
                copy = Set()
                ctypes.memmove(byref(copy), byref(handle), ctypes.sizeof(Set))
                fn(self._part(copy), rank, arg)
            except Exception:
                sys.excepthook(*sys.exc_info())
                return 1  # DPU_ERR_INTERNAL
            return 0

        how = (lib.CALL_ASYNC if self._async or not is_blocking else 0) | (
            0 if is_blocking else lib.CALL_NONBLOCKING
        )
        how |= (lib.CALL_SINGLE if single_call else 0) | (lib.CALL_PARALLEL if parallel else 0)
        wrapped = lib.CALLBACK(called)
        self._owner._callbacks.append(wrapped)
        lib.call("dpu_callback", self.handle, wrapped, None, how)

    def checkpoint(self, iram: bool = True, mram: bool = True, wram: bool = True) -> DpuContext:
        """Save the program, MRAM and WRAM of the only DPU. Raises DpuError for several DPUs."""
        return DpuContext.of(self.handle, flags(iram, mram, wram))

    def restore(
        self, context: DpuContext, iram: bool = True, mram: bool = True, wram: bool = True
    ) -> None:
        """Restore a checkpoint to the only DPU. Raises DpuError for several DPUs."""
        context.restore(self.handle, flags(iram, mram, wram))

    def fifo(self, name: str) -> Fifo:
        """The host's end of a FIFO in WRAM. Raises DpuError if the program has no such FIFO."""
        return Fifo(self, name)

    def __getattr__(self, name: str) -> DpuSymbol:
        if name.startswith("_") or name == "handle":
            raise AttributeError(name)
        return DpuSymbol(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if _is_data(value):
            self.copy(name, value)  # type: ignore[arg-type]
        else:
            super().__setattr__(name, value)


def _chip_of(profile: str) -> str:
    """The version of the chip in the library's text; empty if it names none."""
    pairs = (pair.partition("=") for pair in profile.split(","))
    return next((value for key, _, value in pairs if key.strip() == "chip"), "")


def _is_data(value: object) -> bool:
    """Whether a value is data for a variable of DPUs: bytes, or a list of them."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, bytes | bytearray | memoryview)


class DpuProgram:
    """A program that a set has loaded."""

    def __init__(self, dpus: DpuSet, binary: Path) -> None:
        self._set, self._binary = dpus, binary

    def get_symbol(self, name: str) -> DpuSymbol:
        """A variable of the program. Raises DpuError if it does not exist."""
        return DpuSymbol(self._set, name)

    def fetch_all_symbols(self) -> dict[str, DpuSymbol]:
        """All variables that the host can access."""
        return {name: self.get_symbol(name) for name in variables(self._binary)}


class DpuSymbol:
    """A variable of a set's program: `s.var.uint32()` reads it from each DPU."""

    def __init__(self, dpus: DpuSet, name: str) -> None:
        self._set, self._name = dpus, name
        self.size = int(dpus.symbol(name).size)

    def bytes(self) -> list[bytes]:
        """Its bytes on each DPU."""
        found = [bytearray(self.size) for _ in range(len(self._set))]
        self._set.copy(found, self._name)
        return [bytes(data) for data in found]

    def _numbers(self, nbytes: int, signed: bool) -> Any:
        numbers = [int.from_bytes(data[:nbytes], "little", signed=signed) for data in self.bytes()]
        return numbers[0] if len(numbers) == 1 else numbers

    def uint32(self) -> Any:
        """As an unsigned 32-bit integer; a list of them for several DPUs."""
        return self._numbers(4, signed=False)

    def int32(self) -> Any:
        """As a signed 32-bit integer; a list of them for several DPUs."""
        return self._numbers(4, signed=True)

    def uint64(self) -> Any:
        """As an unsigned 64-bit integer; a list of them for several DPUs."""
        return self._numbers(8, signed=False)

    def int64(self) -> Any:
        """As a signed 64-bit integer; a list of them for several DPUs."""
        return self._numbers(8, signed=True)
