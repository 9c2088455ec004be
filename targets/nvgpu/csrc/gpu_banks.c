// SPDX-License-Identifier: Apache-2.0
// Bank conflicts in shared memory, which has 32 banks of 4 bytes. In a phase of an access each bank delivers
// one word, to any number of lanes. Accesses of 8 bytes take one phase per half warp, those of 16 bytes one
// per quarter warp (NVIDIA, "CUDA C++ Programming Guide", on shared memory). The conflicts of a phase are the
// number of different words in the busiest bank, minus one.
//
// Also the instructions that access global memory, and the different sectors of each.
//
// Lanes run one after another. The nth access of each lane at a location in the code, counted from the last
// synchronization of the warp, is taken for one instruction of the warp, which is exact if lanes do not diverge.
#include <stdlib.h>
#include <string.h>

#include "gpu_access.h"
#include "sim_device.h"

#define BANKS 32
#define WORD 4
#define MOST_PENDING (1 << 16) // the most instructions of a location that some lanes have not executed yet

typedef struct {
    uint32_t lanes; // that have executed it
    uint32_t locations[CUDA_WARP]; // offsets in shared memory, or sectors of global memory
} instruction;

// A location in the code, for one warp. Its instructions are numbered; those from `first` to `end` are
// pending, and `kept` is the number of the first one in memory.
typedef struct location location;
struct location {
    location *next; // of the warp's locations with pending instructions
    bool listed;    // among them
    const void *code;
    enum gpu_event event;
    uint32_t nbytes, counts[CUDA_WARP]; // instructions that each lane has executed
    uint32_t kept, first, end, capacity;
    uint32_t limit; // instructions from this one on are not counted, because too many are pending
    instruction *pending;
};

// The locations of a warp: a hash table with open addressing, whose size is a power of two.
typedef struct {
    location **entries, *listed;
    uint32_t count, capacity;
} locations;

static locations warps[GPU_MAX_WARPS];

// The different words, or groups of words as wide as the access, in the busiest bank or group of banks.
static uint32_t most_of_a_bank(const uint32_t *offsets, uint32_t lanes, uint32_t nbytes)
{
    uint32_t width = nbytes < WORD ? WORD : nbytes, groups = BANKS * WORD / width, most = 0;
    uint32_t found[BANKS][CUDA_WARP], counts[BANKS] = {0};
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t word = offsets[__builtin_ctz(left)] / width, group = word % groups, i = 0;
        while (i < counts[group] && found[group][i] != word)
            i++;
        if (i < counts[group])
            continue; // another lane accesses the same word
        found[group][counts[group]++] = word;
        most = most < counts[group] ? counts[group] : most;
    }
    return most;
}

static uint32_t conflicts_of(const uint32_t *offsets, uint32_t lanes, uint32_t nbytes)
{
    uint32_t each = nbytes <= WORD ? CUDA_WARP : BANKS * WORD / nbytes, conflicts = 0;
    for (uint32_t first = 0; first < CUDA_WARP; first += each) {
        uint32_t phase = (each == CUDA_WARP ? CUDA_ALL_LANES : (1u << each) - 1) << first;
        if (lanes & phase)
            conflicts += most_of_a_bank(offsets, lanes & phase, nbytes) - 1;
    }
    return conflicts;
}

static uint32_t different(const uint32_t *locations, uint32_t lanes)
{
    uint32_t found[CUDA_WARP], count = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t location = locations[__builtin_ctz(left)], i = 0;
        while (i < count && found[i] != location)
            i++;
        if (i == count)
            found[count++] = location;
    }
    return count;
}

static void count_instruction(enum gpu_event event, const instruction *made, uint32_t nbytes)
{
    if (event != GPU_GLOBAL_READ_SECTORS && event != GPU_GLOBAL_WRITE_SECTORS) {
        gpu_count(event, conflicts_of(made->locations, made->lanes, nbytes));
        return;
    }
    gpu_count(event, different(made->locations, made->lanes));
    gpu_count(event == GPU_GLOBAL_READ_SECTORS ? GPU_GLOBAL_READ_REQUESTS : GPU_GLOBAL_WRITE_REQUESTS,
              1);
}

static void *memory(void *old, size_t nbytes)
{
    void *found = realloc(old, nbytes);
    if (!found)
        sim_give_up("no memory for the accesses of warps");
    return found;
}

static location **entry(const locations *all, const void *code, uint32_t nbytes, enum gpu_event event)
{
    uint64_t hash = ((uintptr_t)code + nbytes) * 0x9e3779b97f4a7c15u;
    for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
        location **found = &all->entries[at & (all->capacity - 1)];
        if (!*found ||
            ((*found)->code == code && (*found)->nbytes == nbytes && (*found)->event == event))
            return found;
    }
}

