# SPDX-License-Identifier: Apache-2.0
"""Print the size of a null device's memory and the bytes in use."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xtc_targets.null.device import NullDevice


def run(argv: Sequence[str]) -> int:
    """Print the bytes in use and the size of the memory; returns the exit code."""
    parser = argparse.ArgumentParser(prog="xtc null memory", description=__doc__)
    parser.parse_args(argv)
    with NullDevice() as device:
        used, size = device.memory_info()
        print(f"{device.device_name}: {used:,} of {size:,} bytes in use")
    return 0
