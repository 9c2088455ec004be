# SPDX-License-Identifier: Apache-2.0
"""A board with a program: simulated, emulated, or connected by a debug probe."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import ClassVar

from xtc.core.errors import ArtifactError, DeviceMemoryError, DeviceNotFound, UserError
from xtc.core.numbering import Numbering
from xtc.core.value_checks import one_of, whole
from xtc.interfaces.artifact import Artifact
from xtc.runtime import Board, check_size, symbol_of
from xtc_targets.embedded import qemu
from xtc_targets.embedded.build import IMAGE
from xtc_targets.embedded.description import BoardDescription
from xtc_targets.embedded.link import elf
from xtc_targets.embedded.link.executable import Executable, read_executable
from xtc_targets.embedded.link.linker import STACK
from xtc_targets.embedded.machine import Machine, paint_stack, stack_bytes
from xtc_targets.embedded.options import PLATFORMS, description_of
from xtc_targets.embedded.probe import CYCLES, Probe, ProbedMachine
from xtc_targets.embedded.qemu import QemuMachine
from xtc_targets.embedded.simulator import INSTRUCTIONS, SimulatedMachine, no_counts

_ENDLESS_SECONDS, _MAX_SECONDS = 60.0, 1e6
_numbers = Numbering()


class EmbeddedBoard(Board):
    """A board, for programs of the target `embedded`.

    Args:
        board: the name of a board, or the path of a YAML file that describes one.
        platform: `sim`, the simulator; `qemu`, a machine of QEMU with the board's core; `hw`, the
            board itself by a debug probe and pyocd, which is experimental.
        instruction_limit: limit of a simulated run in halfwords of instructions.
        seconds_limit: time limit of a run in seconds; None for 60 on the board itself and in QEMU,
            and for no limit in the simulator, whose speed depends on the host.
        probe: the id of the debug probe, or a part of it; None for the only probe.

    Raises DeviceNotFound that names what the platform lacks.
    """

    image_file: ClassVar[str] = IMAGE

    def __init__(
        self,
        board: str = "nucleo-l4r5zi",
        platform: str = "sim",
        *,
        instruction_limit: int = 4_000_000_000,
        seconds_limit: float | None = None,
        probe: str | None = None,
    ) -> None:
        one_of("platform", platform, PLATFORMS)
        whole("instruction_limit", instruction_limit, 1, 1 << 62)
        if seconds_limit is None:
            seconds_limit = _MAX_SECONDS if platform == "sim" else _ENDLESS_SECONDS
        if not 0 < seconds_limit <= _MAX_SECONDS:
            raise UserError(f"seconds_limit={seconds_limit!r} is not above 0 and at most 1e6")
        self.board = board
        self.platform = platform
        self.description: BoardDescription = description_of(board, platform)
        self._limit, self._seconds = instruction_limit, seconds_limit
        self._probe = self._connected(probe)
        self._machine: Machine | None = None
        self._image: Executable | None = None
        self._inputs: dict[str, bytes] = {}
        self._stack = 0
        self._has_run = False
        self._ran = self._no_counts()
        self._id = _numbers.take()
        self._give_number_back = weakref.finalize(self, _numbers.release, self._id)

    target_name = "embedded"

    @property
    def is_modelled(self) -> bool:
        return self.platform in ("sim", "qemu")

    @property
    def device_arch(self) -> str:
        return self.description.core.name

    @property
    def device_name(self) -> str:
        return f"embedded{self._id}"

    @property
    def device_id(self) -> int:
        return self._id

    def check_code(self, artifact: Artifact) -> None:
        board = self.description
        here = {
            "cpu": board.core.name,
            "flash": f"{board.flash.address:#x}+{board.flash.nbytes}",
            "ram": f"{board.ram.address:#x}+{board.ram.nbytes}",
        }
        for name, value in here.items():
            found = artifact.manifest.toolchain.get(name)
            if found != value:
                raise ArtifactError(
                    f"the program is for {artifact.manifest.toolchain.get('board')} "
                    f"({name} {found}), and {self.device_name} is a {board.name} ({name} {value})",
                    hints=[f"compile for this board: board='{board.name}'{self._as_platform()}"],
                )

    def _as_platform(self) -> str:
        return ", platform='qemu'" if self.platform == "qemu" else ""

    def flash(self, image: bytes) -> None:
        """Write an ELF file to the board and start it.

        Raises ArtifactError if it is not an image for this core, and DeviceMemoryError if it does
        not fit.
        """
        self.require_open()
        program = read_executable(image)
        self._check_image(program)
        self._forget()
        self._machine = self._started(program)
        self._image = program

    def _check_image(self, program: Executable) -> None:
        wanted = elf.AARCH64 if self.description.core.bits == 64 else elf.ARM
        if program.machine != wanted:
            raise ArtifactError(f"the image is not for {self.description.core.name}")
        region = self.description.flash
        end = program.address + len(program.flash)
        if not region.address <= program.address <= end <= region.address + region.nbytes:
            raise DeviceMemoryError(
                f"the image is at {program.address:#x} to {end:#x}, and {region.name} of "
                f"{self.description.name} at {region.address:#x} has {region.nbytes} bytes"
            )
        ram, stack = self.description.ram, program.symbols[STACK][0]
        if not ram.address <= stack <= ram.address + ram.nbytes:
            raise ArtifactError(
                f"the image has its stack at {stack:#x}, and {ram.name} of "
                f"{self.description.name} at {ram.address:#x} has {ram.nbytes} bytes",
                hints=[f"compile for this board: board='{self.description.name}'"],
            )

    def write(self, symbol: str, data: bytes) -> None:
        address, nbytes = self._symbol(symbol)
        check_size(symbol, nbytes, data)
        self._inputs[symbol] = bytes(data)
        self._running().write(address, self._inputs[symbol])

    def read(self, symbol: str) -> bytes:
        address, nbytes = self._symbol(symbol)
        return self._running().read(address, nbytes)

    def run(self, repeat: int = 1) -> None:
        """Run the program; its inputs are written again before each further run.

        This is necessary because inputs may share memory with other arrays.
        """
        whole("repeat", repeat, 1, 1 << 31)
        machine = self._running()
        paint_stack(machine)
        try:
            for _ in range(repeat):
                self._renew_inputs(machine)
                self._has_run = True
                machine.call()
        finally:
            self._stack = max(self._stack, stack_bytes(machine))

    def _renew_inputs(self, machine: Machine) -> None:
        if self._has_run:
            for symbol, data in self._inputs.items():
                machine.write(self._symbol(symbol)[0], data)

    def counters(self) -> Mapping[str, float]:
        """Counts since the board was opened, and sizes of its program.

        In the simulator: exact embedded.INSTRUCTIONS, and embedded.INSTRUCTIONS.<name> per
        operator; modelled.embedded.CYCLES and modelled.embedded.SECONDS, at the board's clock, for
        cores with a table in `cycles.py`. In QEMU: embedded.INSTRUCTIONS, for each run within a
        tick of the machine's timer. On the board itself: embedded.CYCLES by the core's counter,
        which wraps at 2**32 in a run. Always: embedded.FLASH_BYTES; embedded.STACK_BYTES, the peak
        of the stack; embedded.RAM_BYTES, the sum of variables, arena and that peak.
        """
        found = self._counts()
        if self._image is not None:
            symbols = self._image.symbols
            variables = symbols["xtc_zero_end"][0] - symbols["xtc_stack_end"][0]
            found["embedded.FLASH_BYTES"] = float(len(self._image.flash))
            found["embedded.STACK_BYTES"] = float(self._stack)
            found["embedded.RAM_BYTES"] = float(variables + self._stack)
        return found

    def _counts(self) -> dict[str, float]:
        counts = dict(self._ran)
        if self._machine is not None:
            for name, count in self._machine.counters().items():
                counts[name] = counts.get(name, 0.0) + count
        return counts

    def _no_counts(self) -> dict[str, float]:
        if self.platform == "sim":
            return no_counts(self.description)
        if self.platform == "qemu":
            return {INSTRUCTIONS: 0.0}
        return {CYCLES: 0.0} if self.description.core.cycle_counter else {}

    def _connected(self, probe: str | None) -> Probe | None:
        if self.platform == "hw":
            return Probe.connect(self.description, probe)
        if probe is not None:
            raise UserError(f"platform {self.platform} has no debug probe", hints=["platform='hw'"])
        if self.platform == "qemu" and (reason := qemu.unavailable(self.description)) is not None:
            raise DeviceNotFound(reason, hints=[qemu.HINT, "platform='sim' simulates"])
        return None

    def _started(self, program: Executable) -> Machine:
        if self._probe is not None:
            return ProbedMachine(self._probe, program, self._seconds)
        if self.platform == "qemu":
            return QemuMachine(self.description, program, self._seconds)
        return SimulatedMachine(self.description, program, self._limit, self._seconds)

    def peak_flops(self, dtype: str) -> float:
        """0, because no timing is known."""
        return 0.0

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._give_number_back()
        probe, self._probe = self._probe, None
        try:
            self._forget()
        finally:
            if probe is not None:
                probe.close()

    def _forget(self) -> None:
        self._ran = self._counts()
        if self._machine is not None:
            self._machine.close()
        self._machine = self._image = self._flashed = None
        self._inputs = {}
        self._stack, self._has_run = 0, False

    def _running(self) -> Machine:
        return self.running(self._machine)

    def _symbol(self, name: str) -> tuple[int, int]:
        self._running()
        assert self._image is not None  # noqa: S101  there is a program
        return symbol_of(name, self._image.symbols)
