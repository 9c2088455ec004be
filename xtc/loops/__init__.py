# SPDX-License-Identifier: Apache-2.0
"""Loop nests as data: the schedule language, its text forms and legality checks."""

from xtc.loops.check import check_nest
from xtc.loops.descript import parse_nest
from xtc.loops.mesh import Mesh
from xtc.loops.nest import ALL, Axis, Nest, NestLoop, Segment, Space, nest_text
from xtc.loops.nest_yaml import nest_data

__all__ = [
    "ALL",
    "Axis",
    "Mesh",
    "Nest",
    "NestLoop",
    "Segment",
    "Space",
    "check_nest",
    "nest_data",
    "nest_text",
    "parse_nest",
]
