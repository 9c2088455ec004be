# SPDX-License-Identifier: Apache-2.0
"""The CPU quota of this process's control group, such as in containers.

The files are those of cgroups(7): `cpu.max` of version 2, `cpu.cfs_quota_us` and
`cpu.cfs_period_us` of version 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def cpu_quota(groups: Path = _GROUPS, own: Path = _OWN) -> float | None:
    """CPU seconds per second, the smallest of all enclosing groups; None for no limit."""
    found = [quota for folder in _folders(groups, own) if (quota := _quota(folder)) is not None]
    return min(found, default=None)


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    """The folders of the group and its parents; only the root's if the group is not visible."""
    for line in _text(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        hierarchy = groups / controllers
        folder = hierarchy / path.lstrip("/")
        while folder != hierarchy:
            yield folder
            folder = folder.parent
        yield hierarchy


def _quota(folder: Path) -> float | None:
    text = _text(folder / "cpu.max")
    if not text:
        text = _text(folder / "cpu.cfs_quota_us") + _text(folder / "cpu.cfs_period_us")
    try:
        quota, period = map(int, text.split())
    except ValueError:  # "max", or no such files
        return None
    return quota / period if quota > 0 and period > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
