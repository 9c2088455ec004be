# SPDX-License-Identifier: Apache-2.0
"""The code that runs in the process and environment of each measured library.

Only `ours.py`, `ours_tuned.py` and `yardsticks.py` import this project: the other files run in
environments without it, in which another package may have its name. `python benchmarks/workers NAME
THREADS` answers requests in the format of `serve.py`.
"""
