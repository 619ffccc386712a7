"""The configuration: one module per section."""
