#!/bin/sh
# Runs its arguments as a child and ends as that does: the process started is not the agent.
"$@" &
wait $!
