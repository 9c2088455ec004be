# SPDX-License-Identifier: Apache-2.0
"""What `xtc upmem env` puts on Python's path."""
