# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-run %s --target null -O memory_bytes=100 --check 2>&1 | FileCheck %s
# RUN: not xtc-run %s --target null -O memory_bytes=0 --check 2>&1 | FileCheck %s --check-prefix=OPTION
"""A device that is too small reports the requested and the free bytes."""

import xtc.ops as O

a = O.tensor((4, 16), name="A")
with O.graph(name="negative") as graph:
    O.relu(a, name="B")

# CHECK:      xtc-run: error: {{.*}}cannot allocate 256 bytes
# CHECK-NEXT:   note: 100 of 100 bytes are free

# OPTION: xtc-run: error: memory_bytes=0 is not a whole number from 1 to 1099511627776
