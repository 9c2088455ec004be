# SPDX-License-Identifier: Apache-2.0
"""Parallel loops of C code: the same pool, thread counts and artifacts as with LLVM."""

from __future__ import annotations

import _ctypes
import ctypes
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
from tests.unit.c_support import STRICT, strict_compiler
from tests.unit.parallel_support import NESTS, compiled, samples, threads_of_process
from xtc.core.errors import ArtifactError, DeviceMemoryError
from xtc.driver import prepare
from xtc.interfaces.artifact import MANIFEST_FILE
from xtc_targets.host import pool_library

pytestmark = pytest.mark.slow

__all__ = ["strict_compiler"]

PACKED = "a packed operand and a buffer, with tails"
SOURCES = {MANIFEST_FILE, "module.so", "module.c"}


def text_of(name: str, **options: Any) -> str:
    graph, schedule = NESTS[name]
    return prepare(graph, schedule=schedule, codegen="c", **options).stage_text("code")


@pytest.mark.parametrize("name", NESTS)
def test_results_are_right_on_any_number_of_threads(strict_compiler: str, name: str) -> None:
    results = []
    for threads in (1, 2, 7):
        with compiled(name, codegen="c", threads=threads, in_memory=threads == 2) as module:
            module.check()
            results.append(module(*samples(module)))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("in_memory", [False, True])
def test_c_and_llvm_share_one_pool(in_memory: bool) -> None:
    with (
        compiled("one loop", threads=4, in_memory=in_memory) as by_llvm,
        compiled("one loop", threads=4, in_memory=in_memory, codegen="c") as by_c,
    ):
        by_llvm(*samples(by_llvm))
        threads = threads_of_process()
        by_c(*samples(by_c))
        assert threads_of_process() == threads
        assert by_c.artifact.manifest.toolchain["threads"] == "4"


LOAD = """
import sys, psutil, numpy as np, xtc
module = xtc.load(sys.argv[1])
a, b = np.random.default_rng(0).standard_normal((2, 24, 24)).astype(np.float32)
before = psutil.Process().num_threads()
np.testing.assert_allclose(module(a, b), a @ b, rtol=1e-4, atol=1e-4)
print(psutil.Process().num_threads() - before)
"""


@pytest.mark.parametrize(("asked", "started"), [(None, 4), (3, 2), (1, 0)])
def test_a_saved_module_starts_the_requested_threads(
    asked: int | None, started: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with compiled("one loop", threads=asked, codegen="c") as module:
        module.save(tmp_path / "product")
    monkeypatch.setenv("XTC_CC", "no-such-compiler")
    monkeypatch.setenv("XTC_THREADS", "5")
    words = [sys.executable, "-c", LOAD, str(tmp_path / "product")]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == (f"{started}\n", "")


def test_a_saved_module_contains_the_pool(tmp_path: Path) -> None:
    files = {}
    for threads in (1, 4):
        with compiled("one loop", threads=threads, codegen="c") as module:
            module.save(tmp_path / str(threads))
        files[threads] = {path.name for path in (tmp_path / str(threads)).iterdir()}
    assert files == {1: SOURCES, 4: SOURCES | {"parallel.so"}}
    (tmp_path / "4" / "parallel.so").unlink()
    with pytest.raises(ArtifactError, match=r"'parallel\.so' does not match the manifest"):
        xtc.load(tmp_path / "4")


def test_an_unbound_library_runs_on_the_calling_thread(tmp_path: Path) -> None:
    with compiled("one loop", threads=4, codegen="c") as module:
        module.save(tmp_path / "product")
    library = ctypes.CDLL(str(tmp_path / "product" / "module.so"))
    a, b = np.random.default_rng(0).standard_normal((2, 24, 24)).astype(np.float32)
    c = np.empty_like(a)
    before = threads_of_process()
    library.product(*(ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)))
    assert threads_of_process() == before
    _ctypes.dlclose(library._handle)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_one_thread_needs_no_runtime() -> None:
    text = text_of("one loop", threads=1)
    assert "xtc_loops" not in text
    assert "pthread" not in text


def test_the_text_repeats_the_declarations_of_the_runtime() -> None:
    """Each declaration of parallel.h that compiled code needs, verbatim."""
    header = next(path for path in pool_library._SOURCES if path.suffix == ".h").read_text()
    text = text_of("one loop", threads=2)
    for pattern in (r"typedef void xtc_loop.*?;", r"struct xtc_parallel \{.*?\n\};"):
        (declaration,) = re.findall(pattern, header, re.DOTALL)
        assert declaration in text


def test_a_program_can_bind_the_pool_itself(tmp_path: Path) -> None:
    """As parallel.h says: a module's C, the pool's C and a main function form a program."""
    program = tmp_path / "main.c"
    program.write_text(
        """
        #include "parallel.h"
        extern struct xtc_parallel loops __asm__("xtc.pool");
        void product(const float a[24][24], const float b[24][24], float c[24][24]);
        static float a[24][24], b[24][24], c[24][24];
        int main(void) {
          for (int i = 0; i < 24; ++i) {
            a[i][i] = 2;
            b[i][23 - i] = i;
          }
          loops.run = xtc_parallel_run;
          loops.threads = 3;
          product(a, b, c);
          xtc_parallel_stop();
          for (int i = 0; i < 24; ++i)
            if (c[i][23 - i] != 2 * i)
              return 1;
          return 0;
        }"""
    )
    (tmp_path / "module.c").write_text(text_of("one loop", threads=3))
    runtime = next(path for path in pool_library._SOURCES if path.suffix == ".c")
    words = ["cc", "-std=c11", *STRICT.split(), "-I", str(runtime.parent), "-pthread", "-O1"]
    sources = [str(program), str(tmp_path / "module.c"), str(runtime)]
    subprocess.run([*words, "-o", str(tmp_path / "run"), *sources], check=True)
    assert subprocess.run([str(tmp_path / "run")], check=False).returncode == 0


def test_a_thread_without_memory_fails_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header lets every allocation fail; the call reports it, whichever thread ran the loop."""
    header = tmp_path / "no_memory.h"
    header.write_text("#include <stdlib.h>\n#define aligned_alloc(alignment, size) NULL\n")
    monkeypatch.setenv("XTC_CC", f"cc -include {header}")
    for threads in (1, 3):
        with (
            compiled(PACKED, threads=threads, codegen="c", in_memory=True) as module,
            pytest.raises(DeviceMemoryError, match="found no memory"),
        ):
            module(*samples(module))


def test_code_for_another_system_has_the_source_of_the_runtime(tmp_path: Path) -> None:
    graph, schedule = NESTS["one loop"]
    compilation = prepare(
        graph, schedule=schedule, codegen="c", triple="x86_64-unknown-freebsd", threads=4
    )
    files = compilation.build(tmp_path).manifest.files
    assert set(files) == {"module.c", "module.o", "parallel.c", "parallel.h"}
