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
    """Samples a second: since the last look (rate) and over all (global_rate)."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.begun = self.looked = time.perf_counter()
        self.count = self.since = 0

    def add(self, count):
        self.count += count
        self.since += count

    def rate(self):
        now = time.perf_counter()
        rate = self.since / max(now - self.looked, 1e-9)
        self.looked, self.since = now, 0
        return rate

    def global_rate(self):
        return self.count / max(time.perf_counter() - self.begun, 1e-9)

    def elapsed_seconds(self):
        return time.perf_counter() - self.looked

    def total_seconds(self):
        return time.perf_counter() - self.begun

    @property
    def total_count(self):
        return self.count
