# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Objects and values that do not form a schedule."""

from pathlib import Path

from Inputs.refusal import product, refused

import xtc
import xtc.ops as O

refused(lambda: xtc.Schedule(product())["D"])
# CHECK:      graph 'product' has no node 'D'
# CHECK-NEXT:   hint: one of: C, P
refused(lambda: xtc.Schedule(product())[3])
# CHECK:      3 is not a name
refused(lambda: xtc.Schedule(product())["D" * 300])
# CHECK:      graph 'product' has no node 'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD...
refused(lambda: xtc.Schedule("product"))
# CHECK:      xtc.Schedule takes a graph, not 'product'
refused(lambda: xtc.Schedule.of(product(), 4))
# CHECK:      schedule=4 is not a schedule
# CHECK-NEXT:   hint: pass an xtc.Schedule, a mapping, YAML text or a Path
refused(lambda: xtc.Schedule.of(product(), {4: {}}))
# CHECK:      a key of a schedule is an operator's name, not 4
refused(lambda: xtc.Schedule.of(product(), Path("nowhere.yaml")))
# CHECK:      cannot read nowhere.yaml: [Errno 2] No such file or directory: 'nowhere.yaml'
rows = O.tensor(("N", 8), name="X")
with O.graph(name="open") as gb:
    O.relu(rows, name="Y")
refused(lambda: xtc.Schedule(gb.graph))
# CHECK:      graph 'open' has the symbolic dimension 'N'
# CHECK-NEXT:   hint: schedule graph.bind(...)
fixed = O.tensor((4, 8), name="X")
with O.graph(name="moved") as gb:
    O.reshape(fixed, (32,), name="Y")
refused(lambda: xtc.Schedule(gb.graph)["Y"])
# CHECK:      'Y' only moves data; it has no loops to schedule
