# SPDX-License-Identifier: Apache-2.0
"""The program `dpu-pkg-config`: how host programs are compiled and linked."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xtc.core import knobs
from xtc_targets.upmem.toolchain.library import INCLUDE


def main(words: Sequence[str]) -> int:
    """Print the flags that are asked for; returns the exit code."""
    library = knobs.UPMEM_LIBRARY.get()
    answers = {
        "--cflags": f"-I{INCLUDE}",
        "--cflags-only-I": f"-I{INCLUDE}",
        "--libs": f"-L{library} -ldpu",
        "--libs-only-L": f"-L{library}",
        "--libs-only-l": "-ldpu",
        "--modversion": "2025.1",
        "--variable=libdir": library,
        "--variable=includedir": str(INCLUDE),
    }
    print(*(answers[word] for word in words if word in answers))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
