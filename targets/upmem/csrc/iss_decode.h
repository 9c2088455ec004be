// SPDX-License-Identifier: Apache-2.0
#ifndef ISS_DECODE_H
#define ISS_DECODE_H

enum dpu_op {
#define OP(name, ...) OP_##name,
#include "iss_ops.def"
#undef OP
    OPS
};

#endif