static void grow(locations *all)
{
    locations larger = *all;
    larger.capacity = all->capacity ? 2 * all->capacity : 16;
    larger.entries = memory(NULL, larger.capacity * sizeof *larger.entries);
    memset(larger.entries, 0, larger.capacity * sizeof *larger.entries);
    for (uint32_t i = 0; i < all->capacity; i++) {
        location *known = all->entries[i];
        if (known)
            *entry(&larger, known->code, known->nbytes, known->event) = known;
    }
    free(all->entries);
    *all = larger;
}

static location *found(locations *all, const void *code, uint32_t nbytes, enum gpu_event event)
{
    if (2 * all->count >= all->capacity)
        grow(all);
    location **known = entry(all, code, nbytes, event);
    if (!*known) {
        *known = memory(NULL, sizeof **known);
        **known = (location){.code = code, .event = event, .nbytes = nbytes, .limit = UINT32_MAX};
        all->count++;
    }
    return *known;
}

// Count the first pending instructions that all of these lanes have executed.
static void count_until(location *at, uint32_t lanes)
{
    for (; at->first != at->end; at->first++) {
        const instruction *next = &at->pending[at->first - at->kept];
        if ((next->lanes & lanes) != lanes)
            return;
        count_instruction(at->event, next, at->nbytes);
    }
    at->kept = at->end;
}

static instruction *append(location *at)
{
    if (at->end - at->kept == at->capacity) {
        at->capacity = at->capacity ? 2 * at->capacity : 4;
        at->pending = memory(at->pending, at->capacity * sizeof *at->pending);
    }
    instruction *made = &at->pending[at->end++ - at->kept];
    made->lanes = 0;
    return made;
}

static void list(locations *all, location *at)
{
    if (at->listed)
        return;
    at->listed = true;
    at->next = all->listed;
    all->listed = at;
}

bool gpu_counts_banks;

void gpu_banks_open(void)
{
    gpu_counts_banks = gpu->machine.banks;
}

void gpu_banks_note(uint32_t place, uint32_t nbytes, enum gpu_event event, const void *code)
{
    const gpu_warp *warp = gpu_warp_of(gpu_running);
    locations *all = &warps[warp - gpu_warps];
    location *at = found(all, code, nbytes, event);
    uint32_t lane = gpu_running->number % CUDA_WARP, number = at->counts[lane]++;
    if (number - at->kept >= MOST_PENDING && at->limit == UINT32_MAX)
        at->limit = number;
    if (number >= at->limit) {
        gpu_count(GPU_UNGROUPED_ACCESSES, 1);
        return;
    }
    instruction *own = number == at->end ? append(at) : &at->pending[number - at->kept];
    own->locations[lane] = place;
    own->lanes |= 1u << lane;
    list(all, at);
    if (number == at->first)
        count_until(at, warp->all & ~warp->ended);
}

void gpu_banks_note_rows(const char *const *rows, uint32_t matrices, enum gpu_event event)
{
    uint32_t offsets[CUDA_WARP], count = 8 * matrices;
    for (uint32_t row = 0; row < count; row++)
        offsets[row] = (uint32_t)(rows[row] - gpu_shared);
    gpu_count(event, conflicts_of(offsets, CUDA_ALL_LANES >> (CUDA_WARP - count), 16));
}

// Count the pending instructions: no further lane will execute them.
static void settle(location *at)
{
    count_until(at, 0);
    memset(at->counts, 0, sizeof at->counts);
    at->kept = at->first = at->end = 0;
    at->limit = UINT32_MAX;
}

void gpu_banks_settle_warp(uint32_t warp)
{
    location *next;
    for (location *at = warps[warp].listed; at; at = next) {
        next = at->next;
        at->listed = false;
        settle(at);
    }
    warps[warp].listed = NULL;
}

void gpu_banks_settle(void)
{
    for (uint32_t warp = 0; warp * CUDA_WARP < gpu_thread_count; warp++)
        gpu_banks_settle_warp(warp);
}

// Forget all locations: a launch may load other code at their addresses.
void gpu_banks_launch(void)
{
    for (uint32_t warp = 0; warp < GPU_MAX_WARPS; warp++) {
        locations *all = &warps[warp];
        for (uint32_t i = 0; i < all->capacity; i++) {
            if (all->entries[i])
                free(all->entries[i]->pending);
            free(all->entries[i]);
        }
        free(all->entries);
        *all = (locations){0};
    }
}
