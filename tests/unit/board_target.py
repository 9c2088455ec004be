# SPDX-License-Identifier: Apache-2.0
"""A target for boards in the fewest lines: its image is a library with arguments at fixed symbols.

The simulated board keeps the contract of programs that run elsewhere: nothing of this process is
reached by address, memory is planned at build, and a run is counted by a model.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from xtc.codegen.llvm import Machine, link_shared
from xtc.core import discover
from xtc.core.errors import ArtifactError, DeviceMemoryError, UserError
from xtc.core.numbering import Numbering
from xtc.interfaces.artifact import MANIFEST_FILE, Artifact, Manifest, file_hash
from xtc.interfaces.memory_map import MemoryMap, Region, Symbol
from xtc.interfaces.runtime import CommonRuntimeInterface
from xtc.interfaces.target import BuildRequest, ProgramTarget
from xtc.ir.pipeline import Pipeline
from xtc.runtime import Board
from xtc.system.c_compiler import CCompiler

ENTRY = "board_main"
_numbers = Numbering()


@dataclass(frozen=True)
class BoardOptions:
    """Options of code for boards: `ram` is the size of the board's memory in bytes."""

    ram: int = 1 << 20


class BoardTarget(ProgramTarget):
    """Compiles by way of the host's C, with every argument at a symbol."""

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
        return "\n".join([text, *arrays, main])

    def build(
        self, lowered: Any, request: BuildRequest, options: BoardOptions, folder: Path
    ) -> Artifact:
        image = folder / SimulatedBoard.image_file
        source = self.code(lowered, request, options)
        flags = ("-std=c11", "-O1", "-fPIC")
        code = CCompiler.configured().object_code(source, flags, ENTRY)
        link_shared((code,), image, Machine.host())
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
    """Arguments behind each other in RAM. Raises DeviceMemoryError where they do not fit."""
    symbols, end = [], 0x2000_0000
    for argument in arguments:
        symbols.append(Symbol(argument.symbol, "RAM", end, argument.nbytes))
        end += (argument.nbytes + 7) // 8 * 8
    memory = MemoryMap((Region("RAM", 0x2000_0000, ram),), tuple(symbols))
    if memory.used("RAM") > ram:
        raise DeviceMemoryError(f"the program needs {memory.used('RAM')} bytes of RAM, not {ram}")
    return memory


class SimulatedBoard(Board):
    """A board whose memory is a library's data."""

    def __init__(self, ram: int = 1 << 20) -> None:
        self.ram = ram
        self._id = _numbers.take()
        self._image: ctypes.CDLL | None = None
        self._folder = tempfile.TemporaryDirectory()
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
        path = Path(self._folder.name) / f"image{self._flashes}.so"
        self._flashes += 1
        path.write_bytes(image)
        self._image = ctypes.CDLL(str(path))

    def write(self, symbol: str, data: bytes) -> None:
        ctypes.memmove(self._address(symbol), data, len(data))

    def read(self, symbol: str) -> bytes:
        assert self._flashed is not None
        memory = self._flashed.artifact.manifest.memory
        assert memory is not None
        nbytes = memory.symbol(symbol).nbytes
        return ctypes.string_at(self._address(symbol), nbytes)

    def _address(self, symbol: str) -> int:
        assert self._image is not None
        return ctypes.addressof(ctypes.c_char.in_dll(self._image, symbol))

    def run(self, repeat: int = 1) -> None:
        assert self._image is not None
        for _ in range(repeat):
            getattr(self._image, ENTRY)()
            self._cycles += 1000

    def counters(self) -> Mapping[str, float]:
        return {"modelled.cycles": float(self._cycles)}

    def peak_flops(self, dtype: str) -> float:
        return 1e9

    def close(self) -> None:
        self._folder.cleanup()
        if self._id >= 0:
            _numbers.give_back(self._id)
            self._id = -1


TARGET = BoardTarget()
