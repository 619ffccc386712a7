"""Acts on listed Docker stacks only, and only as its own allow-list says."""
