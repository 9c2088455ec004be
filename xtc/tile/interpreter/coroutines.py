# SPDX-License-Identifier: Apache-2.0
"""Coroutines: functions that wait for each other, of which one runs at a time, in a fixed order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_IDLE_TURNS = 4096  # in which coroutines only look whether something has changed: nothing will
_STACK_BYTES = 64 << 20  # of a coroutine: the interpreter recurses with the nesting of the kernel


@dataclass(eq=False)
class Task:
    """A coroutine.

    Attributes:
        run: what it does.
        ready: whether it can go on where it waits.
        waits_for: says what it waits for.
        baton: is released to let it run.
        is_part: whether it is a part of another one, and does not count.
    """

    run: Callable[[], None]
    ready: Callable[[], bool] = lambda: True
    waits_for: str = ""
    where: str = ""
    baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    thread: threading.Thread | None = None
    ended: bool = False
    error: BaseException | None = None
    is_part: bool = False


class Canceled(BaseException):
    """Ends a coroutine that nobody needs any more."""


class Tasks:
    """Runs coroutines until all have ended, or one raises, which is raised again here."""

    def __init__(self) -> None:
        self._back = threading.Semaphore(0)
        self._tasks: list[Task] = []
        self._running: Task | None = None
        self._stopped = False
        self._idle = 0

    def add(self, run: Callable[[], None], is_part: bool = False) -> Task:
        """A coroutine more."""
        self._tasks.append(Task(run, is_part=is_part))
        return self._tasks[-1]

    def _first(self, at_once: int) -> list[Task]:
        """The first so many that have not ended, and the parts of all."""
        left = [task for task in self._tasks if not task.ended]
        whole = [task for task in left if not task.is_part][:at_once]
        return whole + [task for task in left if task.is_part]

    def run(self, deadlock: Callable[[list[Task]], BaseException], at_once: int) -> None:
        """Let each run until it waits, the first `at_once` and all parts of them in turn."""
        try:
            while left := self._first(at_once):
                able = [task for task in left if task.ready()]
                if not able or self._idle > _IDLE_TURNS:
                    raise deadlock(left)
                for task in able:
                    if task.ready():
                        self._enter(task)
                self._tasks = [task for task in self._tasks if not task.ended]
        finally:
            self._stop()

    def wait(self, ready: Callable[[], bool], waits_for: str, where: str) -> None:
        """Let others run until a condition holds; called by the coroutine that runs."""
        if ready():
            return
        task = self._running
        if task is None:
            raise RuntimeError("nobody runs the coroutines")
        self._idle = 0
        self._leave(task, ready, waits_for, where)

    def look_again(self, waits_for: str, where: str) -> None:
        """Let others run once, as what the coroutine that runs looks for is not there."""
        if self._running is not None:
            self._idle += 1
            self._leave(self._running, lambda: True, waits_for, where)

    def _leave(self, task: Task, ready: Callable[[], bool], waits_for: str, where: str) -> None:
        task.ready, task.waits_for, task.where = ready, waits_for, where
        self._back.release()
        task.baton.acquire()
        if self._stopped:
            raise Canceled
        task.ready = lambda: True

    def _enter(self, task: Task) -> None:
        self._running = task
        if task.thread is None:
            before = threading.stack_size(_STACK_BYTES)
            task.thread = threading.Thread(target=self._body, args=(task,), daemon=True)
            task.thread.start()
            threading.stack_size(before)
        task.baton.release()
        self._back.acquire()
        if task.ended and task.thread is not None:
            task.thread.join()
        if task.error is not None:
            raise task.error

    def _body(self, task: Task) -> None:
        task.baton.acquire()
        try:
            if not self._stopped:
                task.run()
        except Canceled:
            pass
        except BaseException as error:
            task.error = error
        task.ended = True
        self._idle = 0
        self._back.release()

    def _stop(self) -> None:
        self._stopped = True
        for task in self._tasks:
            if task.thread is not None and not task.ended:
                task.baton.release()
                self._back.acquire()
                task.thread.join()


__all__: list[Any] = ["Canceled", "Task", "Tasks"]
