"""What the service answers over HTTP."""
