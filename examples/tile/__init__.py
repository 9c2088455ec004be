# SPDX-License-Identifier: Apache-2.0
"""Tile kernels, from a vector addition to attention; `python -m examples.tile.attention`."""
