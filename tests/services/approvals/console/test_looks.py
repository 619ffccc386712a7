"""How the pages look: on a phone and on a desk, in light and dark. The pictures are for a person to look at."""
