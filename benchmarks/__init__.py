"""How fast the journal is, side by side with what a user would pick instead.

`python -m benchmarks` prints ratios, never bare times: everything that is compared runs
interleaved in one process, on one disk, and medians are taken over the rounds.
"""
