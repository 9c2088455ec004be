// SPDX-License-Identifier: Apache-2.0
// The order in which things run that run at the same time on the machine.
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

// Orders are random from now on, and the same for the same seed, where `shuffled` says so.
void sim_order_init(bool shuffled, uint64_t seed);
// The numbers 0 to count - 1, shuffled if configured.
void sim_order(uint32_t *numbers, uint32_t count);

#endif
