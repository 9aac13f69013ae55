"""Killpoint's harness: kill a real agent process at exact instants, resume it, judge what is left."""
