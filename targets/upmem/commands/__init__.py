# SPDX-License-Identifier: Apache-2.0
"""Commands `xtc upmem <name>`, one file each."""
