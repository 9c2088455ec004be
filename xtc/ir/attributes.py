# SPDX-License-Identifier: Apache-2.0
"""Every attribute that the project adds to MLIR: its name, its value, who writes and who reads it.

A name is spelled here and nowhere else. An attribute lives from the pass that writes it to the last
that reads it; a mark lives within one pass, which removes it. Attributes of a single target carry
the target's name and stand in its folder.
"""

# --- The graph's nodes -------------------------------------------------------------------------

NODE_ID_PREFIX = "__xtc_id_"
"""Unit attribute `__xtc_id_<name>_` of a linalg operation: the graph node that it computes, or
`<node>.<step>` where a node is several operations. Written with the operation by its operator;
read by schedules, fusion, diagnostics."""

NODE = "xtc.node"
"""String on an outermost loop or a call, `"C"` or `"C.init"`: the node, or its step, that it
computes. Written by linalg-to-named-loops, read by the C printer for its comments; written by
outline-kernels for profiles."""

OWN_BUFFER = "xtc.own_buffer"
"""String on a `tensor.empty`, `"C"`: the graph node whose result is put together in it. Written by
operators and read by no pass: it keeps equal beginnings of two results from being merged, which
bufferization would place in one buffer."""

AT_MOST_ZERO = "xtc.at_most_zero"
"""Unit attribute of a scalar operation whose operand is never above zero. Written by operators,
read by expand-math, which then leaves out what only larger operands need."""

ARENA = "xtc.arena"
"""Array of two integers on the allocation that a network's buffers share: its bytes, and the most
that are alive at the same time. Written by plan-arena, read by keep-arenas."""

STATE = "xtc.state"
"""Unit attribute of an argument of the entry that keeps its value between calls. Written with the
graph, read by plan-memory, which gives it memory that nothing else has."""

PROFILE = "xtc.profile"
"""Array on a module: node, kernel, nodes and executed operations of each call whose end it records.
Written by record-kernels, read when the artefact is built."""

OPERATIONS = "xtc.operations"
"""On a call of a kernel: the floating-point operations that it executes. Written by
count-executed-operations, read by record-kernels."""

# --- Schedules ---------------------------------------------------------------------------------

LOOP_DIMS = "loop.dims"
"""Array of strings on a linalg operation, `["i", "j", "k"]`: the names of its loops. Written by
operators and users' files; read by schedules and linalg-to-named-loops."""

LOOP_SCHEDULE = "loop.schedule"
"""The schedule of a linalg operation: YAML as a string, or an array of strings `"i#4=unroll"`.
Written by users and by passes that add default schedules; apply-schedules turns it into loops."""

SCHEDULE_LOCATION = "loop.schedule_at"
"""String `"file.mlir:3:28"`: where the schedule begins in a user's file. Written when the file is
read, read by messages about the schedule."""

LOOP_PATH = "./"
"""How the name of a unit attribute begins that a scheduled loop carries, `"./i#4"`: the loop's
path in its schedule. Written by apply-schedules, read by passes that keep its loops and by the C
printer."""

UNROLL = "xtc.unroll"
"""Integer on a loop: how many copies of its body unroll-loops writes out. Written by
apply-schedules and by passes that make small loops."""

VECTORIZE = "xtc.vectorize"
"""Unit attribute of a linalg operation that a schedule vectorizes, within apply-schedules."""

PARTIAL_SUMS = "xtc.partial_sums"
"""Unit attribute of the operation that combines a vector of partial sums, within
apply-schedules."""

EXTERNAL = "xtc.external"
"""On a linalg operation that an external function computes, a dictionary: `function`, `sources`
and `flags` as its schedule says, `loops`: the numbers of the loops whose extents and strides the
function takes, and `names`: of these loops. Written by apply-schedules, read by
call-external-functions."""

EXTERNALS = "xtc.externals"
"""Array of dictionaries on the module, one for each external function: `function`, `sources`,
`flags`, `declaration` in C, and `callers`, C functions that call it for tiles of known extents.
Written by call-external-functions, read by code generation."""

