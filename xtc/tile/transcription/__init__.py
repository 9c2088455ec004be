# SPDX-License-Identifier: Apache-2.0
"""From the Python source of a kernel to the tile dialect."""
