"""Gates for the harness itself, as commands that anyone can repeat: see `docs/figures.md`.

    python -m tests.stress.coverage REPORT.json   was every kind of fact killed at in every phase?
    python -m tests.stress.exactness              kills under load, compared byte for byte
    python -m tests.stress.deaths                 the harness itself is killed
    python -m tests.stress.soak                   the sound agent, again and again: no false alarm
    python -m tests.stress.mutants                bugs that nobody chose, against the sweep alone
    python -m tests.stress.unit_mutants           and of the judge, against its unit tests

Each exits with 1 where its promise is broken. A small sample of each runs among the tests.
"""
