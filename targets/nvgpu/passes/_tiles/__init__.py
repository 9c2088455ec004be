# SPDX-License-Identifier: Apache-2.0
"""The code of a thread for tile operations: parts of infer-tile-layouts and lower-tiles."""
