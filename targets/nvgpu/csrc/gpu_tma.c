// SPDX-License-Identifier: Apache-2.0
// Bulk copies of boxes of tensors, performed as late as the rules allow.
#include <stdlib.h>
#include <string.h>

#include "gpu_access.h"
#include "gpu_cluster.h"
#include "sim_device.h"
#include "sim_poison.h"

#define RANKS 5
#define ALIGNMENT 128 // of boxes in shared memory
#define CHUNK 16      // bytes: addresses, strides and rows of boxes are multiples
#define MOST_BOX 256  // elements of a box in a dimension
#define MOST_SIZE (1ull << 31) // elements of a tensor in a dimension
#define LOADS 4096    // the most in flight of a block

struct gpu_store {
    gpu_box what;
    uint32_t group;
};

static gpu_load loads[LOADS];
static uint32_t first_load, load_count;

void gpu_tma_begin(void)
{
    first_load = load_count = 0;
}

static uint32_t bytes_of(const cuda_tensor_map *map)
{
    uint32_t count = map->element_bytes;
    for (uint32_t dim = 0; dim < map->rank; dim++)
        count *= map->box[dim];
    return count;
}

// The rules of cuTensorMapEncodeTiled ("CUDA Driver API").
static void require_legal(const cuda_tensor_map *map, const char *what)
{
    uint64_t row = (uint64_t)map->box[0] * map->element_bytes;
    if (map->address % CHUNK || row % CHUNK || (map->swizzle_bytes && row > map->swizzle_bytes))
        sim_fault(map->address, "%s: rows of %llu bytes with a swizzle of %u bytes", what,
                  (unsigned long long)row, map->swizzle_bytes);
    for (uint32_t dim = 0; dim < map->rank; dim++) {
        if (!map->box[dim] || map->box[dim] > MOST_BOX || !map->sizes[dim] ||
            map->sizes[dim] > MOST_SIZE)
            sim_fault(map->address, "%s: %u of %llu elements in dimension %u", what, map->box[dim],
                      (unsigned long long)map->sizes[dim], dim);
        if (dim && (map->strides[dim - 1] % CHUNK || map->strides[dim - 1] >> 40))
            sim_fault(map->address, "%s: a stride of %llu bytes", what,
                      (unsigned long long)map->strides[dim - 1]);
    }
}

static gpu_box checked(const void *map, const void *shared, const int32_t *coordinates, const char *what)
{
    gpu_box bulk = {.shared = (char *)(uintptr_t)shared};
    gpu_require_thread(what);
    if (!gpu_is_launch_map(map))
        gpu_check_global(map, sizeof bulk.map, "a tensor map");
    memcpy(&bulk.map, map, sizeof bulk.map);
    if (bulk.map.magic != CUDA_TENSOR_MAP_MAGIC || !bulk.map.rank || bulk.map.rank > RANKS)
        sim_fault((uintptr_t)map, "%s: there is no tensor map at this address", what);
    require_legal(&bulk.map, what);
    memcpy(bulk.coordinates, coordinates, bulk.map.rank * sizeof *coordinates);
    if ((uintptr_t)shared % ALIGNMENT)
        sim_fault((uintptr_t)shared, "%s: shared memory is not aligned to %u bytes", what, ALIGNMENT);
    gpu_check_shared(shared, bytes_of(&bulk.map), what);
    return bulk;
}

// The swizzled address: the bits that choose a chunk of 16 bytes, exclusive or bits of the row.
static char *swizzled(char *address, uint32_t swizzle_bytes)
{
    uintptr_t mask = swizzle_bytes ? swizzle_bytes / 16 - 1 : 0;
    return (char *)((uintptr_t)address ^ ((uintptr_t)address >> 7 & mask) << 4);
}

// Copy up to a chunk, whose first element has this index along the contiguous dimension.
static void move_chunk(const cuda_tensor_map *map, char *position, char *global, int64_t index,
                       uint32_t nbytes, bool store)
{
    uint32_t size = map->element_bytes;
    if (global && index >= 0 && index + nbytes / size <= (int64_t)map->sizes[0]) {
        char *element = global + index * size;
        memcpy(store ? element : position, store ? position : element, nbytes);
        return;
    }
    for (uint32_t byte = 0; byte < nbytes; byte += size, index++) {
        bool inside = global && index >= 0 && index < (int64_t)map->sizes[0];
        if (inside)
            memcpy(store ? global + index * size : position + byte,
                   store ? position + byte : global + index * size, size);
        else if (!store)
            memset(position + byte, 0, size);
    }
}

