// SPDX-License-Identifier: Apache-2.0
// The functions that device code compiled for this machine's processor may call.
//
// A kernel is an exported function of type cuda_kernel, which the host launches. It starts one grid
// with cuda_launch; the threads of that grid call the other functions. A thread is a fiber: it runs
// until it waits for others, so memory accesses of different threads are not interleaved between two
// waits. Blocks run one after another unless they are independent; while all threads of a block wait
// for another block, other blocks run.
//
// A thread calls cuda_read or cuda_write before each access to global or shared memory. Only announced
// accesses are checked to the byte and counted. Accesses to the thread's stack are not announced.
// Names and rules follow the PTX instructions named with each function.
#ifndef CUDA_SIM_H
#define CUDA_SIM_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)

#define CUDA_WARP 32
#define CUDA_ALL_LANES 0xffffffffu

// The arguments of a launch: addresses in global memory, integers and floats, each in the low bytes of
// a 64-bit word.
typedef void cuda_kernel(const uint64_t *arguments);
typedef void cuda_thread(const uint64_t *arguments);

typedef struct {
    uint32_t grid[3];      // blocks in x, y, z, which the launch may override; if 0, it must
    uint32_t block[3];     // threads of a block
    uint32_t shared_bytes; // shared memory of a block, static and dynamic together
    uint32_t cluster[3];   // blocks of a cluster; 0 means 1
    uint32_t registers;    // of a thread at its start; 0: unknown. .maxnreg
    uint32_t resident;     // blocks that the GPU holds at a time; 0: as many as threads and shared memory allow
} cuda_shape;

// Run thread(arguments) for each thread of the grid, and wait for all of them.
void cuda_launch(cuda_thread *thread, const uint64_t *arguments, const cuda_shape *shape);
// The same for blocks that do not depend on each other: they may run at the same time, in separate
// processes that share only the device's memory. Pauses and atomic accesses to global memory, whose order
// would differ from one launch to the next, are faults.
void cuda_launch_independent(cuda_thread *thread, const uint64_t *arguments,
                             const cuda_shape *shape);

// The position of the thread; dimensions 0, 1 and 2 are x, y and z. %tid, %ctaid, %ntid, %nctaid, %laneid.
__attribute__((const)) uint32_t cuda_thread_id(uint32_t dimension);
__attribute__((const)) uint32_t cuda_block_id(uint32_t dimension);
__attribute__((const)) uint32_t cuda_block_size(uint32_t dimension);
__attribute__((const)) uint32_t cuda_grid_size(uint32_t dimension);
__attribute__((const)) uint32_t cuda_lane_id(void);

// The first byte of the block's shared memory, aligned to 1024. The memory is poisoned when a block begins.
__attribute__((const)) void *cuda_shared(void);

// Announce an access to 1, 2, 4, 8 or 16 bytes at a multiple of that number. ld, st, atom.
void cuda_read(const void *address, uint32_t nbytes);
void cuda_write(const void *address, uint32_t nbytes);

// Announce an atomic access to 4 or 8 bytes at a multiple of that number: a read-modify-write, or an
// access ordered with respect to other atomic accesses. atom, ld.acquire, st.release.
void cuda_atomic(const void *address, uint32_t nbytes);

// Order this thread's later accesses after everything that happened before the release of the value that
// it reads at this address. ld.acquire, atom.acquire.
void cuda_acquire(const void *address);

// Order everything that this thread has done and seen before the later accesses of threads that acquire
// the value that it writes at this address. With `replaces`, earlier releases of other threads at the
// address no longer count. st.release, atom.release.
void cuda_release(const void *address, uint32_t replaces);

// Let other threads run, because the value that this thread polls for is not in memory yet. nanosleep.
void cuda_pause(void);

// This thread has come to a line of the user's, which the host knows by its number, from 1. Only the
// simulator has this.
void cuda_line(uint32_t number);

// Fail unless a promise of the kernel holds; the host knows it by its number. Only the simulator has this.
void cuda_require(uint32_t holds, uint32_t promise);

// Print as C's printf does; arguments are 64-bit integers (%lld) and doubles. The host receives the output
// when the launch ends, in order of block numbers if blocks are independent, and at most the last 1 MiB
// of it. vprintf.
int cuda_print(const char *format, const void *arguments);

// Set the site of this thread's next barrier: the number of the barrier instruction in the code, from 1.
// Lanes of a warp that wait at different sites have diverged. Only the simulator has this.
void cuda_next_barrier(uint32_t site);
// Wait at barrier 0 for all threads of the block, the second one at a given site. bar.sync 0.
void cuda_barrier(void);
void cuda_barrier_at(uint32_t site);
// Wait at one of the barriers 0 to 15 until `threads` threads, a multiple of 32, have arrived; 0 stands
// for all threads of the block. bar.sync a, b.
void cuda_barrier_sync(uint32_t barrier, uint32_t threads);
// Arrive without waiting. bar.arrive a, b.
void cuda_barrier_arrive(uint32_t barrier, uint32_t threads);

