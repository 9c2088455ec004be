# SPDX-License-Identifier: Apache-2.0
"""Boards and their cores as frozen data."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from xtc.core.errors import UserError, did_you_mean
from xtc.interfaces.memory_map import Region
from xtc_targets.embedded.link.linker import FLASH, RAM

if TYPE_CHECKING:
    from xtc.codegen.llvm import Machine

_BOARDS = Path(__file__).parent / "boards"
_MAX_FILE = 64 << 10
_PAGE = 4096  # page size of the simulator


@dataclass(frozen=True)
class Core:
    """A processor core, according to its Technical Reference Manual.

    Attributes:
        name: its name in LLVM and QEMU.
        triple: LLVM's triple for bare-metal code.
        features: features in addition to LLVM's defaults for the core.
        bits: width of an address.
        fpu: whether it has float32 instructions.
        doubles: whether it has float64 instructions.
        dsp: whether it has dual 16-bit multiply-adds (SMLAD).
        fma: whether it has fused multiply-add.
        vector_bits: width of a vector register; 0 for none.
        dots: whether it has int8 dot products (SDOT).
        divides: whether it has a division instruction.
        cycle_counter: whether it has the DWT's cycle counter.
        opt_level: LLVM's optimization level with which int8 networks are smaller than their files
            and fastest.
        small: whether LLVM must prefer small code to keep them smaller than their files.
    """

    name: str
    triple: str
    features: str = ""
    bits: int = 32
    fpu: bool = False
    doubles: bool = False
    dsp: bool = False
    fma: bool = False
    vector_bits: int = 0
    dots: bool = False
    divides: bool = True
    cycle_counter: bool = True
    opt_level: int = 2
    small: bool = False

    @property
    def machine(self) -> Machine:
        """The machine in LLVM's terms."""
        from xtc.codegen.llvm import Machine

        return Machine.of(self.triple, self.name, self.features)


_V7 = "thumbv7em-none-eabihf"


def _with_dsp(
    name: str, triple: str, features: str = "", *, doubles: bool = False, opt_level: int = 2
) -> Core:
    capabilities = {"fpu": True, "doubles": doubles, "dsp": True, "fma": True}
    return Core(name, triple, features, **capabilities, opt_level=opt_level)


def _wide(name: str, *, dots: bool = False) -> Core:
    return Core(
        name,
        "aarch64-none-elf",
        bits=64,
        fpu=True,
        doubles=True,
        fma=True,
        vector_bits=128,
        dots=dots,
        cycle_counter=False,
        small=True,
    )


_CORES = {
    # Armv6-M: no FPU, no division, only 32-bit results of multiplications (Arm DDI 0484C, 1.1 and
    # 3.3).
    "cortex-m0plus": Core(
        "cortex-m0plus", "thumbv6m-none-eabi", divides=False, cycle_counter=False
    ),
    # FPv4-SP and the DSP extension (Arm 100166_0001, 3.3 and 7.1).
    "cortex-m4": _with_dsp("cortex-m4", _V7, opt_level=3),
    # FPv5 in double or in single precision, dual issue (Arm DDI 0489F, 2.1 and 8.1).
    "cortex-m7": _with_dsp("cortex-m7", _V7, doubles=True),
    "cortex-m7-single": _with_dsp("cortex-m7", _V7, "-fp64"),
    # FPv5-SP and the DSP extension (Arm 100230_0100, 2.1).
    "cortex-m33": _with_dsp("cortex-m33", "thumbv8m.main-none-eabihf", opt_level=3),
    # Advanced SIMD; no dot products (Arm DDI 0500J, 1.2).
    "cortex-a53": _wide("cortex-a53"),
    # Advanced SIMD with dot products, FEAT_DotProd (Arm 100798_0401, 2.1).
    "cortex-a76": _wide("cortex-a76", dots=True),
}


@dataclass(frozen=True)
class BoardDescription:
    """A board.

    Attributes:
        name: name of its file.
        machine: its description in words.
        core: its processor.
        flash, ram: the memories that a program uses.
        clock_hz: the core's highest clock.
        flash_wait_states: wait states of a flash read at that clock.
        flash_line_bytes: bytes of a flash read.
        probe: the name of the machine for debug probes; "" if probes do not support it.
    """

    name: str
    machine: str
    core: Core
    flash: Region
    ram: Region
    clock_hz: int
    flash_wait_states: int
    flash_line_bytes: int = 8
    probe: str = ""


def board_names() -> list[str]:
    """The names of all boards with a file."""
    return sorted(path.stem for path in _BOARDS.glob("*.yaml"))


def board_named(name: str) -> BoardDescription:
    """A board by the name of its file, or one in the user's YAML file.

    Raises UserError for unknown names and for invalid files.
    """
    if name.endswith((".yaml", ".yml")):
        return _read(Path(name))
    if name not in board_names():
        raise UserError(
            f"there is no board '{name}'",
            hints=[*did_you_mean(name, board_names()), "or name a YAML file of a board of yours"],
        )
    return _bundled(name)


@functools.lru_cache(maxsize=64)
def _bundled(name: str) -> BoardDescription:
    return _read(_BOARDS / f"{name}.yaml")


def _read(path: Path) -> BoardDescription:
    try:
        if path.stat().st_size > _MAX_FILE:
            raise ValueError(f"it is larger than {_MAX_FILE >> 10} KiB")
        return _board(path.stem, yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise UserError(f"the file describes no board: {error}", where=path) from None


def _board(name: str, data: dict[str, object]) -> BoardDescription:
    known = {"core", "machine", "flash", "ram", "clock_hz", "flash_wait_states"}
    known |= {"flash_line_bytes", "probe"}
    for key in data.keys() - known:
        raise ValueError(f"unknown field '{key}'")
    core = str(data["core"])
    if core not in _CORES:
        raise ValueError(f"unknown core '{core}', one of: {', '.join(_CORES)}")
    return BoardDescription(
        name,
        str(data.get("machine", name)),
        _CORES[core],
        _region(FLASH, data["flash"]),
        _region(RAM, data["ram"]),
        _number(data["clock_hz"]),
        _number(data.get("flash_wait_states", 0)),
        max(1, _number(data.get("flash_line_bytes", 8))),
        str(data.get("probe", "")),
    )


def _region(name: str, data: object) -> Region:
    if not isinstance(data, dict) or set(data) != {"address", "bytes"}:
        raise ValueError(f"{name.lower()} has an address and bytes")
    region = Region(name, _number(data["address"]), _number(data["bytes"]))
    if region.address % _PAGE or region.nbytes % _PAGE or not region.nbytes:
        raise ValueError(f"address and bytes of {name.lower()} must be multiples of {_PAGE}")
    return region


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise ValueError(f"{value!r} is not an integer of 0 or more")
    return value
