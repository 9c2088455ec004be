# SPDX-License-Identifier: Apache-2.0
"""Plots of what a search measured, as SVG, PNG, and an HTML page with all of them.

Each module has the numbers of a plot, apart from how it is drawn: matplotlib is imported only when
a picture is made.
"""

from xtc.search.plots.measured import Measured
from xtc.search.plots.picture import Picture
from xtc.search.plots.render import png_bytes, svg_text
from xtc.search.plots.report import report_text

__all__ = ["Measured", "Picture", "png_bytes", "report_text", "svg_text"]
