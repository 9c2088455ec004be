/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

static void search_on_host(const uint32_t *edges, uint32_t nodes, int32_t *levels)
{
    for (uint32_t i = 0; i < nodes; i++)
        levels[i] = i ? -1 : 0;
    for (int32_t level = 0, more = 1; more; level++) {
        more = 0;
        for (uint32_t i = 0; i < nodes; i++)
            for (int k = 0; levels[i] == level && k < DEGREE; k++)
                if (levels[edges[i * DEGREE + k]] < 0) {
                    levels[edges[i * DEGREE + k]] = level + 1;
                    more = 1;
                }
    }
}

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), nodes = round_up(argument(argc, argv, 2, 1024), 64);
    uint32_t each = (nodes + dpus - 1) / dpus, words = nodes / 64, node_bytes = DEGREE * 4;
    uint32_t *edges = allocate(dpus * each * node_bytes);
    int32_t *levels = allocate(nodes * 4), *expected = allocate(nodes * 4);
    arguments *given = allocate(dpus * sizeof *given);
    uint64_t *frontier = allocate(words * 8), *next = allocate(dpus * words * 8), wrong = 0;
    for (uint32_t i = 0; i < nodes * DEGREE; i++)
        edges[i] = next_random() % nodes;
    for (uint32_t i = 0; i < dpus; i++) {
        uint32_t first = i * each < nodes ? i * each : nodes;
        given[i] = (arguments){nodes, first, nodes - first < each ? nodes - first : each, 0};
    }
    search_on_host(edges, nodes, expected);
    struct dpu_set_t set = prepare(dpus, "./dpu");
    move_parts(set, DPU_XFER_TO_DPU, "DPU_ARGUMENTS", 0, given, sizeof *given);
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, edges, each * node_bytes);
    memset(levels, -1, nodes * 4);
    levels[0] = 0;
    frontier[0] = 1;
    for (int32_t level = 1, more = 1; more; level++) {
        DPU_ASSERT(dpu_broadcast_to(set, "DPU_FRONTIER", 0, frontier, words * 8, DPU_XFER_DEFAULT));
        DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
        move_parts(set, DPU_XFER_FROM_DPU, "DPU_NEXT", 0, next, words * 8);
        memset(frontier, 0, words * 8);
        more = 0;
        for (uint32_t i = 0; i < dpus * nodes; i++) {
            uint32_t node = i % nodes;
            if (levels[node] < 0 && next[i / nodes * words + node / 64] >> node % 64 & 1) {
                levels[node] = level;
                frontier[node / 64] |= 1ull << node % 64;
                more = 1;
            }
        }
    }
    for (uint32_t i = 0; i < nodes; i++)
        wrong += levels[i] != expected[i];
    DPU_ASSERT(dpu_free(set));
    free(edges), free(levels), free(expected), free(given), free(frontier), free(next);
    return verdict("bfs", wrong);
}
