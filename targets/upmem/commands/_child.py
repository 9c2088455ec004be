# SPDX-License-Identifier: Apache-2.0
"""Programs that take the command's place: its input and output are theirs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from xtc.core.errors import ToolError


def ended(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end; returns its exit code, as shells give it for signals.

    Raises ToolError where it cannot be started.
    """
    try:
        child = subprocess.Popen(words, env=dict(environment))  # noqa: S603  the user's program
    except OSError as error:
        raise ToolError(f"cannot start {words[0]}", notes=[str(error)]) from error
    while True:
        try:
            code = child.wait()
            return 128 - code if code < 0 else code
        except KeyboardInterrupt:
            continue  # the child got it too, and decides what becomes of it