DOT = "xtc.dot"
"""Unit attribute of a contraction whose innermost loop is over the operands that one instruction
multiplies and adds up. Written by interleave-operands, read by apply-schedules and
use-dot-products."""

# --- Meshes ------------------------------------------------------------------------------------

AXES = "xtc.axes"
"""Array of strings: on a `shard.grid` the names of its axes; on an `scf.forall` the axes of the
mesh that it runs over. Written with the module's grids and by apply-schedules, read by both."""

MEMORY = "xtc.memory"
"""Symbol on a `shard.grid` of processors: the grid of the memories that they share."""

# --- Devices -----------------------------------------------------------------------------------

ON_DEVICE = "memref.on_device"
"""On an argument or a constant that already lives on a device: a string that names the device, or
unit where the program has only one. Written with the signature; insert-transfers neither allocates
nor copies such a buffer."""

DEVICE = "xtc.device"
"""String: the device on which an operation or a function runs, or where a buffer or a copy belongs.
Written by placement, read by every pass over devices."""

KERNEL = "xtc.kernel"
"""Any attribute that consecutive operations share: one kernel runs them as they are. Written by
passes that group operations for a device, read by split-kernels and by fusion."""

RESULTS = "xtc.results"
"""Integer on a device function: how many of its trailing arguments are its results. Written by
outline-device-regions and split-kernels, read by insert-transfers."""

SHARDS = "xtc.shards"
"""How memory lies over the memories of a device: the number of equal parts along the first
dimension, the last ones padded, of which each memory has one; 0 and no attribute mean that every
memory has all of it. An integer on an allocation, an argument or a constant on a device; on a
device function an array of integers, one for each argument. Written there by a target's passes,
spread by insert-transfers, read by lower-device-commands and when images are built."""

OVERLAP = "xtc.overlap"
"""Unit attribute of a copy that may run beside the kernels started before it, as it shares no
buffer with them. Written by overlap-copies, read by lower-device-commands."""

LAUNCH_GRID = "xtc.grid"
"""Affine map on a device function, `affine_map<(n) -> (n ceildiv 256, 1, 1)>`: the blocks in x, y
and z of a launch, from the integers among its arguments. Written by passes that distribute loops of
unknown size, read by lower-device-commands; without it the image says how many blocks there are."""

UNITS = "xtc.units"
"""Integer on a call: how many units, the cores that share one local memory, run the function at the
same time. Written by passes that outline the functions of units, read by place-local-buffers and by
code generation."""

LOCAL_BYTES = "xtc.local_bytes"
"""Integer on a kernel: the bytes of local memory that its buffers take. Written by
place-local-buffers, read by people."""

KERNELS = "xtc.kernels"
"""Array of string arrays on the module: device, symbol and argument types of each kernel that the
program launches; a launch gives the position. Written by lower-device-commands, read when images
are built."""

NODES = "xtc.nodes"
"""Array of strings on the declaration of a device function, or on a call of a kernel of the host:
the graph nodes that it computes; by itself a call's `xtc.node` is the only one. Written by
separate-devices and outline-kernels, read by lower-device-commands and record-kernels."""

KERNEL_NODES = "xtc.kernel_nodes"
"""Array of string arrays on the module: the graph nodes of each kernel, in the order of
`xtc.kernels`. Written by lower-device-commands, read when images are built, for profiles."""

RESIDENTS = "xtc.residents"
"""Array of string arrays on the module: device, symbol and bytes of a shard, 0 if it is
replicated, of each constant that stays on a device. Written by lower-device-commands, read when
images are built."""

CONTENTS = "xtc.contents"
"""Symbol on a global: the constant whose contents it has, on another device. Written by
place-constants, read by lower-device-commands."""

BEFORE_FAILURE = "xtc.before_failure"
"""Symbol on a function: what it calls before it returns early. Written by lower-device-commands,
read by check-allocations."""

# --- The host's code ---------------------------------------------------------------------------

MAY_FAIL = "xtc.may_fail"
"""Unit on the declaration of a function without results that a part of the program defines, if the
function allocates. Written by program-parts, read by check-allocations."""

