# SPDX-License-Identifier: Apache-2.0
"""Commands `xtc embedded <name>`, one file each."""
