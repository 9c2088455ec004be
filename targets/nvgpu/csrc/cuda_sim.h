// SPDX-License-Identifier: Apache-2.0
// What device code that is compiled for this machine's processor may call.
//
// A kernel is an exported function of type cuda_kernel, which the host launches. It starts one grid
// with cuda_launch; everything else here is called by the threads of that grid. A thread is a fiber:
// it runs until it waits for others, so what threads do to memory between two waits is not
// interleaved. Blocks run one after another, but those that are independent; while all threads of a
// block wait for what another block does, others run.
//
// A thread calls cuda_read or cuda_write before each access to global or shared memory; only what is
// announced is checked to the byte, and counted. Memory of its own (its stack) is not announced.
// Names and rules follow the PTX instructions named with each function.
#ifndef CUDA_SIM_H
#define CUDA_SIM_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)

#define CUDA_WARP 32
#define CUDA_ALL_LANES 0xffffffffu

// A launch's arguments: addresses in global memory, integers and floats, each in the low bytes of 64
// bits.
typedef void cuda_kernel(const uint64_t *arguments);
typedef void cuda_thread(const uint64_t *arguments);

typedef struct {
    uint32_t grid[3]; // blocks in x, y, z, unless the launch says how many; 0: it has to
    uint32_t block[3];          // threads of a block
    uint32_t shared_bytes;      // shared memory of a block, static and dynamic together
    uint32_t cluster[3];        // blocks of a cluster; 0: 1
    uint32_t registers;         // with which a thread begins; 0: not known. .maxnreg
} cuda_shape;

// Run thread(arguments) once for each thread of the grid, and wait for all.
void cuda_launch(cuda_thread *thread, const uint64_t *arguments, const cuda_shape *shape);
// The same, where no block depends on what another one does: blocks may run at the same time, in processes
// of their own, which have the device's memory in common and no other. Atomic accesses to global memory,
// whose order would differ from one launch to the next, and pauses are faults.
void cuda_launch_independent(cuda_thread *thread, const uint64_t *arguments,
                             const cuda_shape *shape);

// The place of the thread; 0, 1 and 2 are x, y and z. %tid, %ctaid, %ntid, %nctaid, %laneid.
__attribute__((const)) uint32_t cuda_thread_id(uint32_t dimension);
__attribute__((const)) uint32_t cuda_block_id(uint32_t dimension);
__attribute__((const)) uint32_t cuda_block_size(uint32_t dimension);
__attribute__((const)) uint32_t cuda_grid_size(uint32_t dimension);
__attribute__((const)) uint32_t cuda_lane_id(void);

// The first byte of the block's shared memory, aligned to 1024. It holds poison when a block begins.
__attribute__((const)) void *cuda_shared(void);

// 1, 2, 4, 8 or 16 bytes, aligned to their number. ld, st, atom.
void cuda_read(const void *address, uint32_t nbytes);
void cuda_write(const void *address, uint32_t nbytes);

// 4 or 8 bytes, aligned to their number, that a thread reads, combines and writes in one step, or in
// an order with others' such accesses. atom, ld.acquire, st.release.
void cuda_atomic(const void *address, uint32_t nbytes);

// What this thread does from here on comes after what others did before they released what it reads at
// this address. ld.acquire, atom.acquire.
void cuda_acquire(const void *address);

// Who acquires what this thread writes at this address comes after what it has seen and done; with
// `replaces`, and not after what others have released there. st.release, atom.release.
void cuda_release(const void *address, uint32_t replaces);

// Let others run: what this thread looks for in memory is not there yet. nanosleep.
void cuda_pause(void);

// Print by the rules of C; arguments are integers of 64 bits (%lld) and doubles. The host gets the texts
// when the launch ends, by the numbers of blocks where these are independent; of more than 1 MiB the
// last ones. vprintf.
int cuda_print(const char *format, const void *arguments);

// Say which barrier of the code, from 1 on, this thread comes to next: lanes of a warp that come to
// different ones at a time have diverged. For the simulator alone.
void cuda_next_barrier(uint32_t site);
// Wait at barrier 0 for all threads of the block; where that is in the code, too. bar.sync 0.
void cuda_barrier(void);
void cuda_barrier_at(uint32_t site);
// Wait at one of the barriers 0 to 15 until `threads`, a multiple of 32, have come; 0 stands for all
// of the block. bar.sync a, b.
void cuda_barrier_sync(uint32_t barrier, uint32_t threads);
// Come without waiting. bar.arrive a, b.
void cuda_barrier_arrive(uint32_t barrier, uint32_t threads);

