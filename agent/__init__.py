"""A durable, crash-only AI agent: reduce the log, plan, carry out one plan, commit, again.

The pure rooms (errors, strict_json, canonical, shapes, facts, schema, journal, state, entries,
records, reducer, plans, planner, inspection) import no I/O module; the shell around them does.
"""
