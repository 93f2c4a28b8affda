"""Random sequences of calls: a table of calls, how a sequence is made, run, and made shorter.

A table has one function for each call. It is given the subject, which has both sides of a
comparison (a program on the engine and the same in plain PyTorch, or a run in parts and the same in
one go), and plain arguments, so that a sequence can be printed as Python and run again. Beside the
function a table says when a call is possible and when it must be refused.
"""

import dataclasses
import random
import time
import traceback
import typing


@dataclasses.dataclass
class Call:
    """One line of a table.

    Attributes:
        function: (subject, *arguments); does the call on both sides.
        often: how often it is chosen, beside the others.
        arguments: functions (chooser, subject) that choose the arguments.
        possible: (subject, *arguments), whether the call means something now; else it is left out.
        refused: (subject, *arguments), the pattern of the message with which the engine must refuse
            the call, or None where it must do it.
    """

    function: typing.Callable
    often: float
    arguments: tuple
    possible: typing.Callable
    refused: typing.Callable


class Table:
    """The calls by their names."""

    def __init__(self):
        self.calls = {}

    def call(self, *arguments, often=1, possible=None, refused=None):
        """Decorates the function of a call; see Call."""

        def add(function):
            self.calls[function.__name__] = Call(
                function,
                often,
                arguments,
                possible or (lambda *_: True),
                refused or (lambda *_: None),
            )
            return function

        return add

    def choose(self, chooser, subject):
        """A call that is possible now, as (name, arguments)."""
        while True:
            names = list(self.calls)
            (name,) = chooser.choices(names, [self.calls[n].often for n in names])
            arguments = tuple(choose(chooser, subject) for choose in self.calls[name].arguments)
            if self.calls[name].possible(subject, *arguments):
                return name, arguments

    def perform(self, subject, name, arguments):
        """Does a call, or has it refused, and compares both sides. False: it was left out."""
        call = self.calls[name]
        if not call.possible(subject, *arguments):
            return False
        pattern = call.refused(subject, *arguments)
        if pattern is None:
            call.function(subject, *arguments)
        else:
            with subject.test.assertRaisesRegex(Exception, pattern):
                call.function(subject, *arguments)
        subject.compare()
        return True


def one_of(*values):
    """An argument that is one of some values."""
    return lambda chooser, _: chooser.choice(values)


class Sequences:
    """Runs random sequences over a table.

    Args:
        table: a Table.
        begin: makes a subject of the number of a sequence.
        end: called with the subject behind the last call of a sequence.
    """

    LONGEST_SEARCH = 300  # seconds in which a shorter failing sequence is looked for

    def __init__(self, table, begin, end=lambda subject: None):
        self.table, self.begin, self.end = table, begin, end
        self.calls = self.refused = 0

    def random(self, seed, length):
        """Runs the sequence of a number. Returns what failed as text with the shortest sequence
        that fails alike, or None."""
        chooser = random.Random(seed)
        made = []

        def next_call(subject):
            if len(made) == length:
                return None
            made.append(self.table.choose(chooser, subject))
            return made[-1]

        error = self._run(seed, next_call)
        if error is None:
            return None
        shortest = self._shorter(seed, made, error)
        return self._told(seed, shortest, self.replay(seed, shortest) or error)

    def replay(self, seed, made):
        """Runs calls that were made; returns the error, or None."""
        left = iter(made)
        return self._run(seed, lambda _: next(left, None))

    def _run(self, seed, next_call):
        subject = None
        try:
            subject = self.begin(seed)
            while (call := next_call(subject)) is not None:
                self.calls += self.table.perform(subject, *call)
            self.end(subject)
        except Exception as error:  # noqa: B902 - what the calls raise is what is looked for
            return error
        finally:
            if subject is not None:
                subject.close()
        return None

    def _shorter(self, seed, made, error):
        """The calls without those that the failure does not need."""
        deadline = time.monotonic() + self.LONGEST_SEARCH
        size = max(len(made) // 2, 1)
        while True:
            at = 0
            while at < len(made) and time.monotonic() < deadline:
                fewer = made[:at] + made[at + size :]
                found = self.replay(seed, fewer)
                if found is not None and _kind(found) == _kind(error):
                    made = fewer
                else:
                    at += size
            if size == 1:
                return made
            size //= 2

    def _told(self, seed, made, error):
        lines = [f"sequence {seed} fails. As Python:", "", f"subject = begin({seed})"]
        lines += [f"{n}(subject{''.join(f', {a!r}' for a in given)})" for n, given in made]
        lines += ["", *traceback.format_exception(type(error), error, error.__traceback__)]
        return "\n".join(lines)


def _kind(error):
    """What makes two failures the same: their type and where they were raised."""
    places = traceback.extract_tb(error.__traceback__)
    return type(error), places[-1].name if places else ""
