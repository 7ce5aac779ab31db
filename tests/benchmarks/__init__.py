"""The benchmarks: what Lithify costs, each figure beside a yardstick that was measured in the same rounds.

`make bench` runs them all and writes the table of `docs/PERFORMANCE.md` and the plot beside it; `python -m
tests.benchmarks start documents` runs the cases of those modules and only prints. They need Linux. No test collects
them: a busy machine makes no test fail.
"""
