// SPDX-License-Identifier: Apache-2.0
// Costs by name; their sources are in timing.def.
#ifndef TIMING_H
#define TIMING_H

#define COST(name, value, unit, source) static const double cost_##name = value;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "timing.def"
#pragma GCC diagnostic pop
#undef COST

#endif
