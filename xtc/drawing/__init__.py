# SPDX-License-Identifier: Apache-2.0
"""Layered drawings of graphs: layout, colors, and the pieces of SVG."""
