# SPDX-License-Identifier: Apache-2.0
"""`make bench-host`: the parts of benchmarks/host.py that measure this project beside others.

`workloads` and `libraries` are the data, `environments` and `worker` start what is measured, `run`
measures it, `results` says what the samples mean, `goals` judges them, `table`, `page` and `plot`
show them.
"""
