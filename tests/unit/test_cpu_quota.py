# SPDX-License-Identifier: Apache-2.0
"""CPU quotas of control groups, read from files in the kernel's format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from xtc.system.cores import usable_cores
from xtc.system.cpu_quota import cpu_quota

NEW = "0::/a/b\n"
OLD = "12:memory:/x\n4:cpu,cpuacct:/a\n0::/\n"


def quota(folder: Path, own: str, files: Mapping[str, str]) -> float | None:
    for name, text in {"own": own, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cpu_quota(folder / "groups", folder / "own")


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        (NEW, {"groups/a/b/cpu.max": "150000 100000\n"}, 1.5),
        (NEW, {"groups/a/b/cpu.max": "max 100000\n"}, None),
        (NEW, {"groups/a/b/cpu.max": "max 100000\n", "groups/a/cpu.max": "300000 100000\n"}, 3),
        (NEW, {"groups/a/b/cpu.max": "200000 100000", "groups/a/cpu.max": "300000 100000"}, 2),
        (NEW, {"groups/cpu.max": "50000 100000\n"}, 0.5),  # a container sees its group as the root
        (NEW, {"groups/a/b/cpu.max": "\n"}, None),
        (NEW, {}, None),
        (
            OLD,
            {
                "groups/cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n",
                "groups/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
                "groups/memory/x/cpu.max": "1 100000\n",
            },
            2.5,
        ),
        (
            OLD,
            {
                "groups/cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n",
                "groups/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ("", {"groups/cpu.max": "1 1"}, None),
    ],
)
def test_the_smallest_enclosing_quota_applies(
    own: str, files: Mapping[str, str], expected: float | None, tmp_path: Path
) -> None:
    assert quota(tmp_path, own, files) == expected


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path / "groups", tmp_path / "own") is None


@pytest.mark.parametrize(("quota", "cores"), [(None, 6), (0.3, 1), (1.5, 2), (2.0, 2), (64.0, 6)])
def test_the_number_of_cores_is_limited_by_the_quota(
    quota: float | None, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setattr("xtc.system.cores.cpu_quota", lambda: quota)
    assert usable_cores() == cores
