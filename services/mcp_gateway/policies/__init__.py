"""Who may do what, decided by functions that know nothing of the wire."""
