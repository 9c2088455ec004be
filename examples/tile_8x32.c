/* SPDX-License-Identifier: Apache-2.0 */
/* A micro-kernel for external_at: adds the outer product of a column of A and a row of B. */

#include <stdint.h>

int32_t tile_8x32(
    float *c, const float *a, const float *b,
    int64_t extent_i, int64_t extent_j,
    int64_t c_i, int64_t c_j,
    int64_t a_i, int64_t a_j,
    int64_t b_i, int64_t b_j)
{
  if (c_j != 1 || b_j != 1)
    return 1;
  (void)a_j; /* A does not depend on j, nor B on i */
  (void)b_i;
  for (int64_t i = 0; i < extent_i; i++)
    for (int64_t j = 0; j < extent_j; j++)
      c[i * c_i + j] += a[i * a_i] * b[j];
  return 0;
}
