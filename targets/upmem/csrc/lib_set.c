// SPDX-License-Identifier: Apache-2.0
// Allocations, their sets of DPUs, and iteration over sets.
#include <stdlib.h>
#include <string.h>

#include "lib.h"

#define DEFAULT_DPUS UPMEM_DPUS_PER_RANK // for DPU_ALLOCATE_ALL

static uint32_t allocated;

uint32_t lib_allocated_dpus(void)
{
    return __atomic_load_n(&allocated, __ATOMIC_RELAXED);
}

lib_machine *lib_machine_of(struct dpu_set_t set)
{
    if (set.kind == DPU_SET_DPU)
        return set.dpu ? set.dpu->rank->machine : NULL;
    return set.kind == DPU_SET_RANKS && set.list.nr_ranks ? set.list.ranks[0]->machine : NULL;
}

uint32_t lib_dpu_count(struct dpu_set_t set)
{
    uint32_t count = set.kind == DPU_SET_DPU;
    for (uint32_t i = 0; set.kind == DPU_SET_RANKS && i < set.list.nr_ranks; i++)
        count += set.list.ranks[i]->dpus;
    return count;
}

struct dpu_t *lib_dpu_at(struct dpu_set_t set, uint32_t index)
{
    if (set.kind == DPU_SET_DPU)
        return set.dpu;
    uint32_t rank = 0;
    while (index >= set.list.ranks[rank]->dpus)
        index -= set.list.ranks[rank++]->dpus;
    return &set.list.ranks[rank]->dpu[index];
}

static bool make_ranks(lib_machine *machine)
{
    machine->rank_count = (machine->count + UPMEM_DPUS_PER_RANK - 1) / UPMEM_DPUS_PER_RANK;
    machine->dpus = calloc(machine->count, sizeof *machine->dpus);
    machine->ranks = calloc(machine->rank_count, sizeof *machine->ranks);
    machine->rank_list = calloc(machine->rank_count, sizeof *machine->rank_list);
    if (!machine->dpus || !machine->ranks || !machine->rank_list)
        return false;
    for (uint32_t i = 0; i < machine->rank_count; i++) {
        struct dpu_rank_t *rank = machine->rank_list[i] = &machine->ranks[i];
        uint32_t left = machine->count - i * UPMEM_DPUS_PER_RANK;
        rank->machine = machine;
        rank->number = i;
        rank->dpus = left < UPMEM_DPUS_PER_RANK ? left : UPMEM_DPUS_PER_RANK;
        rank->dpu = &machine->dpus[i * UPMEM_DPUS_PER_RANK];
        for (uint32_t k = 0; k < rank->dpus; k++) {
            rank->dpu[k].rank = rank;
            rank->dpu[k].number = i * UPMEM_DPUS_PER_RANK + k;
        }
    }
    return true;
}

static void free_ranks(lib_machine *machine)
{
    free(machine->dpus);
    free(machine->ranks);
    free(machine->rank_list);
}

dpu_error_t dpu_alloc(uint32_t nr_dpus, const char *profile, struct dpu_set_t *dpu_set)
{
    static uint32_t ids;
    dpu_error_t status;
    const char *setting = lib_setting("XTC_UPMEM_DPUS");
    uint32_t all = setting ? (uint32_t)strtoul(setting, NULL, 10) : DEFAULT_DPUS;
    uint32_t count = nr_dpus == DPU_ALLOCATE_ALL ? all : nr_dpus;
    if (count == 0 || count > UPMEM_MAX_DPUS)
        return DPU_ERR_ALLOCATION;
    lib_machine *machine = lib_machine_open(count, profile, &status);
    if (!machine)
        return status;
    if (!make_ranks(machine)) {
        free_ranks(machine);
        lib_machine_close(machine);
        return DPU_ERR_SYSTEM;
    }
    machine->id = __atomic_fetch_add(&ids, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&allocated, count, __ATOMIC_RELAXED);
    lib_queue_open(machine);
    dpu_set->kind = DPU_SET_RANKS;
    dpu_set->list.nr_ranks = machine->rank_count;
    dpu_set->list.ranks = machine->rank_list;
    return DPU_OK;
}

dpu_error_t dpu_alloc_ranks(uint32_t nr_ranks, const char *profile, struct dpu_set_t *dpu_set)
{
    if (nr_ranks != DPU_ALLOCATE_ALL && nr_ranks > UPMEM_MAX_DPUS / UPMEM_DPUS_PER_RANK)
        return DPU_ERR_ALLOCATION;
    return dpu_alloc(nr_ranks == DPU_ALLOCATE_ALL ? nr_ranks : nr_ranks * UPMEM_DPUS_PER_RANK,
                     profile, dpu_set);
}

