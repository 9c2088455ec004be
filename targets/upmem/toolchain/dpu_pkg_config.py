# SPDX-License-Identifier: Apache-2.0
"""The program `dpu-pkg-config`: how host programs are compiled and linked.

Makefiles call it often, so that it imports nothing of xtc.
"""

from __future__ import annotations

from collections.abc import Sequence

VERSION = "2025.1"
"""Of the vendor's kit whose interface this is."""


def main(words: Sequence[str], include: str, library: str) -> int:
    """Print the flags that are asked for; returns the exit code.

    Args:
        words: of the command line; the package's name is ignored.
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
