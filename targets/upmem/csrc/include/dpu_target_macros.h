/* SPDX-License-Identifier: Apache-2.0 */
/* The upper bits of a rank's number hold the kind of machine, which is 0 here. */
#ifndef DPU_TARGET_MACROS_H
#define DPU_TARGET_MACROS_H

#include <dpu.h>

#define DPU_TARGET_SHIFT 12
#define DPU_TARGET_MASK ((1 << DPU_TARGET_SHIFT) - 1)

#endif
