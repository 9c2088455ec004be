// SPDX-License-Identifier: Apache-2.0
// The order in which a simulator runs work that is concurrent on the machine.
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

// Set whether orders are shuffled, reproducibly for a seed.
void sim_order_init(bool shuffled, uint64_t seed);
// The numbers 0 to count - 1, shuffled if configured.
void sim_order(uint32_t *numbers, uint32_t count);

#endif
