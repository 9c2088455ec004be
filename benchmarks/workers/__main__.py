# SPDX-License-Identifier: Apache-2.0
"""Starts a worker: `python benchmarks/workers NAME THREADS`."""

import importlib
import sys
from pathlib import Path

# After all installed packages, so that modules of benchmarks do not hide libraries.
sys.path[0:1] = []
sys.path.append(str(Path(__file__).resolve().parents[1]))
importlib.import_module("workers.serve").main(sys.argv[1], int(sys.argv[2]))
