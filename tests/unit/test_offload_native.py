# SPDX-License-Identifier: Apache-2.0
"""The C of drivers and simulators is built once, rebuilt after a change, and free of warnings."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.mppa_support import SOURCES
from xtc.core import knobs
from xtc.core.errors import DeviceNotFound, ToolError, UserError
from xtc.runtime import Driver, NativeUnit, device_set, native
from xtc.runtime.native import build_native, compile_unit
from xtc_targets.mppa import simulator
from xtc_targets.nvgpu import hardware
from xtc_targets.nvgpu import simulator as nvgpu_simulator
from xtc_targets.upmem.toolchain import library
from xtc_targets.wse import simulator as wse_simulator

STRICT = ("-Werror", "-Wstrict-prototypes", "-Wvla")


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate a new process, without built libraries and without a shared folder."""
    native._built.cache_clear()
    monkeypatch.delenv("XTC_NATIVE_DIR")
    yield
    native._built.cache_clear()


@pytest.fixture
def unit(tmp_path: Path) -> NativeUnit:
    """A program that prints a string from a header."""
    (tmp_path / "word.h").write_text('#define WORD "one"\n')
    source = tmp_path / "main.c"
    source.write_text('#include <stdio.h>\n#include "word.h"\nint main(void) { puts(WORD); }\n')
    return NativeUnit("speak", "program", (source,), (tmp_path,))


def said(unit: NativeUnit) -> str:
    program = build_native([unit]) / unit.name
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(unit: NativeUnit, folder: Path) -> Path:
        raise AssertionError(f"{unit.name} is compiled again")

    monkeypatch.setattr(native, "compile_unit", refuse)


def test_a_program_is_built_and_runs(unit: NativeUnit) -> None:
    assert said(unit) == "one"


@pytest.mark.usefixtures("artifact_cache")
def test_equal_sources_are_compiled_once(unit: NativeUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(unit) == "one"
    forbid_compiling(monkeypatch)
    assert said(unit) == "one"
    native._built.cache_clear()  # as in another process: a hit in the artifact cache
    assert said(unit) == "one"


def test_without_the_cache_each_process_compiles(
    unit: NativeUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert knobs.CACHE.get() is False
    assert said(unit) == "one"
    native._built.cache_clear()
    forbid_compiling(monkeypatch)
    with pytest.raises(AssertionError, match="compiled again"):
        said(unit)


def test_a_separate_folder_keeps_libraries(
    unit: NativeUnit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert knobs.CACHE.get() is False
    monkeypatch.setenv("XTC_NATIVE_DIR", str(tmp_path / "native"))
    assert said(unit) == "one"
    native._built.cache_clear()  # as in another process
    forbid_compiling(monkeypatch)
    assert said(unit) == "one"


@pytest.mark.slow
@pytest.mark.usefixtures("artifact_cache")
def test_changed_sources_are_recompiled(unit: NativeUnit, tmp_path: Path) -> None:
    assert said(unit) == "one"
    (tmp_path / "word.h").write_text('#define WORD "two"\n')
    assert said(unit) == "two"
    source = unit.sources[0]
    source.write_text(source.read_text().replace("WORD)", 'WORD " and more")'))
    assert said(unit) == "two and more"
    (tmp_path / "word.h").write_text("")
    assert said(replace(unit, flags=('-DWORD="three"',))) == "three and more"


def test_errors_quote_the_compiler(unit: NativeUnit) -> None:
    unit.sources[0].write_text("no C")
    with pytest.raises(ToolError, match="building speak failed") as error:
        build_native([unit])
    assert "main.c:1" in str(error.value)


def test_an_invalid_compiler_is_named(unit: NativeUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CC", "no-such-compiler")
    with pytest.raises(ToolError, match="needs the program 'no-such-compiler'"):
        build_native([unit])
    monkeypatch.setenv("XTC_CC", "'")
    with pytest.raises(UserError, match="XTC_CC is not a command"):
        build_native([unit])


_UNITS = (
    *simulator.units(),
    *nvgpu_simulator.units(),
    *wse_simulator.units(),
    *dict.fromkeys((*library.units(), *library.driver_units())),
    hardware.unit(),
    device_set.unit(),
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: unit.name)
def test_simulators_and_drivers_compile_without_warnings(unit: NativeUnit, tmp_path: Path) -> None:
    compile_unit(replace(unit, flags=STRICT), tmp_path)


def test_c_files_are_short() -> None:
    own = {source.parent for unit in _UNITS for source in unit.sources} - {nvgpu_simulator.OWN_CSRC}
    for folder in (*own, SOURCES):
        for path in (*folder.glob("*.c"), *folder.glob("*.h")):
            assert len(path.read_text().splitlines()) <= 400, path


@pytest.mark.slow
def test_a_library_without_a_driver_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "old.c"
    source.write_text(
        '#include "xtc_driver.h"\n'
        "static const xtc_driver table = {.version = 99, .nbytes = sizeof table};\n"
        "const xtc_driver *xtc_driver_table(void) { return &table; }\n"
    )
    library = compile_unit(NativeUnit("old.so", "library", (source,)), tmp_path)
    with pytest.raises(DeviceNotFound, match="version 99 of the table, not 3"):
        Driver(library)
    with pytest.raises(DeviceNotFound, match="driver cannot be loaded"):
        Driver(tmp_path / "missing.so")
    source.write_text("int nothing;\n")
    with pytest.raises(DeviceNotFound, match="xtc_driver_table"):
        Driver(compile_unit(NativeUnit("none.so", "library", (source,)), tmp_path))
