"""Small helpers."""

import functools
import time


def call_once():
    """Decorates a function that does its work in the first call alone."""

    def decorate(function):
        @functools.wraps(function)
        def once(*args, **kwargs):
            if not once.called:
                once.called = True
                once.result = function(*args, **kwargs)
            return once.result

        once.called = False
        return once

    return decorate


CallOnce = call_once


class RateTracker:
    """Samples a second: smoothed over the looks at them (rate), and over all (global_rate).

    Args:
        smooth_factor: of the rate at the last look in the next one; None: 0.4.
    """

    def __init__(self, smooth_factor=None):
        self.smooth_factor = 0.4 if smooth_factor is None else smooth_factor
        self.reset()

    def reset(self):
        """Begins anew, with no samples."""
        self.count = self.since = 0
        self.last_rate = None
        self.reset_time()

    def reset_time(self, offset=0):
        """The time begins `offset` seconds ago; the samples stay."""
        self.begun = self.looked = time.perf_counter() - offset

    def add(self, count):
        """Adds samples."""
        self.count += count
        self.since += count

    def rate(self):
        """Samples a second since the last call of rate or reset, smoothed; 0 where no time has
        passed."""
        now = time.perf_counter()
        if now <= self.looked:
            return 0.0
        rate = self.since / (now - self.looked)
        if self.last_rate is not None:
            rate = (1 - self.smooth_factor) * rate + self.smooth_factor * self.last_rate
        self.looked, self.since, self.last_rate = now, 0, rate
        return rate

    def global_rate(self):
        """Samples a second since reset."""
        seconds = self.elapsed_seconds()
        return self.count / seconds if seconds > 0 else 0.0

    def elapsed_seconds(self):
        """Seconds since reset."""
        return time.perf_counter() - self.begun

    total_seconds = elapsed_seconds

    @property
    def total_count(self):
        """Samples since reset."""
        return self.count
