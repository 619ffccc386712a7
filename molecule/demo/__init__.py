"""`make demo`: the bundle on a local test host, and an agent at work on it."""
