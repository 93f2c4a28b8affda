"""Schedules of steps: on which steps of a loop something happens."""

import dataclasses


@dataclasses.dataclass
class Schedule:
    """Steps of a loop, counted from 0, as ranges."""

    intervals: list

    @dataclasses.dataclass
    class Range:
        """The steps start, start + step, ... below end; `include_last` adds the last before end."""

        start: int = 0
        end: int = None
        step: int = 1
        include_last: bool = False

        def range(self):
            return range(self.start, self.end, self.step)

        def __iter__(self):
            yield from self.range()
            if self.include_last and not self._has_last():
                yield self.end - 1

        def __len__(self):
            return len(self.range()) + (self.include_last and not self._has_last())

        def _has_last(self):
            steps = self.range()
            return len(steps) > 0 and steps[-1] == self.end - 1

        def match(self, step):
            return step in self.range() or (self.include_last and step == self.end - 1)

        def next_immediate_step(self, step):
            """The first step of it from `step` on."""
            if step <= self.start:
                return self.start
            return self.start + -(-(step - self.start) // self.step) * self.step

    def match(self, step):
        """Whether the step, from 0, is one of the schedule."""
        return any(interval.match(step) for interval in self.intervals)

    def interval(self):
        """The steps between two of it, as checkpoint_steps gives them."""
        return self.intervals[0].step
