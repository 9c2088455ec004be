# SPDX-License-Identifier: Apache-2.0
"""If memory for temporary arrays runs out, compiled code reports it, leaks nothing, and stays
usable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.memory_worker import MIB, TIMES

ROOT = Path(__file__).parents[2]
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
TEMPORARIES, LOOP = ("temporaries", 16384.0), ("loop", 5.0 * MIB)
"""Programs of `memory_worker` with their results."""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="RLIMIT_AS limits no memory but on Linux"
)


def answer_of(name: str, options: dict[str, Any]) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.unit.memory_worker", name, json.dumps(options)],
        cwd=ROOT,
        env={**os.environ, **MALLOC, "PYTHONPATH": os.pathsep.join(sys.path)},  # noqa: TID251
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "options"),
    [
        (TEMPORARIES, {}),
        (TEMPORARIES, {"codegen": "c"}),
        (TEMPORARIES, {"threads": 1}),
        (LOOP, {"in_memory": True}),
        (LOOP, {"codegen": "c"}),
        (LOOP, {"threads": 3}),
    ],
    ids=str,
)
def test_missing_memory_is_an_error_and_leaks_nothing(
    program: tuple[str, float], options: dict[str, Any]
) -> None:
    name, right = program
    answer = answer_of(name, options)
    assert answer["failed"] == TIMES
    assert len(answer["said"]) == 1
    assert "found no memory for its temporary arrays" in answer["said"][0]
    assert answer["kept"] < 4 * MIB
    assert answer["result"] == [right]


@pytest.mark.slow
def test_a_network_without_memory_for_its_arena_can_be_called_again() -> None:
    answer = answer_of("network", {"threads": 1})
    assert answer["failed"] == TIMES
    assert answer["kept"] < 4 * MIB
    assert answer["closed"] < 4 * MIB
    assert answer["result"] == [1.0]
