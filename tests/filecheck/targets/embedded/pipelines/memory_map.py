# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && xtc-compile %s --target embedded -O board=nucleo-l4r5zi -o %t
# RUN: xtc embedded size %t | FileCheck %s
# RUN: FileCheck %s --check-prefix=HEADER --input-file %t/net.h
# RUN: rm -rf %t.small && printf 'core: cortex-m4\nflash: {address: 0x08000000, bytes: 4096}\nram: {address: 0x20000000, bytes: 4096}\nclock_hz: 1000000\n' > %t.yaml
# RUN: not xtc-compile %s --target embedded -O board=%t.yaml -o %t.small 2>&1 | FileCheck %s --check-prefix=LARGE
"""Sections and symbols of an image; a program that does not fit fails with the map."""

import numpy as np

import xtc.ops as O

with O.graph(name="net") as gb:
    x = O.tensor((1, 64), "int8", name="x")
    w = O.tensor((64, 128), "int8", const=np.ones((64, 128), np.int8))
    O.requantize(O.matmul(x, w, name="m"), 0.02, zero_point=3, name="y")

graph = gb.graph

# CHECK: FLASH 0x08000000 {{.*}} of 2,097,152 bytes
# CHECK: RAM 0x20000000 {{.*}} of 655,360 bytes
# CHECK: in flash
# CHECK-DAG: 8,192 net.const0.tiles0
# CHECK-DAG: {{[0-9]+}} y
# CHECK: x
# CHECK: y

# HEADER: #define NET_ARENA_BYTES
# HEADER: void net(void);
# HEADER: /* input, 1 x 64 */
# HEADER: static inline int8_t *net_x(void)
# HEADER: static inline int8_t *net_y(void)

# LARGE: FLASH
# LARGE: net.const0.tiles0
