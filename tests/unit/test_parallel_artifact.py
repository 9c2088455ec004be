# SPDX-License-Identifier: Apache-2.0
"""Parallel loops in artifacts: included files, and quality of code."""

from __future__ import annotations

import _ctypes
import ctypes
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import ArtifactError
from xtc.driver import prepare
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import MANIFEST_FILE

SCHEDULE = {"C": {"i": "parallelize", "j": {}, "k": {}}}


def matmul_graph(size: int = 24) -> Graph:
    a, b = O.tensor((size, size), "float32", name="A"), O.tensor((size, size), "float32", name="B")
    with O.graph(name="product") as gb:
        O.matmul(a, b, name="C")
    return gb.graph


def saved(folder: Path, **options: Any) -> Path:
    with xtc.compile(matmul_graph(), schedule=SCHEDULE, **options) as module:
        module.save(folder / "product")
    return folder / "product"


LOAD = """
import sys, numpy as np, psutil, xtc
before = psutil.Process().num_threads()
module = xtc.load(sys.argv[1])
a = np.arange(24 * 24, dtype=np.float32).reshape(24, 24)
assert np.array_equal(module(a, np.eye(24, dtype=np.float32)), a)
print(psutil.Process().num_threads() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "started"), [(None, 4), (3, 2)])
def test_a_saved_module_needs_no_compiler(
    asked: int | None, started: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path, threads=asked)
    monkeypatch.setenv("XTC_CC", "no-such-compiler")
    monkeypatch.setenv("XTC_THREADS", "5")
    ran = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder)], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == (f"{started}\n", "")


def test_one_thread_needs_no_runtime(tmp_path: Path) -> None:
    folder = saved(tmp_path, threads=1)
    assert {path.name for path in folder.iterdir()} == {MANIFEST_FILE, "module.so"}
    assert b"xtc.pool" not in (folder / "module.so").read_bytes()


@pytest.mark.slow
def test_a_module_without_parallel_loops_needs_no_runtime(tmp_path: Path) -> None:
    with xtc.compile(matmul_graph()) as module:
        module.save(tmp_path / "plain")
    assert {path.name for path in (tmp_path / "plain").iterdir()} == {MANIFEST_FILE, "module.so"}


@pytest.mark.slow
def test_an_unbound_library_runs_on_the_calling_thread(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(saved(tmp_path, threads=4) / "module.so"))
    a, b = np.random.default_rng(0).standard_normal((2, 24, 24)).astype(np.float32)
    c = np.empty_like(a)
    library.product(*(ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)))
    _ctypes.dlclose(library._handle)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_a_missing_runtime_is_reported(tmp_path: Path) -> None:
    folder = saved(tmp_path, threads=4)
    (folder / "parallel.so").unlink()
    with pytest.raises(ArtifactError, match=r"'parallel\.so' does not match the manifest"):
        xtc.load(folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["x", "0", "-3", "9999999"])
def test_an_invalid_number_of_threads_is_reported(number: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, threads=4)
    text = (folder / MANIFEST_FILE).read_text()
    (folder / MANIFEST_FILE).write_text(text.replace('"threads": "4"', f'"threads": "{number}"'))
    with pytest.raises(ArtifactError, match=f"the manifest asks for '{number}' threads"):
        xtc.load(folder)


def test_code_for_another_machine_has_the_source_of_the_runtime(tmp_path: Path) -> None:
    artifact = prepare(
        matmul_graph(), schedule=SCHEDULE, triple="aarch64-unknown-linux-gnu", threads=4
    ).build(tmp_path)
    assert set(artifact.manifest.files) == {"module.o", "parallel.c", "parallel.h"}


PACKED = {
    "C": {
        "j": "parallelize",
        "k": {"pack": 1},
        "i": {},
        "k#128": {},
        "i#8": "unroll",
        "j#32": "vectorize",
    }
}
VECTORS = {"C": {"i": "parallelize", "k": {}, "j": {}, "j#16": "vectorize"}}


def arithmetic(schedule: dict[str, Any], threads: int) -> Counter[str]:
    """The count of each instruction on floating-point registers in the code."""
    compilation = prepare(
        matmul_graph(256),
        schedule=schedule,
        threads=threads,
        triple="x86_64-unknown-linux-gnu",
        cpu="skylake-avx512",
    )
    words = re.findall(r"^\t(v(?:mov|fmadd|broadcast)\w*)", compilation.stage_text("code"), re.M)
    return Counter(words)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [PACKED, VECTORS, SCHEDULE], ids=["packed", "vectors", "rows"])
def test_a_parallel_body_is_compiled_as_well_as_a_serial_loop(schedule: dict[str, Any]) -> None:
    serial = arithmetic(schedule, threads=1)
    assert any(word.startswith("vfmadd") for word in serial)
    assert arithmetic(schedule, threads=4) == serial