// The lanes of `mask` that have not ended meet. bar.warp.sync.
void cuda_warp_sync(uint32_t mask);

typedef enum {
    CUDA_SHUFFLE_UP,
    CUDA_SHUFFLE_DOWN,
    CUDA_SHUFFLE_XOR,
    CUDA_SHUFFLE_INDEX,
} cuda_shuffle_mode;

// Another lane's value. `clamp` is PTX's operand c. Where the lane it points to is out of range,
// `*in_range` is false and the result this lane's value; where it takes no part, poison. shfl.sync.
uint32_t cuda_shuffle(uint32_t mask, cuda_shuffle_mode mode, uint32_t value, uint32_t lane,
                      uint32_t clamp, bool *in_range);
// The lanes of `mask` whose predicate holds. vote.sync.ballot.
uint32_t cuda_ballot(uint32_t mask, bool predicate);

// Copy 4, 8 or 16 bytes from global to shared memory, of which those from `source_bytes` on are 0.
// The copy is done when the thread waits for it; until then its destination holds poison. cp.async.
void cuda_copy_async(void *shared, const void *global, uint32_t nbytes, uint32_t source_bytes);
void cuda_copy_async_commit(void);
// Wait until at most the last `groups` groups are in flight. cp.async.wait_group.
void cuda_copy_async_wait(uint32_t groups);
// Wait for all copies, committed or not. cp.async.wait_all.
void cuda_copy_async_wait_all(void);

// The whole warp loads or stores 1, 2 or 4 matrices of 8 rows of 16 bytes in shared memory. Lane
// 8 * m + r has the address of row r of matrix m, a multiple of 16. ldmatrix, stmatrix .m8n8.b16.
void cuda_load_matrix(uint32_t *registers, const void *row, uint32_t matrices, bool transposed);
void cuda_store_matrix(const uint32_t *registers, void *row, uint32_t matrices, bool transposed);

// mma.sync of these shapes and types: the sum's type, then that of the factors.
#define CUDA_MMA_KINDS(X)                                                                          \
    X(M16N8K16_F32_F16) X(M16N8K16_F16_F16) X(M16N8K16_F32_BF16)                                   \
    X(M16N8K8_F32_F16) X(M16N8K8_F16_F16) X(M16N8K8_F32_BF16)                                      \
    X(M16N8K8_F32_TF32) X(M16N8K4_F32_TF32)                                                        \
    X(M16N8K32_S32_S8) X(M16N8K16_S32_S8) X(M8N8K4_F64_F64)

#define CUDA_MMA_ENUM(name) CUDA_##name,
typedef enum { CUDA_MMA_KINDS(CUDA_MMA_ENUM) CUDA_MMA_COUNT } cuda_mma_kind;

// The nearest number that TF32 has, of two the one further from 0. cvt.rna.tf32.f32.
__attribute__((const)) uint32_t cuda_to_tf32(float value);

// d = a b + c by the whole warp; each points to the lane's registers of the fragment, as PTX lays
// fragments out (.row.col). `d` may be `c`.
void cuda_mma(cuda_mma_kind kind, void *d, const void *a, const void *b, const void *c);

// Several ldmatrix, then several mma in order, of shapes m16n8k16, m16n8k8 and m16n8k32 with sums of 32
// bits, on fragments that they may have in common. All lanes of the warp give the same batch, which is a
// table of
//   loads:  how many matrices, whether they are transposed, whether lanes want the registers
//   a, b:   4, or 2, numbers of matrices that are the registers of a fragment of A, or B: 4 times that of
//           the load and which of its matrices; CUDA_FROM_WORDS where lanes give the registers
//   steps:  the numbers of the fragments of A, B and C of an mma
// A lane has in `words`, one after another: 4 words of each fragment of C, where the sums are written, 4 of
// each fragment of A that it gives, 4 for the registers of each load that it wants, 2 of each fragment of B
// that it gives, and the addresses of rows for all loads, 8 bytes each.
#define CUDA_BATCH 64 // loads, fragments of an operand, and steps at most
#define CUDA_FROM_WORDS 0xffffffffu
typedef struct {
    uint32_t kind; // a cuda_mma_kind
    uint32_t loads, a, b, c, steps;
    uint32_t addresses; // the first word with one
    uint32_t table[];
} cuda_matrix_batch;
void cuda_run_batch(const cuda_matrix_batch *batch, uint32_t *words);

