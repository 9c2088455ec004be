# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Meshes match each other, and loops and operands are distributed over existing axes."""

from Inputs.refusal import product, refused, refused_data

import xtc


def meshed(memories=2, processors=2):
    schedule = xtc.Schedule(product())
    memory = schedule.define_memory_mesh("m", {"mx": memories})
    schedule.define_processor_mesh("p", {"px": processors, "psx": 4}, memory)
    return schedule["C"]


refused(lambda: meshed(processors=3))
# CHECK:      axis 'px' of processor mesh 'p' has size 3, but 'mx' of memory mesh 'm' has 2
# CHECK-NEXT:   note: the first axes run over the memories
# CHECK-NEXT:   hint: give 'px' the size 2
refused(lambda: meshed().distribute("i", "pz"))
# CHECK:      'i' of C cannot be distributed over 'pz': processor mesh 'p' has no such axis
# CHECK-NEXT:   hint: one of: {{.*}}
refused(lambda: meshed().distribute("i", "mx"))
# CHECK:      'i' of C cannot be distributed over 'mx', an axis of memory mesh 'm'
# CHECK-NEXT:   hint: over 'px', its processors
refused(lambda: meshed().distribute({"i": "psx", "j": "psx"}))
# CHECK:      'i' and 'j' of C are both distributed over 'psx'
# CHECK-NEXT:   hint: an axis takes one loop
refused(lambda: meshed().distribute("k", "psx"))
# CHECK:      'k' of C cannot be distributed: 'k' is reduced
# CHECK-NEXT:   note: processors would add to one element at the same time
# CHECK-NEXT:   hint: distribute an axis of the result
# A loop over memories is moved outside of every loop except one over its own axis.
refused(lambda: meshed().tile("i", {"i1": 4}).distribute("i1", "px"))
# CHECK:      'i1' of C cannot be distributed over 'px' inside 'i'
# CHECK-NEXT:   note: 'px' runs over memories, so its loop must be outermost
# CHECK-NEXT:   hint: distribute 'i' instead
refused(lambda: meshed().distributed_buffer_at("i", 0, ["mx", "*"]))
# CHECK:      operand 0 of C is distributed over 'mx', but no loop over 'px'
# CHECK-NEXT:   note: a processor would read another one's memory
# CHECK-NEXT:   hint: distribute the loop that indexes it over 'px'
refused_data({"i": {"distribute": 1}})
# CHECK:      C: distribute of 'i' takes an axis of the processor mesh, not 1
# CHECK-NEXT:   hint: {distribute: px}
refused_data({"i": {"shard": [0]}})
# CHECK:      C: shard of 'i' takes axes of the memory mesh by operand
# CHECK-NEXT:   hint: {shard: {1: [mx, '*']}} shards the first dimension of the second operand
refused_data({"i": {"distribute": "px"}})
# CHECK:      'i' of C is distributed, but no processor mesh is defined
# CHECK-NEXT:   hint: schedule.define_processor_mesh(...) first


def host():
    node = meshed().distribute("i", "px")
    xtc.compile(
        product(), schedule={"@m": {"mx": 2}, "@p over @m": {"px": 2, "psx": 4}, "C": node.data}
    )


refused(host)
# CHECK:      'i' of C is distributed, but the target of C has no mesh
# CHECK-NEXT:   hint: place C on a device that has one: device=...
# CHECK-NEXT:   hint: threads share a loop by parallelize
# A mesh is a symbol of the program, beside the graph's function.
refused(lambda: xtc.Schedule(product()).define_memory_mesh(product().name, {"mx": 2}))
# CHECK:      a mesh has the name '{{.*}}' of the graph


def twice():
    schedule = xtc.Schedule(product())
    memory = schedule.define_memory_mesh("m", {"mx": 2})
    schedule.define_processor_mesh("m", {"px": 2}, memory)


refused(twice)
# CHECK:      a mesh has the name 'm' of the other mesh
