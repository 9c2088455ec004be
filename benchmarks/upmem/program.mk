# SPDX-License-Identifier: Apache-2.0
# Builds a program of DPUs and its host program: make NR_TASKLETS=16 BLOCK=10
NR_TASKLETS ?= 16
BLOCK ?= 10
COMMON := -Wall -Wextra -O2 -I.. -DNR_TASKLETS=$(NR_TASKLETS) -DBLOCK=$(BLOCK) $(DEFINES)

all: host dpu

host: host.c common.h $(wildcard ../*.h)
	$(CC) --std=gnu11 $(COMMON) host.c -o $@ `dpu-pkg-config --cflags --libs dpu`

dpu: dpu.c common.h $(wildcard ../*.h)
	dpu-upmem-dpurte-clang $(COMMON) -DSTACK_SIZE_DEFAULT=1024 -o $@ dpu.c

test: all
	./host

clean:
	$(RM) host dpu

.PHONY: all test clean
