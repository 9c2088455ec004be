// SPDX-License-Identifier: Apache-2.0
// Sizes, offsets and values of cuda.h of CUDA 13.5, for 64-bit processors, that the driver of a GPU relies on.
#include "hw_api.h"

#define IS(found, expected) _Static_assert((found) == (expected), #found)

IS(sizeof(hw_launch_config), 56); // CUlaunchConfig
IS(offsetof(hw_launch_config, grid), 0);
IS(offsetof(hw_launch_config, block), 12);
IS(offsetof(hw_launch_config, shared_bytes), 24);
IS(offsetof(hw_launch_config, stream), 32);
IS(offsetof(hw_launch_config, attributes), 40);
IS(offsetof(hw_launch_config, count), 48);
IS(sizeof(hw_launch_attribute), 72); // CUlaunchAttribute
IS(offsetof(hw_launch_attribute, id), 0);
IS(offsetof(hw_launch_attribute, value), 8);
IS(HW_NOT_READY, 600);                    // CUDA_ERROR_NOT_READY
IS(HW_STREAM_NON_BLOCKING, 1);            // CU_STREAM_NON_BLOCKING
IS(HW_EVENT_DISABLE_TIMING, 2);           // CU_EVENT_DISABLE_TIMING
IS(HW_COMPUTE_CAPABILITY_MAJOR, 75);      // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
IS(HW_COMPUTE_CAPABILITY_MINOR, 76);      // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
IS(HW_MAX_SHARED_BYTES_BLOCK, 97);        // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
IS(HW_RESERVED_SHARED_BYTES_BLOCK, 111);  // CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK
IS(HW_POINTER_DEVICE_ORDINAL, 9);         // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
IS(HW_FUNCTION_MAX_THREADS, 0);           // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
IS(HW_FUNCTION_SHARED_BYTES, 1);          // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
IS(HW_FUNCTION_MAX_DYNAMIC_SHARED_BYTES, 8); // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
IS(HW_LAUNCH_CLUSTER, 4);                 // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
IS(HW_JIT_ERROR_LOG_BUFFER, 5);           // CU_JIT_ERROR_LOG_BUFFER
IS(HW_JIT_ERROR_LOG_BUFFER_BYTES, 6);     // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
