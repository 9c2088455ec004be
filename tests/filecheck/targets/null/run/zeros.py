# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: not xtc-run %s --target null --check 2>&1 | FileCheck %s --check-prefix=WRONG
# RUN: xtc-run %s --target null --measure --repeat 3 | FileCheck %s --check-prefix=MEASURED
"""A call gives zeros, a check says so, and no rate of work is claimed."""

import numpy as np

import xtc
import xtc.ops as O

x = O.tensor((2, 3), name="X", device="null0")
with O.graph(name="negative") as graph:
    O.matmul(x, x, name="Y", transpose_b=True)

with xtc.compile(graph, target="null") as module:
    print(module(np.ones((2, 3), np.float32)).tolist())
    print(*(command.split()[0] for command in module.runtime.commands))
# CHECK:      {{\[\[}}0.0, 0.0], [0.0, 0.0]]
# CHECK-NEXT: allocate copy_to launch free

# WRONG:      xtc-run: error: 'Y' is wrong: {{[0-9]+}} of 4 elements differ
# WRONG-NEXT:   note: worst at [{{.*}}]: 0 where {{.*}} was expected

# MEASURED:     measure median
# MEASURED-NOT: FLOP/s
# MEASURED-NOT: B/s
