/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DPU_ERRNO_H
#define DPU_ERRNO_H

extern int errno;
#define EPERM 1
#define EINVAL 22

#endif
