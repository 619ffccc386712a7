"""What stands behind the toolsets: one module per system that answers from outside the process."""
