"""The operational pages: alive, ready, measured."""
