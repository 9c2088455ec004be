/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the machine. */
#ifndef DPU_CONST_H
#define DPU_CONST_H

#define DPU_NR_THREADS 24
#ifdef XTC_DPU_V1A
#define DPU_WRAM_BYTES 65536
#else
#define DPU_WRAM_BYTES 63488
#endif
#define DPU_MRAM_BYTES (64 << 20)

#endif
