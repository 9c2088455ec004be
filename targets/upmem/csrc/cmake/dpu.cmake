# SPDX-License-Identifier: Apache-2.0
# Toolchain of programs for DPUs: -DCMAKE_TOOLCHAIN_FILE=${UPMEM_HOME}/share/upmem/cmake/dpu.cmake
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR dpu)
if(NOT DEFINED UPMEM_HOME)
  set(UPMEM_HOME $ENV{UPMEM_HOME})
endif()
set(CMAKE_C_COMPILER ${UPMEM_HOME}/bin/dpu-upmem-dpurte-clang)
set(CMAKE_ASM_COMPILER ${CMAKE_C_COMPILER})
set(CMAKE_C_COMPILER_FORCED TRUE)
