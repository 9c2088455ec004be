# SPDX-License-Identifier: Apache-2.0
"""Runs child programs that inherit the command's input and output."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from xtc.core.errors import ToolError


def ended(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end; returns its exit code, for signals as shells report it.

    Raises ToolError if it cannot be started.
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
            continue  # the child received it too, and handles it