// Synchronize the lanes of `mask` that have not ended. bar.warp.sync.
void cuda_warp_sync(uint32_t mask);

typedef enum {
    CUDA_SHUFFLE_UP,
    CUDA_SHUFFLE_DOWN,
    CUDA_SHUFFLE_XOR,
    CUDA_SHUFFLE_INDEX,
} cuda_shuffle_mode;

// The value of another lane. `clamp` is operand c in PTX. If the source lane is out of range, `*in_range`
// is false and the result is this lane's value; if it does not participate, the result is poison. shfl.sync.
uint32_t cuda_shuffle(uint32_t mask, cuda_shuffle_mode mode, uint32_t value, uint32_t lane,
                      uint32_t clamp, bool *in_range);
// Shuffle up to CUDA_SHUFFLES words of each lane alike. The values of the other lane replace them. This is
// faster than a call for each word. Several shfl.sync.
#define CUDA_SHUFFLES 16
void cuda_shuffle_words(uint32_t mask, cuda_shuffle_mode mode, uint32_t *words, uint32_t count,
                        uint32_t lane, uint32_t clamp);
// The lanes of `mask` whose predicate is true. vote.sync.ballot.
uint32_t cuda_ballot(uint32_t mask, bool predicate);

// Copy 4, 8 or 16 bytes from global to shared memory; the bytes from `source_bytes` on become 0. The copy
// is performed when the thread waits for it; until then its destination is poisoned. cp.async.
void cuda_copy_async(void *shared, const void *global, uint32_t nbytes, uint32_t source_bytes);
void cuda_copy_async_commit(void);
// Wait until at most the last `groups` groups are in flight. cp.async.wait_group.
void cuda_copy_async_wait(uint32_t groups);
// Wait for all copies, committed or not. cp.async.wait_all.
void cuda_copy_async_wait_all(void);

// Load or store 1, 2 or 4 matrices of 8 rows of 16 bytes in shared memory by the whole warp. Lane
// 8 * m + r gives the address of row r of matrix m, a multiple of 16. ldmatrix, stmatrix .m8n8.b16.
void cuda_load_matrix(uint32_t *registers, const void *row, uint32_t matrices, bool transposed);
void cuda_store_matrix(const uint32_t *registers, void *row, uint32_t matrices, bool transposed);

// Shapes and types of mma.sync: the type of C and D, then the type of A and B.
#define CUDA_MMA_KINDS(X)                                                                          \
    X(M16N8K16_F32_F16) X(M16N8K16_F16_F16) X(M16N8K16_F32_BF16)                                   \
    X(M16N8K8_F32_F16) X(M16N8K8_F16_F16) X(M16N8K8_F32_BF16)                                      \
    X(M16N8K8_F32_TF32) X(M16N8K4_F32_TF32)                                                        \
    X(M16N8K32_S32_S8) X(M16N8K16_S32_S8) X(M8N8K4_F64_F64)

#define CUDA_MMA_ENUM(name) CUDA_##name,
typedef enum { CUDA_MMA_KINDS(CUDA_MMA_ENUM) CUDA_MMA_COUNT } cuda_mma_kind;

// The nearest TF32 number, ties away from zero. cvt.rna.tf32.f32.
__attribute__((const)) uint32_t cuda_to_tf32(float value);

// d = a b + c by the whole warp. Each pointer is to the lane's registers of a fragment, in the layout of
// PTX (.row.col). `d` may equal `c`.
void cuda_mma(cuda_mma_kind kind, void *d, const void *a, const void *b, const void *c);

// A batch: several ldmatrix, then several mma.sync in order, of shapes m16n8k16, m16n8k8 and m16n8k32 with
// 32-bit accumulators, which may share fragments. All lanes of the warp pass the same batch, a table of
//   loads:  the number of matrices, whether they are transposed, whether lanes need the registers
//   a, b:   for each fragment of A, 4 matrix numbers, and for each fragment of B, 2: four times the number
//           of the load, plus the matrix within the load; CUDA_FROM_WORDS if lanes provide the registers
//   steps:  for each mma.sync, the numbers of its fragments of A, B and C
// `words` of a lane holds, in this order: 4 words of each fragment of C, which are updated; 4 words of each
// fragment of A that lanes provide; 4 words for the registers of each load that lanes need; 2 words of each
// fragment of B that lanes provide; the row addresses of all loads, 8 bytes each.
#define CUDA_BATCH 64 // the most loads, fragments of an operand, and steps
#define CUDA_FROM_WORDS 0xffffffffu
typedef struct {
    uint32_t kind; // a cuda_mma_kind
    uint32_t loads, a, b, c, steps;
    uint32_t addresses; // the index of the first word with an address
    uint32_t table[];
} cuda_matrix_batch;
void cuda_run_batch(const cuda_matrix_batch *batch, uint32_t *words);
// Wait at barrier 0 as cuda_barrier_at(before) does, run a batch, and wait as cuda_barrier_at(after) does.
// A site of 0 stands for no barrier. This is faster than three calls: a thread is resumed once, at the end.
void cuda_run_batch_between(const cuda_matrix_batch *batch, uint32_t *words, uint32_t before,
                            uint32_t after);

