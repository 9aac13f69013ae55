"""Killpoint's harness: kill a real agent at exact instants, resume it, judge what is left."""
