# SPDX-License-Identifier: Apache-2.0
"""Constants as an ELF object written by this project."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from xtc.codegen.llvm import (
    Constants,
    LoadedObjects,
    Machine,
    compile_ir,
    link_shared,
    write_data_object,
)
from xtc.codegen.llvm.elf_data import has_elf

HOST = Machine.host()
LOOK_UP = """
@left = external hidden constant [0 x i8]
@right = external hidden constant [0 x i8]
define i64 @where_left() { ret i64 ptrtoint (ptr @left to i64) }
define i64 @where_right() { ret i64 ptrtoint (ptr @right to i64) }
"""

pytestmark = pytest.mark.skipif(
    not has_elf(HOST), reason="needs a host whose object files are ELF: Linux on x86-64 or AArch64"
)


@pytest.fixture
def objects(tmp_path: Path) -> tuple[bytes, Path]:
    left = np.arange(1000, dtype=np.uint8)
    path = tmp_path / "constants.o"
    contents = {"left": left.data, "none": b"", "right": b"right"}
    write_data_object(path, contents, HOST)
    return compile_ir(LOOK_UP, HOST), path


def _check(left: int, right: int) -> None:
    assert left % 64 == right % 64 == 0
    assert ctypes.string_at(left, 1000) == np.arange(1000, dtype=np.uint8).tobytes()
    assert ctypes.string_at(right, 5) == b"right"


@pytest.mark.slow
def test_a_library_has_the_contents_and_hides_them(
    objects: tuple[bytes, Path], tmp_path: Path
) -> None:
    link_shared(objects, tmp_path / "lib.so", HOST)
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    library.where_left.restype = library.where_right.restype = ctypes.c_size_t
    _check(library.where_left(), library.where_right())
    with pytest.raises(AttributeError):
        _ = library.left


def test_the_object_loader_accepts_the_file(objects: tuple[bytes, Path]) -> None:
    where = ctypes.CFUNCTYPE(ctypes.c_size_t)
    with LoadedObjects([objects[0], objects[1].read_bytes()]) as loaded:
        _check(where(loaded.address("where_left"))(), where(loaded.address("where_right"))())


def test_the_linker_emits_no_warning(objects: tuple[bytes, Path], tmp_path: Path) -> None:
    code = tmp_path / "code.o"
    code.write_bytes(objects[0])
    command = ["cc", "-shared", "-Wl,--fatal-warnings", "-o", tmp_path / "lib.so", code, objects[1]]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


def test_the_same_contents_give_the_same_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / "a.o", tmp_path / "b.o"]
    for path in paths:
        write_data_object(path, {"left": b"abc", "right": b"d"}, HOST)
    assert paths[0].read_bytes() == paths[1].read_bytes()


LARGE = np.arange(1 << 18, dtype=np.uint32).view(np.uint8)
USER = """
@left = external hidden constant [0 x i8]
@right = external hidden constant [0 x i8]
@zeros = global [100000 x i8] zeroinitializer
@address = hidden global ptr @right
define ptr @where_left() { ret ptr @left }
define ptr @where_right() {
  %value = load ptr, ptr @address
  ret ptr %value
}
define ptr @where_zeros() { ret ptr @zeros }
"""


def _linked(folder: Path) -> ctypes.CDLL:
    contents = {"left": LARGE.data, "none": b"", "right": b"right"}
    sizes = {name: len(content) for name, content in contents.items()}
    link_shared(
        [compile_ir(USER, HOST)], folder / "lib.so", HOST, constants=Constants(contents, sizes)
    )
    assert [path.name for path in folder.iterdir()] == ["lib.so"]
    library = ctypes.CDLL(str(folder / "lib.so"))
    for name in ("where_left", "where_right", "where_zeros"):
        getattr(library, name).restype = ctypes.c_size_t
    return library


def _check_large(library: ctypes.CDLL) -> None:
    left, right, zeros = library.where_left(), library.where_right(), library.where_zeros()
    assert left % 64 == right % 64 == 0
    assert ctypes.string_at(left, len(LARGE)) == LARGE.tobytes()
    assert ctypes.string_at(right, 5) == b"right"
    assert ctypes.string_at(zeros, 100000) == bytes(100000)
    ctypes.memset(zeros, 1, 100000)
    assert ctypes.string_at(left, len(LARGE)) == LARGE.tobytes()


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_large_constants_bypass_the_linker(
    linker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(f"ld.{linker}") is None:
        pytest.skip(f"needs the linker ld.{linker}")
    monkeypatch.setenv("XTC_CC", f"cc -fuse-ld={linker}")
    objects: list[Path] = []
    monkeypatch.setattr("xtc.codegen.llvm.link.write_data_object", objects.append)
    _check_large(_linked(tmp_path))
    assert objects == []
    mapped = [
        line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line
    ]
    assert any(" r--p " in line and _size(line) >= len(LARGE) for line in mapped)


def _size(line: str) -> int:
    start, _, end = line.split()[0].partition("-")
    return int(end, 16) - int(start, 16)


def test_constants_are_linked_if_no_space_can_be_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compiler = tmp_path / "cc"
    # A library without section names.
    compiler.write_text(
        '#!/bin/sh\ncc "$@" && printf "\\0\\0" | dd of="$3" bs=1 seek=60 conv=notrunc'
    )
    compiler.chmod(0o700)
    monkeypatch.setenv("XTC_CC", str(compiler))
    folder = tmp_path / "linked"
    folder.mkdir()
    with caplog.at_level("INFO"):
        _check_large(_linked(folder))
    assert "linking the constants of lib.so as an object: it has no section names" in caplog.text


def test_sizes_that_differ_from_the_contents_are_refused(tmp_path: Path) -> None:
    constants = Constants({"left": LARGE.data, "right": b""}, {"left": 2 << 20, "right": 0})
    with pytest.raises(ValueError, match="left has 1048576 bytes instead of 2097152"):
        link_shared([compile_ir(USER, HOST)], tmp_path / "lib.so", HOST, constants=constants)
    assert list(tmp_path.iterdir()) == []
