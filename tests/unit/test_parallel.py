# SPDX-License-Identifier: Apache-2.0
"""Parallel loops of compiled modules: correct results, the requested threads, no leaks."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

import xtc
import xtc.ops as O
from tests.unit.parallel_support import NESTS, compiled, samples, threads_of_process
from xtc.cli.loop import run as run_loop
from xtc.core.errors import UserError
from xtc_targets.host.pool import Pool

THREADS = (1, 2, 3, 7)
PARALLEL_MLIR = """
func.func @matmul(%a: memref<64x16xf32>, %b: memref<16x32xf32>, %c: memref<64x32xf32>) {
  linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = {"i" = {"parallelize"}, "j", "k"}}
    ins(%a, %b : memref<64x16xf32>, memref<16x32xf32>) outs(%c : memref<64x32xf32>)
  return
}
"""


class TestResults:
    @pytest.mark.slow
    @pytest.mark.parametrize("threads", THREADS)
    @pytest.mark.parametrize("name", NESTS)
    def test_results_are_correct(self, name: str, threads: int) -> None:
        with compiled(name, threads=threads, in_memory=True) as module:
            module.check()

    @pytest.mark.slow
    @pytest.mark.parametrize("in_memory", [False, True])
    def test_results_do_not_depend_on_the_number_of_threads(self, in_memory: bool) -> None:
        results = []
        for threads in THREADS:
            with compiled(threads=threads, in_memory=in_memory) as module:
                results.append(module(*samples(module)))
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])

    @pytest.mark.slow
    def test_many_threads_may_call_one_module(self) -> None:
        with compiled(threads=3) as module, ThreadPoolExecutor(8) as callers:
            inputs = [samples(module, seed) for seed in range(8)]
            expected = [module(*arrays) for arrays in inputs]
            for _ in range(5):
                for result, wanted in zip(
                    callers.map(lambda a: module(*a), inputs), expected, strict=True
                ):
                    np.testing.assert_array_equal(result, wanted)

    @pytest.mark.slow
    def test_modules_may_run_concurrently(self) -> None:
        with ExitStack() as opened, ThreadPoolExecutor(len(NESTS)) as callers:
            modules = [
                opened.enter_context(compiled(name, threads=2 + odd, in_memory=odd == 0))
                for name, odd in zip(NESTS, cycle((0, 1)), strict=False)
            ]
            for _ in range(3):
                list(callers.map(lambda module: module.check(), modules))


class TestThreads:
    @pytest.mark.slow
    @pytest.mark.parametrize("in_memory", [False, True])
    @pytest.mark.parametrize("threads", THREADS)
    def test_the_requested_number_of_threads_is_used(self, threads: int, in_memory: bool) -> None:
        before = threads_of_process()
        with compiled("one loop", threads=threads, in_memory=in_memory) as module:
            module(*samples(module))
            assert threads_of_process() == before + threads - 1
            assert module.artifact.manifest.toolchain["threads"] == str(threads)

    @pytest.mark.slow
    def test_the_environment_sets_the_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = threads_of_process()
        monkeypatch.setenv("XTC_THREADS", "5")
        with compiled("one loop") as module:
            module(*samples(module))
            assert threads_of_process() == before + 4
            assert module.artifact.manifest.toolchain["threads"] == "all"

    @pytest.mark.slow
    def test_the_default_is_one_thread_per_usable_core(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("XTC_THREADS", raising=False)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5, 6}, raising=False)
        monkeypatch.setattr("xtc.system.cores.cpu_quota", lambda: None)
        before = threads_of_process()
        with compiled("one loop") as module:
            module(*samples(module))
            assert threads_of_process() == before + 3

    @pytest.mark.slow
    def test_each_module_keeps_its_number_of_threads(self) -> None:
        before = threads_of_process()
        with compiled("one loop", threads=2) as two, compiled("one loop", threads=4) as four:
            two(*samples(two))
            assert threads_of_process() == before + 1
            four(*samples(four))
            assert threads_of_process() == before + 3

    @pytest.mark.slow
    def test_the_peak_is_that_of_the_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
        monkeypatch.setattr("xtc.system.cores.cpu_quota", lambda: None)
        monkeypatch.setattr("xtc_targets.host.peak.peak_flops", lambda _, threads: threads * 1e9)
        for threads, cores in ((1, 1), (3, 3), (7, 5)):
            with compiled("one loop", threads=threads) as module:
                assert module.runtime.peak_flops("float32") == cores * 1e9

    @pytest.mark.parametrize(
        ("threads", "message"),
        [
            (0, "threads=0 is not from 1 to 1024"),
            (-1, "threads=-1 is not from 1 to 1024"),
            (10**9, "threads=1000000000 is not from 1 to 1024"),
            ("x", "option 'threads' of target 'host' cannot be 'x'"),
            (2.0, "option 'threads' of target 'host' cannot be 2.0"),
            (True, "option 'threads' of target 'host' cannot be True"),
        ],
    )
    def test_an_invalid_number_of_threads_is_refused(self, threads: Any, message: str) -> None:
        with pytest.raises(UserError, match=f"^{re.escape(message)}"):
            compiled(threads=threads)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0", "environment variable XTC_THREADS has the unusable value '0'"),
            ("x", "environment variable XTC_THREADS has the unusable value 'x'"),
            ("1000000000", "XTC_THREADS=1000000000 is not from 1 to 1024"),
        ],
    )
    def test_an_invalid_number_in_the_environment_is_refused(
        self, text: str, message: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XTC_THREADS", text)
        before = threads_of_process()
        with pytest.raises(UserError, match=re.escape(message)):
            compiled("one loop")
        assert threads_of_process() == before

    def test_the_environment_sets_the_spin_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[int] = []
        run = ctypes.CFUNCTYPE(None)(lambda: None)
        library: Any = SimpleNamespace(
            xtc_parallel_run=run, xtc_parallel_spin=lambda spin: told.append(spin.value)
        )
        table = (ctypes.c_int64 * 2)()
        for text in ("0", "70", ""):
            monkeypatch.setenv("XTC_SPIN_US", text)
            Pool(library).attach(ctypes.addressof(table), 2)
        assert told == [0, 70, 1000]

    @pytest.mark.slow
    @pytest.mark.parametrize("text", ["-1", "x", "1000001"])
    def test_an_invalid_spin_time_is_refused(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XTC_SPIN_US", text)
        before = threads_of_process()
        with pytest.raises(UserError, match=f"XTC_SPIN_US has the unusable value '{text}'"):
            compiled("one loop")
        monkeypatch.delenv("XTC_SPIN_US")
        with compiled("one loop") as module:
            module(*samples(module))
        assert threads_of_process() == before


class TestEnd:
    @pytest.mark.slow
    @pytest.mark.parametrize("in_memory", [False, True])
    def test_threads_and_descriptors_are_released(self, in_memory: bool) -> None:
        process = psutil.Process()
        with compiled(threads=3, in_memory=in_memory) as module:
            module.check()
        threads, descriptors = process.num_threads(), process.num_fds()
        for _ in range(3):
            with compiled(threads=4, in_memory=in_memory) as module:
                module(*samples(module))
        assert (process.num_threads(), process.num_fds()) == (threads, descriptors)

    @pytest.mark.slow
    def test_threads_live_as_long_as_a_module_uses_them(self) -> None:
        before = threads_of_process()
        first, second = compiled("one loop", threads=3), compiled("tails", threads=3)
        first(*samples(first))
        first.close()
        assert threads_of_process() == before + 2
        second.check()
        second.close()
        assert threads_of_process() == before

    @pytest.mark.slow
    def test_a_closed_module_refuses_calls(self) -> None:
        module = compiled(threads=2)
        module.close()
        module.close()
        with pytest.raises(UserError, match="closed"):
            module(*samples(module))


def _check_in_child(module: xtc.Module, result: Any) -> None:
    module.check()
    result.put(threads_of_process())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_module_works_in_a_child_process() -> None:
    processes = multiprocessing.get_context("fork")
    with compiled(threads=3) as module:
        module.check()
        result = processes.Queue()
        child = processes.Process(target=_check_in_child, args=(module, result))
        child.start()
        assert result.get(timeout=60) >= 3
        child.join()
        assert child.exitcode == 0
        module.check()


@pytest.mark.slow
def test_a_forked_child_runs_parallel_loops_and_commands(tmp_path: Path) -> None:
    """The child has none of its parent's pool threads."""
    file = tmp_path / "matmul.mlir"
    file.write_text(PARALLEL_MLIR)
    with compiled(threads=3, in_memory=True) as module:
        module.check()
        child = os.fork()
        if child == 0:
            os._exit(_exit_status(lambda: (module.check(), run_loop([str(file), "--run"]))))
        impatience = threading.Timer(120, os.kill, (child, signal.SIGKILL))
        impatience.start()
        _, status = os.waitpid(child, 0)
        impatience.cancel()
    assert os.waitstatus_to_exitcode(status) == 0


def _exit_status(work: Callable[[], object]) -> int:
    try:
        work()
    except BaseException:
        return 1
    return 0


@pytest.mark.slow
def test_a_parallel_loop_reads_vectors_computed_before_it() -> None:
    x, scale = (O.tensor((17,), "float16", name=name) for name in ("x", "scale"))
    with O.graph(name="normalized") as gb:
        O.layer_norm(x, scale, axis=0, name="C")
    schedule = {"C": ["i", "i#11", "i#4=parallelize", "i#2=vectorize"]}
    for codegen in ("llvm", "c"):
        options = {"codegen": codegen, "threads": 2, "in_memory": True}
        with xtc.compile(gb.graph, schedule=schedule, **options) as module:
            module.check()
