"""Planted bugs: agents with exactly one fault, to prove that the harness can fail.

`python -m tests.planted BUG run …` changes one behaviour of the real agent from outside, then runs
its own command line. The product has no hook for this. `bugs.BUGS` is the table.
"""
