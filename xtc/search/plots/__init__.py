# SPDX-License-Identifier: Apache-2.0
"""Plots of a search's measurements, as SVG, PNG, and an HTML page with all of them.

Each module computes the numbers of a plot separately from drawing: matplotlib is imported only when
a picture is drawn.
"""

from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import Picture
from xtc.search.plots.render import png_bytes, svg_text
from xtc.search.plots.report import report_text

__all__ = ["Measured", "Picture", "png_bytes", "report_text", "svg_text"]
