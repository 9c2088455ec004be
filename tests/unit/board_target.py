# SPDX-License-Identifier: Apache-2.0
"""A target for boards in the fewest lines: its image is a library with arguments at fixed symbols.

The simulated board keeps the contract of programs that run elsewhere: nothing of this process is
reached by address, memory is planned at build, and a run is counted by a model.
"""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from xtc.codegen.llvm import Machine, link_shared
from xtc.core import discover
from xtc.core.errors import ArtifactError, DeviceMemoryError, UserError
from xtc.core.numbering import Numbering
from xtc.core.value_checks import whole
from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest, file_hash
from xtc.interfaces.memory_map import MemoryMap, Region, Symbol
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import BuildRequest, ProgramTarget
from xtc.ir.pipeline import Pipeline
from xtc.runtime import Board, check_size, symbol_of
from xtc.system.c_compiler import CCompiler

ENTRY = "board_main"
_numbers = Numbering()


@dataclass(frozen=True)
class BoardOptions:
    """Options of code for boards: `ram` is the size of the board's memory in bytes."""

    ram: int = 1 << 20


class BoardTarget(ProgramTarget):
    """Compiles through the host's C, with every argument at a symbol."""

    name: ClassVar[str] = "board"
    Options: ClassVar[type[Any]] = BoardOptions

    def __init__(self) -> None:
        self._host = discover.target("host")
        self._host_options = self._host.options(codegen="c", threads=1)

    def pipeline(self, options: BoardOptions) -> Pipeline:
        pipeline: Pipeline = self._host.pipeline(self._host_options)
        return pipeline

    def toolchain(self, options: BoardOptions) -> Mapping[str, str]:
        return {**self._host.toolchain(self._host_options), "ram": str(options.ram)}

    def runtime(self, options: BoardOptions) -> SimulatedBoard:
        return SimulatedBoard(options.ram)

    def unavailable(self) -> str | None:
        return None

    def options_for(self, runtime: CommonRuntimeInterface, given: Mapping[str, Any]) -> Any:
        assert isinstance(runtime, SimulatedBoard)
        if given.get("ram", runtime.ram) != runtime.ram:
            raise UserError(f"ram={given['ram']} does not fit {runtime.device_name}")
        return BoardOptions(runtime.ram)

    def code(self, lowered: Any, request: BuildRequest, options: BoardOptions) -> str:
        text = self._host.code(lowered, request, self._host_options)
        arrays = [f"double {a.name}_board[{(a.nbytes + 7) // 8}];" for a in request.arguments]
        names = ", ".join(f"(void *){a.name}_board" for a in request.arguments)
        main = f"void {ENTRY}(void) {{ {request.entry}({names}); }}\n"
        sizes = " ".join(f"{a.name}_board {a.nbytes}" for a in request.arguments)
        return "\n".join([text, *arrays, f'const char board_symbols[] = "{sizes}";', main])

    def build(
        self, lowered: Any, request: BuildRequest, options: BoardOptions, folder: Path
    ) -> Artifact:
        image = folder / SimulatedBoard.image_file
        source = self.code(lowered, request, options)
        flags = ("-std=c11", "-O1", "-fPIC")
        code = CCompiler.configured().object_code(source, flags, ENTRY)
        link_shared((code,), image, Machine.host())
        image.write_bytes(image.read_bytes() + _digest(image.read_bytes()))
        arguments = tuple(replace(a, symbol=f"{a.name}_board") for a in request.arguments)
        manifest = Manifest(
            entry=request.entry,
            target=self.name,
            arguments=arguments,
            toolchain=dict(self.toolchain(options)),
            flops=request.flops,
            files={image.name: file_hash(image)},
            memory=_planned(arguments, options.ram),
        )
        (folder / MANIFEST_FILE).write_text(manifest.to_json())
        return Artifact(manifest, folder)


def _planned(arguments: Any, ram: int) -> MemoryMap:
    """Place arguments consecutively in RAM. Raises DeviceMemoryError if they do not fit."""
    symbols, end = [], 0x2000_0000
    for argument in arguments:
        symbols.append(Symbol(argument.symbol, "RAM", end, argument.nbytes))
        end += (argument.nbytes + 7) // 8 * 8
    memory = MemoryMap((Region("RAM", 0x2000_0000, ram),), tuple(symbols))
    if memory.used("RAM") > ram:
        raise DeviceMemoryError(f"the program needs {memory.used('RAM')} bytes of RAM, not {ram}")
    return memory


def _digest(library: bytes) -> bytes:
    """The digest at the end of an image: loading a truncated library would end this process."""
    return hashlib.sha256(library).digest()


class SimulatedBoard(Board):
    """A board whose memory is a library's data."""

    def __init__(self, ram: int = 1 << 20) -> None:
        self.ram = ram
        self._id = _numbers.take()
        self._give_number_back = weakref.finalize(self, _numbers.release, self._id)
        self._image: ctypes.CDLL | None = None
        self._sizes: Mapping[str, int] = {}
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._cycles = self._flashes = 0

    target_name = "board"
    device_arch = "sim"
    is_modelled = True

    @property
    def device_name(self) -> str:
        return f"board{self._id}"

    @property
    def device_id(self) -> int:
        return self._id

    def check_code(self, artifact: Artifact) -> None:
        ram = artifact.manifest.toolchain.get("ram")
        if ram != str(self.ram):
            raise ArtifactError(f"the code is for {ram} bytes of RAM, the board has {self.ram}")

    def flash(self, image: bytes) -> None:
        self.require_open()
        if image[-32:] != _digest(image[:-32]):
            raise ArtifactError("this is not an image for a board: its digest is wrong")
        path = Path(self._folder.name) / f"image{self._flashes}.so"
        self._flashes += 1
        path.write_bytes(image)
        library = ctypes.CDLL(str(path))
        words = ctypes.c_char.in_dll(library, "board_symbols")
        names = ctypes.string_at(ctypes.addressof(words)).decode().split()
        self._sizes = dict(zip(names[::2], map(int, names[1::2]), strict=True))
        self._image, self._flashed = library, None

    def write(self, symbol: str, data: bytes) -> None:
        address, nbytes = self._symbol(symbol)
        check_size(symbol, nbytes, data)
        ctypes.memmove(address, data, nbytes)

    def read(self, symbol: str) -> bytes:
        return ctypes.string_at(*self._symbol(symbol))

    def _symbol(self, name: str) -> tuple[int, int]:
        library = self.running(self._image)
        nbytes = symbol_of(name, self._sizes)
        return ctypes.addressof(ctypes.c_char.in_dll(library, name)), nbytes

    def run(self, repeat: int = 1) -> None:
        whole("repeat", repeat, 1, 1 << 31)
        library = self.running(self._image)
        for _ in range(repeat):
            getattr(library, ENTRY)()
            self._cycles += 1000

    def counters(self) -> Mapping[str, float]:
        return {"modelled.cycles": float(self._cycles)}

    def peak_flops(self, dtype: str) -> float:
        return 1e9

    def close(self) -> None:
        self._is_open, self._image, self._flashed = False, None, None
        self._folder.cleanup()
        self._give_number_back()


TARGET = BoardTarget()
