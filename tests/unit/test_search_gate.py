# SPDX-License-Identifier: Apache-2.0
"""Mutual exclusion of compiling and measuring, if measured code uses all cores."""

from __future__ import annotations

import threading
import time

import pytest

from xtc.search.gate import Gate


class Watch:
    """Threads that compile and measure, and the largest number of each at the same time."""

    def __init__(self, *, exclusive: bool) -> None:
        self.gate = Gate(exclusive=exclusive)
        self.now = {"compile": 0, "measure": 0}
        self.seen: set[tuple[int, int]] = set()
        self._lock = threading.Lock()
        self._announced = threading.Semaphore(0)

    def work(self, kind: str) -> None:
        self._count(kind, 1)
        time.sleep(0.002)
        self._count(kind, -1)

    def _count(self, kind: str, change: int) -> None:
        with self._lock:
            self.now[kind] += change
            self.seen.add((self.now["compile"], self.now["measure"]))

    def compile(self) -> None:
        for _ in range(10):
            with self.gate.compiling():
                self.work("compile")
                self.gate.announce()
                self._announced.release()

    def measure(self) -> None:
        for _ in range(30):
            self._announced.acquire()
            with self.gate.measuring():
                self.work("measure")

    def run(self) -> None:
        targets = [self.measure, *[self.compile] * 3]
        threads = [threading.Thread(target=target, daemon=True) for target in targets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def test_compiling_and_measuring_are_exclusive() -> None:
    watch = Watch(exclusive=True)
    watch.run()
    assert not [pair for pair in watch.seen if pair[0] and pair[1]]
    assert max(compiling for compiling, _ in watch.seen) > 1


def test_a_gate_without_exclusion_blocks_no_thread() -> None:
    watch = Watch(exclusive=False)
    with watch.gate.compiling(), watch.gate.measuring():
        watch.run()


def test_an_open_gate_blocks_no_thread() -> None:
    watch = Watch(exclusive=True)
    watch.gate.announce()
    waiting = threading.Thread(target=watch.compile, daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    watch.gate.open()
    waiting.join(60)
    assert not waiting.is_alive()


def test_an_error_releases_the_gate() -> None:
    gate = Gate(exclusive=True)
    gate.announce()
    with pytest.raises(KeyError), gate.measuring():
        raise KeyError
    with pytest.raises(KeyError), gate.compiling():
        raise KeyError
    gate.announce()
    with gate.measuring():
        pass