dpu_error_t dpu_free(struct dpu_set_t dpu_set)
{
    lib_machine *machine = lib_machine_of(dpu_set);
    if (!machine || dpu_set.kind != DPU_SET_RANKS || dpu_set.list.nr_ranks != machine->rank_count)
        return DPU_ERR_INVALID_DPU_SET;
    dpu_error_t status = lib_wait_all(machine);
    lib_queue_close(machine);
    lib_free_programs(machine);
    __atomic_sub_fetch(&allocated, machine->count, __ATOMIC_RELAXED);
    free_ranks(machine);
    lib_machine_close(machine);
    return status;
}

dpu_error_t dpu_get_nr_ranks(struct dpu_set_t dpu_set, uint32_t *nr_ranks)
{
    *nr_ranks = dpu_set.kind == DPU_SET_RANKS ? dpu_set.list.nr_ranks : 1;
    return DPU_OK;
}

dpu_error_t dpu_get_nr_dpus(struct dpu_set_t dpu_set, uint32_t *nr_dpus)
{
    *nr_dpus = lib_dpu_count(dpu_set);
    return DPU_OK;
}

struct dpu_t *dpu_from_set(struct dpu_set_t set)
{
    return set.kind == DPU_SET_DPU ? set.dpu : NULL;
}

struct dpu_rank_t *dpu_get_rank(struct dpu_t *dpu)
{
    return dpu->rank;
}

dpu_rank_id_t dpu_get_rank_id(struct dpu_rank_t *rank)
{
    return (dpu_rank_id_t)rank->number;
}

#define DPUS_PER_CHIP 8 // of the 64 DPUs in a rank

int dpu_get_rank_numa_node(struct dpu_rank_t *rank)
{
    (void)rank;
    return 0;
}

dpu_slice_id_t dpu_get_slice_id(struct dpu_t *dpu)
{
    return (dpu_slice_id_t)((dpu - dpu->rank->dpu) / DPUS_PER_CHIP);
}

dpu_member_id_t dpu_get_member_id(struct dpu_t *dpu)
{
    return (dpu_member_id_t)((dpu - dpu->rank->dpu) % DPUS_PER_CHIP);
}

struct dpu_rank_t *dpu_rank_from_set(struct dpu_set_t set)
{
    if (set.kind == DPU_SET_DPU)
        return set.dpu->rank;
    return set.list.nr_ranks == 1 ? set.list.ranks[0] : NULL;
}

struct dpu_set_t dpu_set_from_rank(struct dpu_rank_t **rank)
{
    struct dpu_set_t set = {.kind = DPU_SET_RANKS};
    set.list.nr_ranks = 1;
    set.list.ranks = rank;
    return set;
}

static void look_at_dpu(struct dpu_set_iterator_t *iterator)
{
    const struct dpu_set_t *set = &iterator->set;
    while (iterator->rank < set->list.nr_ranks &&
           iterator->member >= set->list.ranks[iterator->rank]->dpus) {
        iterator->rank++;
        iterator->member = 0;
    }
    iterator->has_next = iterator->rank < set->list.nr_ranks;
    if (iterator->has_next)
        iterator->next.dpu = &set->list.ranks[iterator->rank]->dpu[iterator->member];
}

struct dpu_set_iterator_t dpu_set_dpu_iterator_from(struct dpu_set_t set)
{
    struct dpu_set_iterator_t iterator;
    memset(&iterator, 0, sizeof iterator);
    iterator.set = set;
    iterator.next.kind = DPU_SET_DPU;
    if (set.kind == DPU_SET_DPU) {
        iterator.next.dpu = set.dpu;
        iterator.has_next = true;
    } else {
        look_at_dpu(&iterator);
    }
    return iterator;
}

void dpu_set_dpu_iterator_next(struct dpu_set_iterator_t *iterator)
{
    iterator->count++;
    iterator->member++;
    if (iterator->set.kind == DPU_SET_DPU)
        iterator->has_next = false;
    else
        look_at_dpu(iterator);
}

static void look_at_rank(struct dpu_set_iterator_t *iterator)
{
    iterator->has_next = iterator->rank < iterator->set.list.nr_ranks;
    if (iterator->has_next)
        iterator->next = dpu_set_from_rank(&iterator->set.list.ranks[iterator->rank]);
}

struct dpu_set_iterator_t dpu_set_rank_iterator_from(struct dpu_set_t set)
{
    struct dpu_set_iterator_t iterator;
    memset(&iterator, 0, sizeof iterator);
    iterator.set = set;
    if (set.kind == DPU_SET_RANKS) {
        look_at_rank(&iterator);
    } else {
        iterator.next = dpu_set_from_rank(&set.dpu->rank->machine->rank_list[set.dpu->rank->number]);
        iterator.has_next = true;
    }
    return iterator;
}

void dpu_set_rank_iterator_next(struct dpu_set_iterator_t *iterator)
{
    iterator->count++;
    iterator->rank++;
    if (iterator->set.kind == DPU_SET_RANKS)
        look_at_rank(iterator);
    else
        iterator->has_next = false;
}
