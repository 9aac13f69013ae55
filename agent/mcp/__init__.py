"""Tools that come from MCP servers (Model Context Protocol), through the official SDK.

    agent ── guard (a fork) ── host (a fork) ── stdio servers
      │                          │
      └──────── channel ─────────┘──── streamable HTTP servers

    config    the trusted file that names the servers
    tools     what a server lists, as tools of the agent: names, bounds, digests
    servers   the agent's side: start, call, close
    process   the guard, which ends the whole tree with the agent
    host      the other side: the SDK, asynchronous, in a process of its own

The SDK runs in a process of its own because it is asynchronous and starts threads, while the agent
is one synchronous thread that forks (the guard of `bash` is a fork without exec, which is safe
only without other threads). So the agent stays as it is, the host is one more guarded child, and
a process that names no server imports none of this.
"""