// Barriers in shared memory, of 8 bytes aligned to 8. A phase ends when as many arrivals have come as
// the barrier was made for, and as many bytes as were announced. Phases have the parities 0, 1, 0...
// mbarrier.init, .arrive, .arrive.expect_tx, .try_wait.parity until it succeeds.
void cuda_mbarrier_init(void *barrier, uint32_t arrivals);
void cuda_mbarrier_arrive(void *barrier, uint32_t arrivals);
void cuda_mbarrier_expect(void *barrier, uint32_t nbytes);
void cuda_mbarrier_wait(void *barrier, uint32_t parity);

// All threads of the cluster's blocks wait for each other. barrier.cluster.arrive, .wait.
void cuda_cluster_sync(void);
// The address of the same byte in the shared memory of the cluster's block of this rank, at which
// threads may arrive. mapa.shared::cluster.
void *cuda_map_shared(const void *shared, uint32_t rank);

// The threads of the warpgroup have this many registers from now on: more, once others have given up
// enough of the block's, or fewer. A multiple of 8 from 24 to 256. setmaxnreg.
void cuda_set_registers(uint32_t count, bool increase);

// What this thread has written, and what it has seen at a barrier, is seen by bulk copies and by
// cuda_wgmma from now on. fence.proxy.async.
void cuda_proxy_fence(void);

// What a bulk copy of a tensor knows: 128 bytes in global memory, or of the launch, aligned to 64. Dimensions begin with
// the one that is dense. CUtensorMap.
typedef struct {
    uint32_t magic, rank, element_bytes, swizzle_bytes; // swizzle: 0, 32, 64 or 128
    uint64_t address, sizes[5], strides[4]; // strides in bytes, of all dimensions but the first
    uint32_t box[5], rest[3];
} cuda_tensor_map;
#define CUDA_TENSOR_MAP_MAGIC 0x786d6170u

// What a launch makes a map of: the argument that is the address of its memory, the element's number in
// the driver's API, and an offset in bytes.
typedef struct {
    uint64_t argument, element, element_bytes, rank, swizzle_bytes, offset;
    uint64_t sizes[5], strides[4], box[5];
} cuda_map_source;

// The arguments of a launch and the addresses of maps behind them, valid until the next launch. At most
// CUDA_LAUNCH_ARGUMENTS of both together.
#define CUDA_LAUNCH_ARGUMENTS 128
const uint64_t *cuda_with_maps(const uint64_t *arguments, uint32_t count,
                               const cuda_map_source *sources, uint32_t maps);

// Begin to copy a box of a tensor to shared memory, 0 outside of the tensor. Its bytes come to the
// barrier when it is done; until then its destination holds poison. cp.async.bulk.tensor.
void cuda_tma_load(void *shared, const void *map, void *barrier, const int32_t *coordinates);
// The same to the shared memory of each block of the cluster that the mask names, and its barrier.
void cuda_tma_load_multicast(void *shared, const void *map, void *barrier, const int32_t *coordinates,
                             uint32_t mask);
// Begin to copy a box from shared memory; what lies outside of the tensor is dropped. It reads when
// the thread waits for it. cp.async.bulk.tensor, .commit_group, .wait_group.
void cuda_tma_store(const void *shared, const void *map, const int32_t *coordinates);
void cuda_tma_commit(void);
void cuda_tma_wait(uint32_t groups);

// d += a b by the four warps of a warpgroup, d of 64 rows and `columns` columns; `steps` times 32
// bytes of each row of A. Elements are of kind 0: float16, 1: bfloat16, 2: float8_e4m3,
// 3: float8_e5m2, 4: TF32, 5: int8, 6: uint8; the last five are not transposed. A lane has columns / 2 of
// d, and without descriptors 4 registers of A for each step, as PTX lays them out. Operands in shared memory are read now, and must be the same when the group
// of multiplications has been waited for. wgmma.mma_async.
typedef struct {
    uint32_t kind, columns, steps, transposed_a, transposed_b, a_in_registers;
    const uint32_t *a;               // registers
    const uint64_t *a_tiles, *b_tiles; // matrix descriptors, one for each step
} cuda_wgmma_operands;
void cuda_wgmma(const cuda_wgmma_operands *operands, float *d);
void cuda_wgmma_fence(void);
void cuda_wgmma_commit(void);
void cuda_wgmma_wait(uint32_t groups);

#pragma GCC visibility pop

#endif
