# SPDX-License-Identifier: Apache-2.0
import xtc.ops as O

a, b = O.tensor((4, 16), name="a"), O.tensor((16, 8), name="b")
with O.graph(name="product") as gb:
    O.relu(O.matmul(a, b))
graph = gb.graph
