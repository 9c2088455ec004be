// SPDX-License-Identifier: Apache-2.0
// Modelled seconds of transfers. Bandwidths by number of DPUs are in link.def, with sources; they
// are interpolated in the logarithm between two rows.
#include <math.h>

#include "lib.h"
#include "timing.h"

static const struct {
    double dpus, to, from; // bytes per second
} links[] = {
#define LINK(dpus, to, from, source) {dpus, to * 1e9, from * 1e9},
#include "link.def"
#undef LINK
};

static double bandwidth(bool to_device, uint32_t dpus)
{
    size_t rows = sizeof links / sizeof *links, i = 1;
    while (i + 1 < rows && links[i].dpus < dpus)
        i++;
    double part = log(dpus / links[i - 1].dpus) / log(links[i].dpus / links[i - 1].dpus);
    double low = to_device ? links[i - 1].to : links[i - 1].from;
    double high = to_device ? links[i].to : links[i].from;
    return low * pow(high / low, fmin(fmax(part, 0), 1));
}

double lib_transfer_seconds(bool to_device, bool broadcast, bool mram, uint32_t dpus,
                            uint64_t nbytes)
{
    if (dpus == 0)
        return 0;
    double rate = bandwidth(to_device, dpus);
    // All DPUs get the same bytes, which are read and arranged once.
    if (broadcast && dpus > 1)
        rate *= cost_BROADCAST;
    double start = mram ? cost_MRAM_TRANSFER : cost_WRAM_TRANSFER;
    return start + (double)nbytes * dpus / rate;
}

double lib_parallel_seconds(uint64_t nbytes)
{
    return cost_PARALLEL + cost_PARALLEL_BYTE * (double)nbytes;
}
