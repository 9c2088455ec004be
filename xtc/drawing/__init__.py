# SPDX-License-Identifier: Apache-2.0
"""Layered drawings of graphs: layout, colours, and the pieces of SVG."""
