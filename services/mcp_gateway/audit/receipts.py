"""Receipts: the name under which a call can be found again."""

import secrets
import time

# The letters and digits of base32, in the order in which text sorts: later receipts sort after earlier ones.
ALPHABET = "234567abcdefghijklmnopqrstuvwxyz"
LENGTH = 26
# Two characters at a time, because every call makes one.
PAIRS = tuple(first + second for first in ALPHABET for second in ALPHABET)
SHIFTS = range(5 * (LENGTH - 2), -1, -10)
# 54 bits of microseconds last until the year 2540; the other 76 of the 130 bits are chance.
RANDOM_BITS = 76


def new_receipt() -> str:
    """`r-` and 26 characters, unique, ordered by time to the microsecond."""
    number = time.time_ns() // 1000 << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
    return "r-" + "".join([PAIRS[number >> shift & 1023] for shift in SHIFTS])
