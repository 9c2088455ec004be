# SPDX-License-Identifier: Apache-2.0
"""Programs that the cache tests run in a separate process: cache_worker NAME ARGUMENTS...

Each prints one JSON document. Children are forked before anything starts a thread, so that hundreds
of them can be killed without paying for as many starts of Python.
"""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import xtc
import xtc.ops as O
from tests.unit.cache_graphs import matmul_graph
from xtc.core.errors import UserError
from xtc.driver import prepare
from xtc.driver.cached import compilation_key
from xtc.system.cache import ArtifactCache, configured_cache

KEY = "ab" * 32
FILES = {"module.so": b"code" * 1000, "manifest.json": b"{}\n"}
DISK_EVENTS = ("open", "os.", "fcntl.", "shutil.", "tempfile.")


def forked(child: Callable[[], object]) -> int:
    """The id of a child process that runs `child` and exits with 0, or with 1 on an exception."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        child()
        status = 0
    finally:
        os._exit(status)


def ending(pid: int) -> int:
    """The exit code of a child, or minus its signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def compile_and_check(rows: int, **how: Any) -> bool:
    """Compile the matmul and compare its result with NumPy's; returns whether it was cached."""
    array = np.random.default_rng(rows).standard_normal((rows, 6)).astype(np.float32)
    with xtc.compile(matmul_graph(rows), **how) as module:
        expected = np.maximum(array @ np.full((6, 8), 2, np.float32), 0)
        np.testing.assert_allclose(module(array), expected, rtol=1e-4, atol=1e-4)
        return module.cached


def damaged(cache: ArtifactCache) -> list[str]:
    """Keys of incomplete or damaged entries."""
    return [entry.key for entry in cache.entries() if cache.lookup(entry.key) is None]


def kill_compilations(count: int, seed: int) -> dict[str, Any]:
    """Kill compilations, by LLVM and by C in turn, at random moments; returns the cache's contents
    and state."""
    compilation_key(prepare(matmul_graph()))  # loads LLVM, without a thread
    how: tuple[dict[str, Any], ...] = ({}, {"codegen": "c"})
    durations = []
    for rows in (0, 1):
        start = time.monotonic()
        assert ending(forked(partial(compile_and_check, rows + 1, **how[rows]))) == 0
        durations.append(time.monotonic() - start)
    chance = random.Random(seed)  # noqa: S311  moments, not secrets
    rows, killed = 2, 0
    while killed < count:
        rows += 1
        odd = (rows - 1) % 2
        pid = forked(partial(compile_and_check, rows, **how[odd]))
        time.sleep(chance.uniform(0, durations[odd]))
        os.kill(pid, signal.SIGKILL)
        killed += ending(pid) == -signal.SIGKILL
    cache = configured_cache()
    bad, kept = damaged(cache), len(cache.entries())
    hits = sum(compile_and_check(number + 1, **how[number % 2]) for number in range(rows))
    return {"bad": bad, "kept": kept, "hits": hits}


def die_at(step: int, work: Callable[[], object]) -> None:
    """Kill this process at its `step`-th file operation in `work`, if there are that many."""
    count = 0

    def on_event(event: str, _: object) -> None:
        nonlocal count
        if event.startswith(DISK_EVENTS):
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(on_event)
    work()


def kill_at_every_step(what: str) -> dict[str, Any]:
    """Kill `publish` or `clear` at each of its file operations, and inspect the cache."""
    complaints = LoggedMessages()
    logging.getLogger("xtc").addHandler(complaints)
    cache = configured_cache()
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder)
        for name, content in FILES.items():
            (built / name).write_bytes(content)
        work = cache.clear if what == "clear" else partial(cache.publish, KEY, built)
        steps, kept, left, status = 0, 0, set[str](), -signal.SIGKILL
        while status == -signal.SIGKILL:
            steps += 1
            assert what == "publish" or cache.publish(KEY, built)
            status = ending(forked(partial(die_at, steps, work)))
            kept += cache.lookup(KEY) is not None
            assert cache.publish(KEY, built)
            assert cache.lookup(KEY) is not None
            cache.clear()
            left |= {path.name for path in (cache.root / "tmp").iterdir()}
    others = [name for name in left if not name.startswith(f"{os.getpid()}-")]
    return {
        "steps": steps,
        "status": status,
        "kept": kept,
        "left": others,
        "complaints": complaints.said,
    }


