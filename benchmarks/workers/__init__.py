# SPDX-License-Identifier: Apache-2.0
"""What runs in the process and environment of each library that is measured.

Nothing here imports this project but `ours.py` and `yardsticks.py`: the other files run where it is
not installed, and where another package may have its name. `python benchmarks/workers NAME THREADS`
answers requests as `serve.py` says.
"""