static void round_to_tf32(char *position, uint32_t nbytes)
{
    for (uint32_t byte = 0; byte < nbytes; byte += sizeof(float)) {
        float value;
        memcpy(&value, position + byte, sizeof value);
        uint32_t rounded = cuda_to_tf32(value);
        memcpy(position + byte, &rounded, sizeof rounded);
    }
}

// Copy the part of a row of the box that is inside of the tensor.
static void move_row(const gpu_box *bulk, char *row, char *global, bool store)
{
    const cuda_tensor_map *map = &bulk->map;
    uint32_t size = map->element_bytes, nbytes = map->box[0] * size;
    uint32_t each = map->swizzle_bytes ? CHUNK : nbytes;
    for (uint32_t at = 0; at < nbytes; at += each) {
        char *position = swizzled(row + at, map->swizzle_bytes);
        uint32_t count = nbytes - at < each ? nbytes - at : each;
        move_chunk(map, position, global, bulk->coordinates[0] + (int64_t)(at / size), count, store);
        if (map->rounds_to_tf32 && !store)
            round_to_tf32(position, count);
    }
}

// The address of a row in global memory, NULL if it lies outside of the tensor.
static char *global_row(const gpu_box *bulk, const uint32_t *digits)
{
    const cuda_tensor_map *map = &bulk->map;
    char *global = (char *)(uintptr_t)map->address;
    for (uint32_t dim = 1; dim < map->rank; dim++) {
        int64_t index = bulk->coordinates[dim] + (int64_t)digits[dim];
        if (index < 0 || index >= (int64_t)map->sizes[dim])
            return NULL;
        global += index * (int64_t)map->strides[dim - 1];
    }
    return global;
}

// The number of bytes of a row inside of the tensor; `*global` becomes the address of the first.
static uint32_t inside_of(const gpu_box *bulk, char **global)
{
    int64_t first = bulk->coordinates[0], last = first + bulk->map.box[0];
    first = first < 0 ? 0 : first;
    last = last > (int64_t)bulk->map.sizes[0] ? (int64_t)bulk->map.sizes[0] : last;
    if (!*global || first >= last)
        return 0;
    *global += first * bulk->map.element_bytes;
    return (uint32_t)(last - first) * bulk->map.element_bytes;
}

static void load_row(const gpu_box *bulk, char *row, char *global)
{
    char *inside = global;
    uint32_t nbytes = inside_of(bulk, &inside);
    if (nbytes)
        gpu_check_global(inside, nbytes, "a bulk load");
    move_row(bulk, row, global, false);
}

static void store_row(const gpu_box *bulk, char *row, char *global)
{
    char *inside = global;
    uint32_t nbytes = inside_of(bulk, &inside);
    if (nbytes) {
        gpu_check_global(inside, nbytes, "a bulk store");
        gpu_touch(inside, nbytes, true);
    }
    move_row(bulk, row, global, true);
}

static void note_row(const gpu_box *bulk, char *row, char *global)
{
    (void)row;
    uint32_t nbytes = inside_of(bulk, &global);
    if (nbytes)
        gpu_touch(global, nbytes, false);
}

static void each_row(const gpu_box *bulk, void (*visit)(const gpu_box *bulk, char *row, char *global))
{
    uint32_t digits[RANKS] = {0}, row_bytes = bulk->map.box[0] * bulk->map.element_bytes;
    uint32_t rows = bytes_of(&bulk->map) / row_bytes;
    for (uint32_t row = 0; row < rows; row++) {
        visit(bulk, bulk->shared + (uint64_t)row * row_bytes, global_row(bulk, digits));
        for (uint32_t dim = 1; dim < bulk->map.rank && ++digits[dim] == bulk->map.box[dim]; dim++)
            digits[dim] = 0;
    }
}

