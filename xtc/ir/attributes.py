# SPDX-License-Identifier: Apache-2.0
"""Every attribute that the project adds to MLIR: its name, value, writers and readers.

A name is spelled only here. An attribute lives from the pass that writes it to the last pass that
reads it; a mark lives within one pass, which removes it. Attributes of a single target carry the
target's name and are defined in its folder.
"""

# --- The graph's nodes -------------------------------------------------------------------------

NODE_ID_PREFIX = "__xtc_id_"
"""Unit attribute `__xtc_id_<name>_` of a linalg operation: the graph node that it computes, or
`<node>.<step>` if a node is several operations. Written by operators; read by schedules, fusion and
diagnostics."""

NODE = "xtc.node"
"""String on an outermost loop or a call, `"C"` or `"C.init"`: the node, or the step of a node, that
it computes. Written by linalg-to-named-loops, read by the C printer for its comments; written by
outline-kernels for profiles."""

OWN_BUFFER = "xtc.own_buffer"
"""String on a `tensor.empty`, `"C"`: the graph node whose result is assembled in it. Written by
operators; no pass reads it. It prevents CSE of the initial tensors of two results, which
bufferization would then place in one buffer."""

AT_MOST_ZERO = "xtc.at_most_zero"
"""Unit attribute of a scalar operation whose operand is never positive. Written by operators, read
by expand-math, which then omits the code that only positive operands need."""

ARENA = "xtc.arena"
"""Array of two integers on the allocation that a network's buffers share: its bytes, and the peak
of the live bytes. Written by plan-arena, read by keep-arenas."""

STATE = "xtc.state"
"""Unit attribute of an argument of the entry that keeps its value between calls. Written with the
graph, read by plan-memory, which gives it memory that no other buffer shares."""

PROFILE = "xtc.profile"
"""Array on a module: node, kernel, nodes and executed operations of each call whose end is
recorded. Written by record-kernels, read when the artifact is built."""

OPERATIONS = "xtc.operations"
"""On a call of a kernel: the number of floating-point operations it executes. Written by
count-executed-operations, read by record-kernels."""

# --- Schedules ---------------------------------------------------------------------------------

LOOP_DIMS = "loop.dims"
"""Array of strings on a linalg operation, `["i", "j", "k"]`: the names of its loops. Written by
operators and in users' files; read by schedules and linalg-to-named-loops."""

LOOP_SCHEDULE = "loop.schedule"
"""The schedule of a linalg operation: YAML as a string, or an array of strings `"i#4=unroll"`.
Written by users and by passes that add default schedules; apply-schedules turns it into loops."""

SCHEDULE_LOCATION = "loop.schedule_at"
"""String `"file.mlir:3:28"`: where the schedule begins in a user's file. Written when the file is
read, read by messages about the schedule."""

LOOP_PATH = "./"
"""Prefix of the unit attribute that names a scheduled loop by its path in the schedule, `"./i#4"`.
Written by apply-schedules, read by passes that keep the schedule's loops and by the C printer."""

UNROLL = "xtc.unroll"
"""Integer on a loop: its unroll factor. Written by apply-schedules and by passes that create small
loops, read by unroll-loops."""

VECTORIZE = "xtc.vectorize"
"""Unit attribute of a linalg operation that a schedule vectorizes, within apply-schedules."""

PARTIAL_SUMS = "xtc.partial_sums"
"""Unit attribute of the operation that combines a vector of partial sums, within
apply-schedules."""

EXTERNAL = "xtc.external"
"""Dictionary on a linalg operation that an external function computes: `function`, `sources` and
`flags` from its schedule, `loops`: the numbers of the loops whose extents and strides are arguments
of the function, and `names`: the names of these loops. Written by apply-schedules, read by
call-external-functions."""

EXTERNALS = "xtc.externals"
"""Array of dictionaries on the module, one for each external function: `function`, `sources`,
`flags`, `declaration` in C, and `callers`, C functions that call it for tiles of static extents.
Written by call-external-functions, read by code generation."""

DOT = "xtc.dot"
"""Unit attribute of a contraction whose innermost loop is over the elements that one dot-product
instruction multiplies and accumulates. Written by interleave-operands, read by apply-schedules and
use-dot-products."""

# --- Meshes ------------------------------------------------------------------------------------

AXES = "xtc.axes"
"""Array of strings: the names of the axes of a `shard.grid`; the mesh axes that an `scf.forall` is
distributed over. Written with the module's grids and by apply-schedules, read by both."""

