"""Measurements: ratios of ours to the plain thing underneath, taken in one run."""
