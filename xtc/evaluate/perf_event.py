# SPDX-License-Identifier: Apache-2.0
"""The Linux kernel's interface perf_event_open(2): structures and constants.

Constants are from include/uapi/linux/perf_event.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass, field
from pathlib import Path

TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_HW_CACHE, TYPE_RAW = 0, 1, 3, 4

_SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
_FLAG_CLOEXEC = 8
_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _DISABLED = 1 << 5, 1 << 6, 1 << 0
_READ_TIMES_AND_GROUP = 1 | 2 | 8
_IOCTL_ENABLE, _IOCTL_DISABLE, _IOCTL_WHOLE_GROUP = 0x2400, 0x2401, 1
_GROUP_IS_FULL = (errno.EINVAL, errno.ENOSPC)
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class Attributes(ctypes.Structure):
    """struct perf_event_attr up to version 5 (112 bytes), which Linux 4.1 and later accept."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup", ctypes.c_uint64),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 5),
    )


@dataclass(frozen=True)
class Event:
    """An event to count; `in_kernel` includes kernel mode.

    `extra` has the event's config1 and config2, if any.
    """

    type: int
    config: int
    in_kernel: bool = False
    extra: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Reading:
    """The values of a group, with the nanoseconds it was enabled and running on the hardware."""

    values: tuple[int, ...]
    enabled: int
    running: int

    def scaled(self) -> tuple[int, ...] | None:
        """Values scaled to the enabled time; None if the group never ran."""
        if self.running == self.enabled:
            return self.values
        if self.running == 0:
            return None
        return tuple(round(value * self.enabled / self.running) for value in self.values)


def unsupported_reason() -> str | None:
    """The reason why this machine lacks the interface, or None."""
    if platform.system() != "Linux":
        return f"performance counters are read from the Linux kernel; this is {platform.system()}"
    if platform.machine() not in _SYSCALL:
        return f"no system call number is known for {platform.machine()}"
    return None


def paranoid_level() -> str:
    """The text of /proc/sys/kernel/perf_event_paranoid, or 'absent'."""
    try:
        return _PARANOID.read_text().strip()
    except OSError:
        return "absent"


def open_event(event: Event, thread: int, leader: int = -1) -> int:
    """A descriptor that counts `event` in `thread`, stopped. Raises OSError as the kernel says."""
    flags = _EXCLUDE_HYPERVISOR | (0 if event.in_kernel else _EXCLUDE_KERNEL)
    attributes = Attributes(
        type=event.type,
        size=ctypes.sizeof(Attributes),
        config=event.config,
        config1=event.extra[0],
        config2=event.extra[1],
        read_format=_READ_TIMES_AND_GROUP,
        flags=flags | (_DISABLED if leader < 0 else 0),
    )
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(
        ctypes.c_long(_SYSCALL[platform.machine()]),
        ctypes.byref(attributes),
        ctypes.c_int(thread),
        ctypes.c_int(-1),
        ctypes.c_int(leader),
        ctypes.c_ulong(_FLAG_CLOEXEC),
    )
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(descriptor)


@dataclass
class Group:
    """Events of one thread that are scheduled and read together."""

    thread: int
    descriptors: list[int] = field(default_factory=list)

    def add(self, event: Event) -> bool:
        """Open `event` in this group; False if the hardware has no free counter."""
        leader = self.descriptors[0] if self.descriptors else -1
        try:
            self.descriptors.append(open_event(event, self.thread, leader))
        except OSError as error:
            if self.descriptors and error.errno in _GROUP_IS_FULL:
                return False
            raise
        return True

    def enable(self) -> None:
        self._control(_IOCTL_ENABLE)

    def disable(self) -> None:
        self._control(_IOCTL_DISABLE)

    def read(self) -> Reading:
        count = len(self.descriptors)
        words = struct.unpack(f"={3 + count}Q", os.read(self.descriptors[0], 8 * (3 + count)))
        return Reading(values=words[3:], enabled=words[1], running=words[2])

    def close(self) -> None:
        while self.descriptors:
            with contextlib.suppress(OSError):
                os.close(self.descriptors.pop())

    def _control(self, request: int) -> None:
        import fcntl  # missing on systems other than POSIX, which never get here

        fcntl.ioctl(self.descriptors[0], request, _IOCTL_WHOLE_GROUP)