MEMORY = "xtc.memory"
"""Symbol on a `shard.grid` of processors: the grid of the memories that they share."""

# --- Devices -----------------------------------------------------------------------------------

ON_DEVICE = "memref.on_device"
"""On an argument or a constant that already lives on a device: a string that names the device, or
unit if the program has a single device. Written with the signature; insert-transfers neither
allocates nor copies such a buffer."""

DEVICE = "xtc.device"
"""String: the device on which an operation or a function runs, or that a buffer or a copy belongs
to. Written by placement, read by every pass that handles devices."""

KERNEL = "xtc.kernel"
"""Any attribute. Consecutive operations with the same value run unchanged in one kernel. Written by
passes that group operations for a device, read by split-kernels and by fusion."""

RESULTS = "xtc.results"
"""Integer on a device function: the number of trailing arguments that are its results. Written by
outline-device-regions and split-kernels, read by insert-transfers."""

SHARDS = "xtc.shards"
"""The sharding of a buffer over the memories of a device: the number of equal shards along the
first dimension, the last ones padded, one for each memory; 0, or no attribute, means that it is
replicated. An integer on an allocation, an argument or a constant on a device; on a device
function, an array of integers, one for each argument. Written there by a target's passes,
propagated by insert-transfers, read by lower-device-commands and when images are built."""

OVERLAP = "xtc.overlap"
"""Unit attribute of a copy that may run in parallel with the kernels launched before it, as it
shares no buffer with them. Written by overlap-copies, read by lower-device-commands."""

LAUNCH_GRID = "xtc.grid"
"""Affine map on a device function, `affine_map<(n) -> (n ceildiv 256, 1, 1)>`: from its integer
arguments to the blocks in x, y and z of a launch. Written by passes that distribute loops with
dynamic trip counts, read by lower-device-commands; without it, the image defines the grid."""

UNITS = "xtc.units"
"""Integer on a call: the number of units, the cores that share one local memory, that run the
function concurrently. Written by passes that outline the functions of units, read by
place-local-buffers and by code generation."""

LOCAL_BYTES = "xtc.local_bytes"
"""Integer on a kernel: the bytes of its local buffers. Written by place-local-buffers, for readers
of the IR."""

KERNELS = "xtc.kernels"
"""Array of string arrays on the module: device, symbol and argument types of each kernel that the
program launches, once for each list of graph nodes that it computes; a launch refers to its
position. Written by lower-device-commands, read when images are built."""

NODES = "xtc.nodes"
"""Array of strings on the declaration of a device function, on a call of it that computes other
nodes, or on a call of a kernel of the host: the graph nodes that it computes; without it, a host
call's `xtc.node` is the only one. Written by separate-devices, share-kernels and outline-kernels,
read by lower-device-commands and record-kernels."""

KERNEL_NODES = "xtc.kernel_nodes"
"""Array of string arrays on the module: the graph nodes of each kernel, in the order of
`xtc.kernels`. Written by lower-device-commands, read when images are built, for profiles and the
messages of faults."""

RESIDENTS = "xtc.residents"
"""Array of string arrays on the module: device, symbol and bytes of a shard, 0 if replicated, of
each constant that stays on a device. Written by lower-device-commands, read when images are
built."""

CONTENTS = "xtc.contents"
"""Symbol on a global: the constant on another device of which it is a copy. Written by
place-constants, read by lower-device-commands."""

BEFORE_FAILURE = "xtc.before_failure"
"""Symbol on a function: the function that it calls before an early return. Written by
lower-device-commands, read by check-allocations."""

# --- The host's code ---------------------------------------------------------------------------

MAY_FAIL = "xtc.may_fail"
"""Unit attribute on the declaration of a function without results that another part of the program
defines, if the function allocates. Written by program-parts, read by check-allocations."""

CONSTANT_BYTES = "xtc.constant_bytes"
"""Integer on a part of a program: the bytes of all constants of the program. Written by
program-parts, read by prefetch-panels."""

PARALLEL = "xtc.parallel"
"""Unit attribute of a call whose last two arguments, 0 and a trip count, are a range of iterations
that may be distributed over threads. Written by outline-parallel-loops, read by
dispatch-parallel-calls and by the C code generator."""

PACKED = "xtc.packed"
"""Dictionary on the module, `{w.packed0 = [@w, memref<2x256x32xf32, strided<[32, 64, 1]>>]}`: for
each packed constant, its source, and the strided view that gives the order of its elements.
Written by pack-constants, read when constants are written to a file."""

