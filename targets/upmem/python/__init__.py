# SPDX-License-Identifier: Apache-2.0
"""The packages that `xtc upmem env` adds to Python's path."""
