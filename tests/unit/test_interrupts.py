# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any point of a compilation raises KeyboardInterrupt, and leaves no files."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from xtc.ir.interrupts import delayed_interrupts, many_delays
from xtc.system.workspace import sweep

ROOT = Path(__file__).parents[2]
# Python before 3.12 replaces an exception during the creation of a class, also an interrupt.
CLASS_CREATION = "RuntimeError: Error calling __set_name__"
PROGRAM = """
import signal, sys, xtc
from tests.unit.cache_graphs import matmul_graph
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
for rows in range(1, 1000):
    xtc.compile(matmul_graph(rows), codegen=sys.argv[1], cache=False).close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_an_interrupt_leaves_no_files(codegen: str, tmp_path: Path, is_long: bool) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}  # noqa: TID251
    chance = random.Random(0)  # noqa: S311  moments, not secrets
    for _ in range(100 if is_long else 3):
        ran = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, codegen],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert ran.stdout is not None
        ran.stdout.readline()
        time.sleep(chance.uniform(0, 0.4))
        ran.send_signal(signal.SIGINT)
        _, said = ran.communicate(timeout=60)
        if CLASS_CREATION not in said:
            assert said.rstrip().endswith("KeyboardInterrupt")
            assert ran.returncode in (-signal.SIGINT, 130)
        assert "KeyboardInterrupt" in said
        own = tmp_path / f"xtc-{os.geteuid()}"
        sweep(own)  # as the next process does: a lock may remain if its creation was interrupted
        assert set(tmp_path.rglob("*")) <= {
            own
        }  # an early interrupt precedes the creation of the folder


class Interrupted(Exception):  # noqa: N818
    """The exception of a program's own handler."""


@pytest.fixture
def handler() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("around", [nullcontext, many_delays])
def test_an_interrupt_waits_for_the_end_of_the_block(
    around: Callable[[], AbstractContextManager[None]],
) -> None:
    done = []

    def work() -> None:
        with around(), delayed_interrupts(), delayed_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all")

    with pytest.raises(Interrupted):
        work()
    assert done == ["all"]
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("handler")
def test_an_interrupt_takes_effect_between_delays() -> None:
    before, done = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with many_delays(), many_delays():
            with delayed_interrupts():
                done.append("delayed")
            signal.raise_signal(signal.SIGINT)
            done.append("never")

    with pytest.raises(Interrupted):
        work()
    assert done == ["delayed"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("handler")
def test_a_delay_without_an_interrupt_has_no_effect() -> None:
    before = signal.getsignal(signal.SIGINT)
    with delayed_interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_do_not_change_handlers() -> None:
    seen = []

    def look() -> None:
        before = signal.getsignal(signal.SIGINT)
        with delayed_interrupts(), many_delays():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [True]


def test_ignored_interrupts_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with delayed_interrupts():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