TRANSFORMED = "xtc.transformed"
"""Dictionary on the module, `{w.transformed = [@w, dense<..>, array<i64: 0, 1>]}`:
for each transformed constant, its source, the matrix that multiplies each of the first two
dimensions, which are then collapsed into one, and the part of the source that is transformed: its
number and the number of equal parts. Written by winograd-convolutions, read when constants are
written to a file."""

# --- Tile kernels ------------------------------------------------------------------------------

WARPS = "xtc.warps"
"""Integer on a function, which marks it as a tile kernel: the warps of a block. Written when a
kernel is transcribed, read by passes over the dialect `tile`."""

CLUSTER = "xtc.cluster"
"""Three integers on a tile kernel: the blocks of a cluster in x, y and z; absent without clusters.
Written when a kernel is transcribed, and when its blocks are grouped to share an operand."""

MANY_BLOCKS = "xtc.many_blocks"
"""Unit attribute on a tile kernel for launches of many blocks: half as many, of twice the size,
keep the multiprocessors as busy. Written when a kernel is transcribed."""

RESIDENT_BLOCKS = "xtc.resident_blocks"
"""Integer on a tile kernel whose blocks wait for each other: the blocks of a launch that the
machine holds at a time, which a simulator does not exceed. Written when a kernel is transcribed."""

OVERLAPPING = "xtc.overlapping"
"""Unit attribute on a tile kernel for launches whose arguments overlap in memory: a store to one
of them may change another. Written when a kernel is transcribed."""

NOTES = "xtc.notes"
"""Array of strings on a tile kernel, `"file.py:12:9: ..."`: remarks of passes to its author.
Written by passes that do not transform the kernel, read by `Kernel.notes`."""

K_STEP = "xtc.k_step"
"""Integer on a `tile.dot`: the number of consecutive elements along K that the machine adds before
it rounds the sum. Without it, each product and each sum is rounded. Written by passes that select
the instruction, read by the interpreter."""

TF32 = "xtc.tf32"
"""Unit attribute on a `tile.dot` of float32: its operands are rounded to tfloat32, which lacks the
lower 13 bits. On a bulk load and its `tile.tensor_map`: copies round so. Written by the front end
and by pipeline-bulk-copies, read by passes, by launches and by the interpreter."""

PROMISE = "xtc.promise"
"""String on a `tile.assume`, `"step:2"`: what the kernel's author promises by it, and its number in
the kernel. Written when a kernel is transcribed, read by lower-tiles, by the interpreter, and where
a device has found it broken. What only the compiler assumes has none."""

# --- Marks: within one pass --------------------------------------------------------------------

MARK_PREFIX = "xtc.mark."
"""`xtc.mark.<n>`: an operation that a transform script matches, within apply-schedules."""

FUSED_PREFIX = "xtc.fused."
"""`xtc.fused.<n>.<operand>.<mark>`: a slice of a producer inside its consumer's loop, within
apply-schedules."""

SCHEDULED_PREFIX = "xtc.scheduled."
"""`xtc.scheduled.<n>`: the n-th scheduled operation, within passes that apply schedules."""

LOOPS_PREFIX = "xtc.loop."
"""`xtc.loop.<n>`: the loops created from the n-th operation, within linalg-to-named-loops."""

UNROLL_PREFIX = "xtc.unroll."
"""`xtc.unroll.<n>`: the n-th loop to unroll, within unroll-loops."""

NEIGHBOR = "xtc.neighbor"
"""Unit attribute of the operations before and after a scheduled contraction that move into its
loops, within fuse-epilogues."""

PADDED = "xtc.padded"
"""Unit attribute of a contraction with padded sizes, whose schedule is not the graph node's.
Written and read by schedule-contractions."""

NODE_NAMESPACES = (NODE_ID_PREFIX, "xtc.")
"""Prefixes of attributes that remain valid on a replacement with other loops."""

NAMESPACES = (*NODE_NAMESPACES, "loop.")
"""Prefixes of attributes that remain valid on a replacement with the same loops."""


def node_id_attribute(name: str) -> str:
    """The attribute of an operation that computes the node, or the step of a node, `name`."""
    return f"{NODE_ID_PREFIX}{name}_"


def loop_path(loop: str) -> str:
    """The attribute that a loop of a schedule carries."""
    return f"{LOOP_PATH}{loop}"
