"""The native tools: one module per toolset."""
