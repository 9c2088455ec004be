# SPDX-License-Identifier: Apache-2.0
# What programs of the host are compiled and linked with.
if(NOT DEFINED UPMEM_HOME)
  set(UPMEM_HOME $ENV{UPMEM_HOME})
endif()
set(DPU_HOST_INCLUDE_DIRECTORIES ${UPMEM_HOME}/include/dpu)
set(DPU_HOST_LINK_DIRECTORIES ${UPMEM_HOME}/lib)
set(DPU_HOST_LIBRARIES dpu)
