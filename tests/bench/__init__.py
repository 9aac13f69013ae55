"""Figures that the docs quote, measured again by `make bench`. Medians and ratios, in one run."""
