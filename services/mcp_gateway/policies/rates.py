"""How many calls a client may make: a bucket that holds a minute's worth and fills evenly."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class Rates:
    """One bucket per client, kept in memory; a restart begins with full buckets."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, client: str, per_minute: int) -> int:
        """Take one call. 0 when it may go on, else the whole seconds after which the next one may."""
        now = self._clock()
        bucket = self._buckets.get(client)
        if bucket is None:
            bucket = self._buckets[client] = _Bucket(per_minute, now)
        bucket.tokens = min(per_minute, bucket.tokens + (now - bucket.filled) * per_minute / 60)
        bucket.filled = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0
        # Rounded up, but not for the last digit of a float.
        return max(1, math.ceil((1 - bucket.tokens) * 60 / per_minute - 1e-6))
