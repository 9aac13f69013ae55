"""Explore: choose the next kill, until no crash image is new."""
