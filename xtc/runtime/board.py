# SPDX-License-Identifier: Apache-2.0
"""Programs on boards: arguments are transferred by symbol, and a board holds a single program."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from xtc.core.errors import ArtifactError, DeviceLost, UserError, did_you_mean
from xtc.interfaces.artifact import Argument, Artifact
from xtc.interfaces.runtime import EmbeddedDevice, LoadedModule

Entry = TypeVar("Entry")


@dataclass(eq=False)
class BoardModule:
    """A program that was flashed to a board."""

    artifact: Artifact
    board: Board

    def bind(self, addresses: Sequence[int]) -> Callable[[], None]:
        """A call with arrays of this process: writes inputs, runs, reads outputs and states."""
        arguments = self.artifact.manifest.arguments
        pairs = list(zip(arguments, addresses, strict=True))
        inputs = [pair for pair in pairs if pair[0].role == "input"]
        results = [pair for pair in pairs if pair[0].role == "output" or pair[0].state]

        def call() -> None:
            self.board.require_flashed(self)
            for argument, address in inputs:
                data = ctypes.string_at(address, argument.nbytes)
                self.board.write(_symbol_of(argument), data)
            self.board.run()
            for argument, address in results:
                data = self.board.read(_symbol_of(argument))
                ctypes.memmove(address, data, argument.nbytes)

        return call


class Board(EmbeddedDevice):
    """An `EmbeddedDevice` whose artifacts are images with their arguments at symbols.

    A target's subclass adds `flash`, `write`, `read`, `run`, `check_code`, and a `close` that sets
    `_is_open` to False.
    """

    image_file: ClassVar[str] = "image.bin"
    _is_open: bool = True
    _flashed: BoardModule | None = None

    @abstractmethod
    def check_code(self, artifact: Artifact) -> None:
        """Raise ArtifactError if `artifact` is for another machine; called before flashing."""

    def load(self, artifact: Artifact) -> BoardModule:
        self.require_open()
        if artifact.manifest.target != self.target_name:
            raise ArtifactError(
                f"{self.device_name} cannot run code for {artifact.manifest.target}"
            )
        self.check_code(artifact)
        self.flash(artifact.file(self.image_file).read_bytes())
        self._flashed = BoardModule(artifact, self)
        return self._flashed

    def unload(self, module: LoadedModule) -> None:
        if module is self._flashed:
            self._flashed = None

    def evaluate(self, module: LoadedModule, addresses: Sequence[int]) -> None:
        module.bind(addresses)()

    def require_flashed(self, module: BoardModule) -> None:
        """Raise DeviceLost unless the board is open and still holds the program."""
        self.require_open()
        if self._flashed is not module:
            raise DeviceLost(
                f"'{module.artifact.manifest.entry}' is no longer on {self.device_name}",
                notes=["a board holds a single program: a later one replaced it"],
                hints=["load it again"],
            )

    def require_open(self) -> None:
        """Raise DeviceLost once the board is closed."""
        if not self._is_open:
            raise DeviceLost(f"{self.device_name} is closed")

    def running(self, program: Entry | None) -> Entry:
        """The program on the board. Raises DeviceLost if there is none or the board is closed."""
        self.require_open()
        if program is None:
            raise DeviceLost(f"{self.device_name} has no program", hints=["flash one first"])
        return program


def symbol_of(name: str, known: Mapping[str, Entry]) -> Entry:
    """The entry of a symbol of an image. Raises UserError if it does not exist."""
    if name not in known:
        raise UserError(f"the program has no symbol '{name}'", hints=did_you_mean(name, known))
    return known[name]


def check_size(symbol: str, nbytes: int, data: bytes) -> None:
    """Raise UserError unless `data` has the size of a symbol."""
    if len(data) != nbytes:
        raise UserError(f"'{symbol}' has {nbytes} bytes, not {len(data)}")


def _symbol_of(argument: Argument) -> str:
    if not argument.symbol:
        raise ArtifactError(f"the argument '{argument.name}' has no symbol")
    return argument.symbol
