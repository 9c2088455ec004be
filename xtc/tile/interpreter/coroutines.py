# SPDX-License-Identifier: Apache-2.0
"""Coroutines: functions that wait for each other. One runs at a time, in a fixed order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_IDLE_TURNS = 4096  # of polling without a change: nothing will change
_STACK_BYTES = 64 << 20  # of a coroutine: the interpreter recurses as deep as the kernel is nested


@dataclass(eq=False)
class Task:
    """A coroutine.

    Attributes:
        run: its function.
        ready: whether it can resume.
        waits_for: describes the condition that it waits for.
        baton: released to let it run.
        is_part: whether it is a part of another one and does not count.
    """

    run: Callable[[], None]
    ready: Callable[[], bool] = lambda: True
    waits_for: Callable[[], str] = str
    where: str = ""
    baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    thread: threading.Thread | None = None
    ended: bool = False
    error: BaseException | None = None
    is_part: bool = False


class Canceled(BaseException):
    """Ends a coroutine that is no longer needed."""


class Tasks:
    """Runs coroutines until all have ended, or one raises; the exception is raised again here."""

    def __init__(self) -> None:
        self._back = threading.Semaphore(0)
        self._tasks: list[Task] = []
        self._running: Task | None = None
        self._stopped = False
        self._idle = 0

    def add(self, run: Callable[[], None], is_part: bool = False) -> Task:
        """Add a coroutine."""
        self._tasks.append(Task(run, is_part=is_part))
        return self._tasks[-1]

    def _first(self, at_once: int) -> list[Task]:
        """The first `at_once` unfinished ones, and all parts."""
        left = [task for task in self._tasks if not task.ended]
        whole = [task for task in left if not task.is_part][:at_once]
        return whole + [task for task in left if task.is_part]

    def run(self, deadlock: Callable[[list[Task]], BaseException], at_once: int) -> None:
        """Run the first `at_once` coroutines and all parts in turn, each until it waits."""
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

    def wait(self, ready: Callable[[], bool], waits_for: Callable[[], str], where: str) -> None:
        """Yield until a condition holds; called by the running coroutine."""
        if ready():
            return
        task = self._running
        if task is None:
            raise RuntimeError("the coroutines are not running")
        self._idle = 0
        self._leave(task, ready, waits_for, where)

    def look_again(self, waits_for: Callable[[], str], where: str) -> None:
        """Yield once, because the condition that the running coroutine polls does not hold."""
        if self._running is not None:
            self._idle += 1
            self._leave(self._running, lambda: True, waits_for, where)

    def _leave(
        self, task: Task, ready: Callable[[], bool], waits_for: Callable[[], str], where: str
    ) -> None:
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
