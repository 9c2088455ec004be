# SPDX-License-Identifier: Apache-2.0
"""Starts a worker: `python benchmarks/workers NAME THREADS`."""

import importlib
import sys
from pathlib import Path

# Behind everything installed: the names of benchmarks must hide no library.
sys.path[0:1] = []
sys.path.append(str(Path(__file__).resolve().parents[1]))
importlib.import_module("workers.serve").main(sys.argv[1], int(sys.argv[2]))
