# SPDX-License-Identifier: Apache-2.0
"""Starts a worker: `python benchmarks/workers NAME THREADS`."""

import runpy
import sys
from pathlib import Path

# Behind everything installed: the names of benchmarks must hide no library.
sys.path[0:1] = []
sys.path.append(str(Path(__file__).resolve().parents[1]))
runpy.run_module("workers.serve", run_name="__main__")