// The bytes of the box that lie inside of the tensor.
static uint32_t bytes_inside(const gpu_box *bulk)
{
    const cuda_tensor_map *map = &bulk->map;
    uint64_t count = map->element_bytes;
    for (uint32_t dim = 0; dim < map->rank; dim++) {
        int64_t first = bulk->coordinates[dim], last = first + map->box[dim];
        first = first < 0 ? 0 : first;
        last = last > (int64_t)map->sizes[dim] ? (int64_t)map->sizes[dim] : last;
        count *= last > first ? (uint64_t)(last - first) : 0;
    }
    return (uint32_t)count;
}

gpu_load gpu_tma_checked(void *shared, const void *map, void *barrier, const int32_t *coordinates)
{
    gpu_load bulk = {checked(map, shared, coordinates, "a bulk load"), barrier};
    gpu_mbarrier_require(barrier, "a bulk load");
    if (gpu->machine.races)
        each_row(&bulk.what, note_row); // it may read from now on
    return bulk;
}

void gpu_tma_take(const gpu_load *bulk)
{
    uint32_t nbytes = bytes_of(&bulk->what.map);
    if (load_count == LOADS)
        sim_fault((uintptr_t)bulk->what.shared, "more than %u bulk loads are in flight", LOADS);
    sim_poison(bulk->what.shared, nbytes);
    loads[(first_load + load_count++) % LOADS] = *bulk;
    gpu_count(GPU_TMA_LOADS, 1);
    gpu_count(GPU_TMA_LOAD_BYTES, nbytes);
    gpu_count(GPU_GLOBAL_READ_BYTES, bytes_inside(&bulk->what));
    gpu_count(GPU_SHARED_WRITE_BYTES, nbytes);
}

void cuda_tma_load(void *shared, const void *map, void *barrier, const int32_t *coordinates)
{
    gpu_load bulk = gpu_tma_checked(shared, map, barrier, coordinates);
    gpu_tma_take(&bulk);
}

bool gpu_tma_land(void)
{
    if (!load_count)
        return false;
    gpu_load *bulk = &loads[first_load];
    each_row(&bulk->what, load_row);
    first_load = (first_load + 1) % LOADS;
    load_count--;
    gpu_mbarrier_brought(bulk->barrier, bytes_of(&bulk->what.map));
    return true;
}

void gpu_tma_require_none(void)
{
    if (load_count)
        sim_fault((uintptr_t)loads[first_load].what.shared,
                  "the block has ended while a bulk load to its shared memory is in flight");
}

void gpu_stores_begin(gpu_thread *thread)
{
    thread->store_count = 0;
    thread->store_group = 0;
}

void cuda_tma_store(const void *shared, const void *map, const int32_t *coordinates)
{
    gpu_thread *thread = gpu_running;
    gpu_store bulk = {checked(map, shared, coordinates, "a bulk store"), thread->store_group};
    uint32_t nbytes = bytes_of(&bulk.what.map);
    gpu_proxy_require(shared, nbytes, "a bulk store");
    if (thread->store_count == thread->store_room) {
        thread->store_room = thread->store_room ? 2 * thread->store_room : 4;
        thread->stores = realloc(thread->stores, thread->store_room * sizeof bulk);
        if (!thread->stores)
            sim_give_up("no memory for the bulk stores in flight");
    }
    thread->stores[thread->store_count++] = bulk;
    gpu_count(GPU_TMA_STORES, 1);
    gpu_count(GPU_TMA_STORE_BYTES, nbytes);
    gpu_count(GPU_GLOBAL_WRITE_BYTES, bytes_inside(&bulk.what));
    gpu_count(GPU_SHARED_READ_BYTES, bytes_inside(&bulk.what));
}

void cuda_tma_commit(void)
{
    gpu_require_thread("cp.async.bulk.commit_group");
    gpu_running->store_group++;
}

void cuda_tma_wait(uint32_t groups)
{
    gpu_thread *thread = gpu_running;
    gpu_require_thread("cp.async.bulk.wait_group");
    uint32_t kept = 0;
    for (uint32_t i = 0; i < thread->store_count; i++)
        if (thread->stores[i].group + groups < thread->store_group)
            each_row(&thread->stores[i].what, store_row);
        else
            thread->stores[kept++] = thread->stores[i];
    thread->store_count = kept;
}

void gpu_stores_require_none(const gpu_thread *thread)
{
    if (thread->store_count)
        sim_fault((uintptr_t)thread->stores[0].what.shared,
                  "a thread has ended before its bulk store has read shared memory");
}
