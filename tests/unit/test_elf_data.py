# SPDX-License-Identifier: Apache-2.0
"""Constants as an ELF object that this project writes itself."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir, link_shared, write_data_object
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


def test_the_loader_of_objects_takes_it(objects: tuple[bytes, Path]) -> None:
    where = ctypes.CFUNCTYPE(ctypes.c_size_t)
    with LoadedObjects([objects[0], objects[1].read_bytes()]) as loaded:
        _check(where(loaded.address("where_left"))(), where(loaded.address("where_right"))())


def test_the_linker_finds_nothing_to_say(objects: tuple[bytes, Path], tmp_path: Path) -> None:
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
