# SPDX-License-Identifier: Apache-2.0
"""Hardware and kernel counters of this process, through Linux's perf events.

```python
with Counters(["cycles", "instructions"]) as counters:
    work()
print(counters.values())
```

Hardware events are counted in user mode only, which needs no privilege; kernel events are counted
everywhere. If there are more events than hardware counters, the kernel multiplexes them and values
are scaled by their counting time; `estimated` names those.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from xtc.core.errors import UserError, XtcError
from xtc.evaluate import perf_event
from xtc.evaluate.counter_names import COUNTERS
from xtc.evaluate.event_names import check_names, event_of
from xtc.evaluate.perf_event import TYPE_SOFTWARE, Group

_NOT_PERMITTED = (errno.EACCES, errno.EPERM)
_NOT_OFFERED = (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL, errno.ENXIO)
_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)


class CountersUnavailable(XtcError):  # noqa: N818  the name users read: what happened
    """This machine does not support a counter, or does not permit it to this process."""


class Counters:
    """Counts events of this process during its `with` block; may be entered again.

    Args:
        names: keys of COUNTERS, raw events as `r01c2`, or names that libpfm4 knows, each once.
        all_threads: count every thread that exists when the block is entered; False counts only the
            calling thread. Threads started inside the block are not counted: warm up a thread pool
            first.

    Raises UserError for an unknown or repeated name; on entry CountersUnavailable where the kernel
    refuses, with the counter, the error number, perf_event_paranoid and what to do.
    """

    def __init__(self, names: Sequence[str], *, all_threads: bool = True) -> None:
        check_names(names)
        self.names = tuple(names)
        self.estimated: tuple[str, ...] = ()
        self._all_threads = all_threads
        self._groups: list[tuple[tuple[str, ...], Group]] = []
        self._open: ExitStack | None = None
        self._values: dict[str, int] | None = None

    def __enter__(self) -> Counters:
        if self._open is not None:
            raise UserError("these counters are already counting; enter them once at a time")
        with ExitStack() as stack:
            stack.callback(self._groups.clear)
            self._open_groups(stack)
            for _, group in self._groups:
                group.enable()
            self._open = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stack, self._open = self._open, None
        if stack is None:
            return
        with stack:
            for _, group in self._groups:
                group.disable()
            if error is None:
                self._values = self._read()

    def values(self) -> dict[str, int]:
        """Counts by name: so far inside the block, final after it. Raises UserError before it."""
        if self._open is not None:
            return self._read()
        if self._values is None:
            raise UserError(
                "these counters have not counted yet", hints=["read them in or after a with block"]
            )
        return dict(self._values)

    def _open_groups(self, stack: ExitStack) -> None:
        own = threading.get_native_id()
        for thread in _thread_ids() if self._all_threads else [own]:
            try:
                self._open_thread(thread, stack)
            except ProcessLookupError:
                if thread == own:
                    raise  # other threads may have ended meanwhile

    def _open_thread(self, thread: int, stack: ExitStack) -> None:
        """Open every event for one thread, in as few groups as the hardware allows."""
        for hardware in (True, False):
            names = [n for n in self.names if (event_of(n).type != TYPE_SOFTWARE) == hardware]
            while names:
                group = Group(thread)
                stack.callback(group.close)
                taken = _fill(group, names)
                self._groups.append((tuple(names[:taken]), group))
                names = names[taken:]

    def _read(self) -> dict[str, int]:
        totals = dict.fromkeys(self.names, 0)
        estimated: set[str] = set()
        for names, group in self._groups:
            reading = group.read()
            scaled = reading.scaled()
            if scaled is None:
                raise _never_counted(names)
            if reading.running != reading.enabled:
                estimated.update(names)
            for name, value in zip(names, scaled, strict=True):
                totals[name] += value
        self.estimated = tuple(name for name in self.names if name in estimated)
        return totals


def available_counters() -> dict[str, str | None]:
    """All counters: None if this process can count it now, else the reason why not."""
    return {name: _reason(name) for name in COUNTERS}


def _reason(name: str) -> str | None:
    try:
        with Counters([name], all_threads=False):
            return None
    except CountersUnavailable as error:
        return error.what


def _thread_ids() -> list[int]:
    """All threads of this process, including those that Python did not start."""
    if perf_event.unsupported_reason() is not None:
        return [threading.get_native_id()]
    return sorted(int(entry.name) for entry in Path("/proc/self/task").iterdir())


def _fill(group: Group, names: Sequence[str]) -> int:
    """Open the events in order until the group is full; returns the number opened."""
    reason = perf_event.unsupported_reason()
    if reason is not None:
        raise CountersUnavailable(f"counter '{names[0]}' is not available: {reason}")
    for taken, name in enumerate(names):
        try:
            if not group.add(event_of(name)):
                return taken
        except ProcessLookupError:
            raise
        except OSError as error:
            raise _refused(name, error) from None
    return len(names)


def _refused(name: str, error: OSError) -> CountersUnavailable:
    number = error.errno or 0
    symbol = errno.errorcode.get(number, "unknown")
    return CountersUnavailable(
        f"counter '{name}' is not available: {_cause(number)} (errno {number}, {symbol})",
        notes=[f"/proc/sys/kernel/perf_event_paranoid is {perf_event.paranoid_level()}"],
        hints=_advice(number),
    )


def _cause(number: int) -> str:
    if number in _NOT_PERMITTED:
        return "this process may not use it"
    if number in _NOT_OFFERED:
        return "this machine does not offer it"
    return os.strerror(number)


def _advice(number: int) -> list[str]:
    if number in _NOT_PERMITTED:
        return [
            "allow it with: sudo sysctl kernel.perf_event_paranoid=1",
            "in a container, allow the system call perf_event_open or add the capability PERFMON",
        ]
    if number in _NOT_OFFERED:
        return [
            "in a virtual machine, enable its performance monitoring unit or measure outside it",
            "xtc.evaluate.available_counters() lists what can be counted here",
        ]
    if number in _TOO_MANY_FILES:
        return ["every counter takes a file descriptor for each thread: raise `ulimit -n`"]
    if number == errno.ENOSYS:
        return ["this kernel was built without CONFIG_PERF_EVENTS"]
    return ["see the errors of perf_event_open(2)"]


def _never_counted(names: Sequence[str]) -> CountersUnavailable:
    return CountersUnavailable(
        f"the kernel never counted {', '.join(names)}",
        notes=["other programs, or the kernel's watchdog, hold the processor's counters"],
        hints=["ask for fewer counters, measure longer, or stop other profilers"],
    )
