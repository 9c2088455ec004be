/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define BINS 256 /* at most */
#define DEPTH 12 /* bits of a value */

typedef struct {
    uint32_t bytes, bins;
} arguments;