class LoggedMessages(logging.Handler):
    """Collects log messages."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def race(count: int) -> dict[str, Any]:
    """Let processes compile one graph at the same time."""
    compilation_key(prepare(matmul_graph()))
    wait, start = os.pipe()

    def child() -> None:
        os.close(start)
        os.read(wait, 1)  # until the parent closes its end
        compile_and_check(4)

    children = [forked(child) for _ in range(count)]
    os.close(start)
    endings = [ending(pid) for pid in children]
    cache = configured_cache()
    return {
        "right": endings.count(0),
        "entries": len(cache.entries()),
        "bad": damaged(cache),
        "hit": compile_and_check(4),
    }


def threads(count: int, total: int) -> dict[str, Any]:
    """Compile and run in threads; half of the compilations use the cache."""

    def work(number: int) -> bool:
        return compile_and_check(1 + number % 12, cache=number % 2 == 0)

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(work, range(total)))
    return {"done": len(results), "hits": sum(results), "bad": damaged(configured_cache())}


def close_while_calling(count: int) -> dict[str, Any]:
    """Close modules that two threads call in a loop; returns the errors of their last calls."""
    size = 192
    a = O.tensor((size, size), name="a")
    with O.graph(name="products") as gb:
        O.matmul(O.matmul(a, a), a)
    array, said = np.ones((size, size), np.float32), []
    for number in range(count):
        module = xtc.compile(gb, in_memory=number % 2 == 0)
        begun = threading.Barrier(3)

        def call(module: xtc.Module = module, begun: threading.Barrier = begun) -> None:
            begun.wait()
            try:
                while True:
                    module(array)
            except UserError as error:
                said.append(error.what)

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        begun.wait()
        time.sleep(0.005)
        module.close()
        for thread in threads:
            thread.join()
    return {"ended": len(said), "said": sorted(set(said))}


def leak(total: int, warm_up: int, how: str) -> dict[str, Any]:
    """Compile, load, call and unload repeatedly; returns the growth of the process.

    `how` is "hit" for code from the cache, "linked" or "in_memory" for newly compiled code.
    """
    process = psutil.Process()
    options = {"hit": {}, "linked": {"cache": False}, "in_memory": {"in_memory": True}}[how]

    def measure() -> tuple[int, int]:
        gc.collect()
        return process.memory_info().rss, process.num_fds()

    for _ in range(warm_up):
        compile_and_check(4, **options)
    rss, descriptors = measure()
    for _ in range(total):
        assert compile_and_check(4, **options) == (how == "hit")
    rss_after, descriptors_after = measure()
    return {"growth": rss_after / rss - 1, "descriptors": descriptors_after - descriptors}


CODE: dict[str, dict[str, Any]] = {
    "llvm": {},
    "c": {"codegen": "c"},
    "parallel": {"schedule": {"c": {"i": "parallelize", "j": {}}}},
    "another machine": {"triple": "aarch64-unknown-linux-gnu"},
}


def code() -> dict[str, Any]:
    """Hashes of code generated in several ways, and the keys."""
    answer = {}
    for name, how in CODE.items():
        compilation = prepare(matmul_graph(), **how)
        in_memory = compilation.build(None)
        with tempfile.TemporaryDirectory() as folder:
            files = dict(compilation.build(Path(folder)).manifest.files)
        objects = [hashlib.sha256(machine_code).hexdigest() for machine_code in in_memory.objects]
        answer[name] = [objects, files, compilation_key(compilation).text]
    return answer


def small_disks(folder: str) -> dict[str, Any]:
    """Use caches on a full and on a read-only disk; needs a separate mount namespace."""
    answer: dict[str, Any] = {}
    for name, option in (("full", "size=16k"), ("read_only", "ro")):
        root = Path(folder, name)
        root.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"mode=0700,{option}", "none", str(root)]
        subprocess.run(mount, check=True)
        os.environ["XTC_CACHE_DIR"] = str(root)  # noqa: TID251
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hits = [compile_and_check(4), compile_and_check(4)]
        answer[name] = {
            "hits": hits,
            "warnings": [str(warning.message) for warning in caught],
            "files": [path.name for path in root.rglob("*") if path.name in FILES],
        }
    return answer


PROGRAMS: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        *(kill_compilations, kill_at_every_step, race, threads, close_while_calling, leak, code),
        small_disks,
    )
}


def main(name: str, *arguments: str) -> None:
    """Run a program and print its answer."""
    numbers = (int(text) if text.isdecimal() else text for text in arguments)
    json.dump(PROGRAMS[name](*numbers), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
