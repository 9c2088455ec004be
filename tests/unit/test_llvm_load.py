# SPDX-License-Identifier: Apache-2.0
"""Host objects in use: linked into a library or loaded into the process, code and data."""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from xtc.codegen.llvm import LoadedObjects, Machine, compile_ir, data_object, link_shared
from xtc.core.errors import CompileError, ToolError, UserError

HOST = Machine.host()

# exp(x) + 1 over an array, which calls libm and the C library.
EXP = """
declare float @expf(float)
declare void @memcpy(ptr, ptr, i64)
define void @exp_plus_one(ptr %x, ptr %y, i64 %n) {
entry:
  %bytes = mul i64 %n, 4
  call void @memcpy(ptr %y, ptr %x, i64 %bytes)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %y, i64 %i
  %v = load float, ptr %p
  %e = call float @expf(float %v)
  %s = fadd float %e, 1.0
  store float %s, ptr %p
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""
# Reads a byte of two data symbols that another object defines.
LOOK_UP = """
@left = external constant [0 x i8]
@right = external constant [0 x i8]
define i32 @look_up(i64 %i) {
  %p = getelementptr i8, ptr @left, i64 %i
  %q = getelementptr i8, ptr @right, i64 %i
  %a = load i8, ptr %p
  %b = load i8, ptr %q
  %wide_a = zext i8 %a to i32
  %wide_b = zext i8 %b to i32
  %high = shl i32 %wide_a, 8
  %sum = or i32 %high, %wide_b
  ret i32 %sum
}
define ptr @where_left() {
  ret ptr @left
}
"""
ANSWER = "define i32 @answer() { ret i32 42 }"

Loader = Callable[[Sequence[bytes]], AbstractContextManager[Callable[[str], int]]]


@pytest.fixture(params=["linked", "in memory"])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Loader:
    """A function from objects to the address of a symbol, for either path."""

    @contextmanager
    def linked(objects: Sequence[bytes]) -> Iterator[Callable[[str], int]]:
        path = tmp_path / "lib.so"
        link_shared(objects, path, HOST)
        library = ctypes.CDLL(str(path))
        yield lambda symbol: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0

    @contextmanager
    def in_memory(objects: Sequence[bytes]) -> Iterator[Callable[[str], int]]:
        with LoadedObjects(objects) as loaded:
            yield loaded.address

    return linked if request.param == "linked" else in_memory


def test_code_resolves_symbols_of_the_c_libraries(load: Loader) -> None:
    x = np.linspace(-2, 2, 1001, dtype=np.float32)
    y = np.zeros_like(x)
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    with load([compile_ir(EXP, HOST)]) as address:
        kernel(address("exp_plus_one"))(x.ctypes.data, y.ctypes.data, x.size)
    np.testing.assert_allclose(y, np.exp(x) + 1, rtol=1e-6)


@pytest.mark.slow
def test_ten_megabytes_of_data_are_linked(load: Loader) -> None:
    left = np.random.default_rng(1).bytes(10 << 20)
    right = bytes(100) + b"\x07" + bytes(left[101:])
    data = data_object({"left": left, "right": right}, HOST)
    look_up = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)
    with load([compile_ir(LOOK_UP, HOST), data]) as address:
        at = look_up(address("look_up"))
        for index in (0, 100, 101, len(left) - 1):
            assert at(index) == left[index] << 8 | right[index]
        start = ctypes.CFUNCTYPE(ctypes.c_size_t)(address("where_left"))()
        assert start % 64 == 0
        assert ctypes.string_at(start, len(left)) == left


@pytest.mark.slow
def test_data_may_be_far_from_code() -> None:
    """The reservation fills the gaps in which data would fit; code is placed above it."""
    data = data_object({"left": bytes(16 << 20), "right": bytes(9) + b"\x05"}, HOST)
    code = compile_ir(LOOK_UP, HOST)
    with ExitStack() as stack:
        for size in [12 << 20] * 400 + [5 << 30]:
            stack.enter_context(mmap.mmap(-1, size, mmap.MAP_PRIVATE, prot=0))
        loaded = stack.enter_context(LoadedObjects([code, data]))
        look_up = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(loaded.address("look_up"))
        start = ctypes.CFUNCTYPE(ctypes.c_size_t)(loaded.address("where_left"))()
        assert abs(loaded.address("look_up") - start) > 1 << 31
        assert look_up(9) == 5


def test_half_precision_helpers_of_libgcc_are_found(load: Loader) -> None:
    """A double needs __truncdfhf2 on every x86-64 processor but those with AVX512-FP16."""
    ir = """
    define void @narrow(ptr %from, ptr %to) {
      %wide = load double, ptr %from
      %half = fptrunc double %wide to half
      store half %half, ptr %to
      ret void
    }
    """
    wide, half = np.array([1.0 / 3.0]), np.zeros(1, np.float16)
    narrow = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    with load([compile_ir(ir, HOST)]) as address:
        narrow(address("narrow"))(wide.ctypes.data, half.ctypes.data)
    assert half[0] == np.float16(1.0 / 3.0)


def test_empty_and_zero_data_are_distinguished(load: Loader) -> None:
    data = data_object({"left": bytes(3), "right": b"abc", "none": b""}, HOST)
    look_up = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)
    with load([compile_ir(LOOK_UP, HOST), data]) as address:
        assert [look_up(address("look_up"))(i) for i in range(3)] == list(b"abc")


def test_data_is_hidden_in_a_library(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    data = data_object({"left": b"l", "right": b"r"}, HOST)
    link_shared([compile_ir(LOOK_UP, HOST), data], path, HOST)
    with pytest.raises(AttributeError):
        _ = ctypes.CDLL(str(path)).left


def test_a_data_object_is_deterministic() -> None:
    assert data_object({"x": b"abc"}, HOST) == data_object({"x": b"abc"}, HOST)


@pytest.mark.parametrize(
    ("symbols", "align", "message"),
    [
        ({"x": b""}, 48, "the alignment 48 is not a power of two from 1 to 2^32"),
        ({"x": b""}, 0, "the alignment 0 is not a power of two from 1 to 2^32"),
        ({"": b""}, 64, "'' cannot be the name of a symbol"),
    ],
)
def test_invalid_data_is_refused(symbols: dict[str, bytes], align: int, message: str) -> None:
    with pytest.raises(UserError) as caught:
        data_object(symbols, HOST, align=align)
    assert str(caught.value) == message


def test_linking_leaves_only_the_library(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_text("old")
    descriptors = psutil.Process().num_fds()
    link_shared([compile_ir(ANSWER, HOST)], path, HOST)
    assert list(tmp_path.iterdir()) == [path]
    assert ctypes.CDLL(str(path)).answer() == 42
    assert psutil.Process().num_fds() == descriptors


def test_failed_link_keeps_the_old_library(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_text("old")
    with pytest.raises(ToolError, match=r"linking lib\.so failed: cc ended with") as caught:
        link_shared([b"no object"], path, HOST)
    assert "0.o" in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_a_duplicate_symbol_is_a_linker_error(tmp_path: Path) -> None:
    code = compile_ir(ANSWER, HOST)
    with pytest.raises(ToolError, match=r"(?s)answer"):
        link_shared([code, code], tmp_path / "lib.so", HOST)
    assert list(tmp_path.iterdir()) == []


def test_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CC", "no-such-cc -O2")
    with pytest.raises(ToolError) as caught:
        link_shared([compile_ir(ANSWER, HOST)], tmp_path / "lib.so", HOST)
    assert str(caught.value) == (
        "linking lib.so needs the program 'no-such-cc', which was not found\n"
        "  hint: install a C compiler (Debian: apt install gcc; macOS: xcode-select --install), "
        "or name one in XTC_CC"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_compiler_command_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTC_CC", "gcc 'open")
    with pytest.raises(UserError, match="XTC_CC is not a command: gcc 'open"):
        link_shared([], tmp_path / "lib.so", HOST)


def test_compiler_may_have_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTC_CC", "cc -Wl,-soname,mine.so")
    link_shared([compile_ir(ANSWER, HOST)], tmp_path / "lib.so", HOST)
    assert b"mine.so" in (tmp_path / "lib.so").read_bytes()


def test_other_machine_needs_another_compiler(tmp_path: Path) -> None:
    other = "thumbv7em-none-eabi"
    machine = Machine.of(other)
    with pytest.raises(ToolError) as caught:
        link_shared([compile_ir(ANSWER, machine)], tmp_path / "lib.so", machine)
    assert caught.value.hints == (f"XTC_CC must name a compiler for {machine.triple}",)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the folder of the shared library .* does not exist"):
        link_shared([], tmp_path / "nowhere" / "lib.so", HOST)


def test_libraries_are_linked_against(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no_such_library"):
        link_shared([], tmp_path / "lib.so", HOST, libraries=["no_such_library"])


def test_closed_objects_have_no_addresses() -> None:
    loaded = LoadedObjects([compile_ir(ANSWER, HOST)])
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(loaded.address("answer"))() == 42
    loaded.close()
    loaded.close()
    with pytest.raises(UserError, match="the objects of 'answer' are closed"):
        loaded.address("answer")


def test_unknown_and_undefined_symbols(capfd: pytest.CaptureFixture[str]) -> None:
    ir = "declare i32 @zork()\ndefine i32 @f() {\n  %x = call i32 @zork()\n  ret i32 %x\n}"
    with LoadedObjects([compile_ir(ir, HOST), compile_ir(ANSWER, HOST)]) as loaded:
        with pytest.raises(CompileError) as caught:
            loaded.address("g")
        assert str(caught.value) == "'g' cannot be loaded\n  note: Symbols not found: [ g ]"
        with pytest.raises(CompileError) as caught:
            loaded.address("f")
        assert "Symbols not found: [ zork ]" in caught.value.notes
        assert loaded.address("answer")
    assert capfd.readouterr() == ("", "")


def test_objects_that_cannot_be_loaded() -> None:
    code = compile_ir(ANSWER, HOST)
    other = compile_ir(ANSWER, Machine.of("thumbv7em-none-eabi"))
    with pytest.raises(CompileError, match="duplicate definition of symbol 'answer'"):
        LoadedObjects([code, code])
    for content in (other, b"", b"no object"):
        with pytest.raises(CompileError, match=f"an object is not for this machine, {HOST.triple}"):
            LoadedObjects([content])
    with pytest.raises(CompileError, match="object 0 cannot be loaded"):
        LoadedObjects([code[:300]])


def test_threads_look_up_in_one_place() -> None:
    functions = [f"define i32 @f{i}() {{ ret i32 {i} }}" for i in range(8)]
    found: dict[int, int] = {}
    with LoadedObjects([compile_ir(ir, HOST) for ir in functions]) as loaded:

        def call(i: int) -> None:
            found[i] = ctypes.CFUNCTYPE(ctypes.c_int32)(loaded.address(f"f{i}"))()

        threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {i: i for i in range(8)}


@pytest.mark.slow
def test_close_releases_memory() -> None:
    size = 8 << 20
    objects = [compile_ir(LOOK_UP, HOST), data_object({"left": b"l" * size, "right": b""}, HOST)]
    process = psutil.Process()

    def once() -> None:
        with LoadedObjects(objects) as loaded:
            loaded.address("look_up")

    once()
    before, descriptors = process.memory_info().rss, process.num_fds()
    for _ in range(10):
        once()
    assert process.memory_info().rss - before < 4 * size
    assert process.num_fds() == descriptors
