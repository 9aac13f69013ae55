"""The mock model provider: its script, its faults, and the loopback server that plays them.

`chaos.provider.script` and `chaos.provider.faults` are pure; `chaos.provider.mock` is the server.
"""
