# SPDX-License-Identifier: Apache-2.0
"""The program `dpu-pkg-config`: prints the flags to compile and link host programs.

Makefiles call it often, so it imports nothing of xtc.
"""

from __future__ import annotations

from collections.abc import Sequence

VERSION = "2025.1"
"""The version of the vendor's SDK with this interface."""


def main(words: Sequence[str], include: str, library: str) -> int:
    """Print the requested flags; returns the exit code.

    Args:
        words: arguments of the command line; the package's name is ignored.
        include: the folder of the host's headers.
        library: the folder of the host's library.
    """
    answers = {
        "--cflags": f"-I{include}",
        "--cflags-only-I": f"-I{include}",
        "--libs": f"-L{library} -ldpu",
        "--libs-only-L": f"-L{library}",
        "--libs-only-l": "-ldpu",
        "--modversion": VERSION,
        "--variable=libdir": library,
        "--variable=includedir": include,
    }
    print(*(answers[word] for word in words if word in answers))
    return 0