// Barriers in shared memory, 8 bytes at a multiple of 8. A phase completes when the expected arrivals and
// the announced bytes have arrived. Phases have the parities 0, 1, 0...
// mbarrier.init, .arrive, .arrive.expect_tx, .try_wait.parity until it succeeds.
void cuda_mbarrier_init(void *barrier, uint32_t arrivals);
void cuda_mbarrier_arrive(void *barrier, uint32_t arrivals);
// The same, but writes of the thread do not become visible to other blocks. mbarrier.arrive.release.cta.
void cuda_mbarrier_arrive_in_block(void *barrier, uint32_t arrivals);
void cuda_mbarrier_expect(void *barrier, uint32_t nbytes);
void cuda_mbarrier_wait(void *barrier, uint32_t parity);

// Wait for all threads of the cluster. barrier.cluster.arrive, .wait.
void cuda_cluster_sync(void);
// The same, but nothing becomes visible. barrier.cluster.arrive.relaxed.
void cuda_cluster_sync_relaxed(void);
// The address of the corresponding byte in the shared memory of another block of the cluster. It may be
// that of an mbarrier at which threads arrive. mapa.shared::cluster.
void *cuda_map_shared(const void *shared, uint32_t rank);

// Set the registers per thread of the warpgroup, a multiple of 8 from 24 to 256. An increase waits until
// other warpgroups of the block have released enough registers. setmaxnreg.
void cuda_set_registers(uint32_t count, bool increase);

// Make this thread's writes, and the writes that it has seen at barriers, visible to later bulk copies and
// cuda_wgmma. fence.proxy.async.
void cuda_proxy_fence(void);

// The map of a tensor for bulk copies: 128 bytes in global memory or in the arguments of the launch, aligned
// to 128. The contiguous dimension comes first. CUtensorMap.
typedef struct {
    uint32_t magic, rank, element_bytes, swizzle_bytes; // swizzle: 0, 32, 64 or 128
    uint64_t address, sizes[5], strides[4]; // strides in bytes, without the first dimension
    uint32_t box[5], rounds_to_tf32, rest[2]; // whether loads round float32 to TF32
} cuda_tensor_map;
#define CUDA_TENSOR_MAP_MAGIC 0x786d6170u
#define CUDA_TENSOR_MAP_TF32 11 // CUtensorMapDataType

// The source of a map that a launch creates: the number of the argument with the tensor's address, the
// driver API's number of the element type, and an offset in bytes.
typedef struct {
    uint64_t argument, element, element_bytes, rank, swizzle_bytes, offset;
    uint64_t sizes[5], strides[4], box[5];
} cuda_map_source;

// The arguments of a launch, followed by the addresses of its maps, at most CUDA_LAUNCH_ARGUMENTS in all.
// The result is valid until the next launch.
#define CUDA_LAUNCH_ARGUMENTS 128
const uint64_t *cuda_with_maps(const uint64_t *arguments, uint32_t count,
                               const cuda_map_source *sources, uint32_t maps);

// Begin to copy a box of a tensor to shared memory, with zeros outside of the tensor. When the copy is
// complete, its bytes arrive at the mbarrier; until then its destination is poisoned. cp.async.bulk.tensor.
void cuda_tma_load(void *shared, const void *map, void *barrier, const int32_t *coordinates);
// The same copy to the shared memory and the mbarrier of each block of the cluster in the mask.
void cuda_tma_load_multicast(void *shared, const void *map, void *barrier, const int32_t *coordinates,
                             uint32_t mask);
// Begin to copy a box from shared memory; elements outside of the tensor are dropped. The copy reads shared
// memory when the thread waits for it. cp.async.bulk.tensor, .commit_group, .wait_group.
void cuda_tma_store(const void *shared, const void *map, const int32_t *coordinates);
void cuda_tma_commit(void);
void cuda_tma_wait(uint32_t groups);

// d += a b by the four warps of a warpgroup. d has 64 rows and `columns` columns; the K extent is `steps`
// times 32 bytes. Elements are of kind 0: float16, 1: bfloat16, 2: float8_e4m3, 3: float8_e5m2, 4: TF32,
// 5: int8, 6: uint8; kinds 2 to 6 cannot be transposed. A lane holds columns / 2 elements of d and, if A is
// in registers, 4 registers of A per step, in the layout of PTX. Operands in shared memory are read at once,
// and must be unchanged when the thread waits for the group of multiplications. wgmma.mma_async.
typedef struct {
    uint32_t kind, columns, steps, transposed_a, transposed_b, a_in_registers;
    const uint32_t *a;               // registers
    const uint64_t *a_tiles, *b_tiles; // a matrix descriptor for each step
} cuda_wgmma_operands;
void cuda_wgmma(const cuda_wgmma_operands *operands, float *d);
void cuda_wgmma_fence(void);
void cuda_wgmma_commit(void);
void cuda_wgmma_wait(uint32_t groups);

#pragma GCC visibility pop

#endif