CONSTANT_BYTES = "xtc.constant_bytes"
"""Integer on a part of a program: the bytes of all constants of the program. Written by
program-parts, read by prefetch-panels."""

PARALLEL = "xtc.parallel"
"""Unit attribute of a call whose last two arguments, 0 and a count, are a range of iterations that
threads may share. Written by outline-parallel-loops, read by dispatch-parallel-calls and by the C
code generator."""

PACKED = "xtc.packed"
"""Dictionary on the module, `{w.packed0 = [@w, memref<2x256x32xf32, strided<[32, 64, 1]>>]}`: for
each packed constant the constant that it copies, and the strided view in whose order. Written by
pack-constants, read when constants are written to a file."""

TRANSFORMED = "xtc.transformed"
"""Dictionary on the module, `{w.transformed = [@w, dense<..> : tensor<4x3xf64>, array<i64: 0, 1>]}`:
for each transformed constant the constant of which it is made, the matrix that multiplies each of
its first two dimensions, which become one, and the part of the constant that is transformed: its
number and the number of equal parts. Written by winograd-convolutions, read when constants are
written to a file."""

# --- Tile kernels ------------------------------------------------------------------------------

WARPS = "xtc.warps"
"""Integer on a function: it is a tile kernel, whose blocks have this many warps. Written when a
kernel is transcribed, read by passes over the dialect `tile`."""

CLUSTER = "xtc.cluster"
"""Three integers on a tile kernel: the blocks of a cluster in x, y and z; absent where a block is
alone. Written when a kernel is transcribed."""

NOTES = "xtc.notes"
"""Array of strings on a tile kernel, `"file.py:12:9: ..."`: what passes want to tell its author.
Written by passes that leave a kernel as it is, read by people and by `Kernel.notes`."""

K_STEP = "xtc.k_step"
"""Integer on a `tile.dot`: how many neighbours along K the machine adds before it rounds the sum.
Without it, each product is rounded, and each sum. Written by passes that choose the instruction,
read by the interpreter."""

TF32 = "xtc.tf32"
"""Unit attribute on a `tile.dot` of float32: operands are tfloat32, of which the lower 13 bits are
rounded away. Written by the front end, read by passes and by the interpreter."""

# --- Marks: within one pass --------------------------------------------------------------------

MARK_PREFIX = "xtc.mark."
"""`xtc.mark.<n>`: what a transform script finds again, within apply-schedules."""

FUSED_PREFIX = "xtc.fused."
"""`xtc.fused.<n>.<operand>.<mark>`: a slice of a producer inside its consumer's loop, within
apply-schedules."""

SCHEDULED_PREFIX = "xtc.scheduled."
"""`xtc.scheduled.<n>`: the n-th scheduled operation, within passes that apply schedules."""

LOOPS_PREFIX = "xtc.loop."
"""`xtc.loop.<n>`: the loops made of the n-th operation, within linalg-to-named-loops."""

UNROLL_PREFIX = "xtc.unroll."
"""`xtc.unroll.<n>`: the n-th loop to unroll, within unroll-loops."""

NEIGHBOUR = "xtc.neighbour"
"""Unit attribute of the operations before and after a scheduled contraction that move into its
loops, within fuse-epilogues."""

PADDED = "xtc.padded"
"""Unit attribute of a contraction whose sizes were padded, so that its schedule is not the graph
node's own. Written and read by schedule-contractions."""

NODE_NAMESPACES = (NODE_ID_PREFIX, "xtc.")
"""How the names begin that also hold for an operation with other loops that replaces this one."""

NAMESPACES = (*NODE_NAMESPACES, "loop.")
"""How the names begin that hold for an operation with the same loops that replaces this one."""


def node_id_attribute(name: str) -> str:
    """The attribute that says that an operation computes the node, or its step, `name`."""
    return f"{NODE_ID_PREFIX}{name}_"


def loop_path(loop: str) -> str:
    """The attribute that a loop of a schedule carries."""
    return f"{LOOP_PATH}{loop}"
