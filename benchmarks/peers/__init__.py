# SPDX-License-Identifier: Apache-2.0
"""The parts of benchmarks/host.py (`make bench-host`) that compare this project with others.

`workloads` and `libraries` are the data, `environments` and `worker` start the measured processes,
`run` measures, `results` evaluates the samples, `goals` judges them, and `table`, `page` and `plot`
show them.
"""
