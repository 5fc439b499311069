"""The speed table: what a step costs, as ratios of things measured in turn in one run.

A machine that is busy slows both sides of a comparison, so seconds are noise and ratios are not: whatever is
compared takes turns, batch by batch, in one process with one BLAS thread and the compiled core. It is compared
with what a user would write first (`slsqp`, `obvious_uclk`), or with the least that any method must do (`walks.Floor`).
"""
