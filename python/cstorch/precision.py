"""The run's setting `precision`, as the program gives it: by cstorch.configure, cstorch.amp and
cstorch.backends.

What a run computes in follows from it by the engine's one rule (compute_format below): float32
unless `fp16_type` or `enabled: True` asks for 16 bits. Each value is kept with the place in the
program that gave it, for the line that a run begins with.
"""

import json
import os
import warnings

from cstorch import messages

LEVELS = (0, 1, 2)
BY_ITSELF = "bfloat16"  # of enabled: True without a format
# Words of configure() that are settings of `precision`.
OF_CONFIGURE = ("tiling_accum", "preset")


def _session():
    from cstorch import session  # which needs this module

    return session.current


def here(what):
    """ "cstorch.amp.set_half_dtype, program.py:12" """
    filename, line, _ = messages.place()
    return f"{what}, {os.path.basename(filename)}:{line}" if line else what


def check_level(what, level):
    """Refuses what is no level; None is none."""
    if level is not None and (isinstance(level, bool) or level not in LEVELS):
        raise ValueError(f"{what} is {level!r}; accepted: 0, 1, 2")


def give(name, value, what, place=None):
    """Sets one value; None takes it away.

    Args:
        what: who gives it: "cstorch.amp.set_half_dtype".
        place: the same with the place in the program; None: the present one.
    """
    session = _session()
    before = session.precision.get(name)
    if session.is_open and before != value:
        raise RuntimeError(
            f"{what} was called after the first execution: a process has one session, whose "
            "settings stay; call it before, start another process, or call cstorch.finish() first"
        )
    if value is None:
        session.precision.pop(name, None)
    else:
        session.precision[name] = value
        session.precision_places[name] = place or here(what)


def give_level(level, what, place=None):
    """Sets the level of the whole model, as something beside `precision`: in float32 it has no
    effect, which is told."""
    check_level(what, level)
    session = _session()
    if session.is_open and session.level != level:
        raise RuntimeError(f"{what} was set after the first execution: set it before")
    session.level = level
    session.precision_places["level"] = place or here(what)


def merged():
    """All values that were given; those of configure() prevail."""
    session = _session()
    configured = session.settings.get("precision") or {}
    found = dict(session.precision)
    if "tiling_accum" in session.settings:
        found["tiling_accum"] = session.settings["tiling_accum"]
    if "preset" in session.settings:
        found["graphamp"] = {**found.get("graphamp", {}), "preset": session.settings["preset"]}
    if not isinstance(configured, str):
        return {**found, **configured}
    if found:
        raise ValueError(
            "configure(): precision is a text, and "
            + ", ".join(sorted(found))
            + " was given besides: give precision as a dictionary"
        )
    return configured


def compute_format(settings):
    """(format or None for float32, the setting that decides or None): the rule of
    engine/base/config/compute_format.h."""
    enabled, name = settings.get("enabled"), settings.get("fp16_type")
    if enabled is False:
        return None, "enabled"
    if name is not None:
        return name, "fp16_type"
    return (BY_ITSELF, "enabled") if enabled else (None, None)


def half_dtype():
    """The name of the run's 16-bit type: what it computes in, or would with enabled: True."""
    settings = merged()
    return BY_ITSELF if isinstance(settings, str) else settings.get("fp16_type") or BY_ITSELF


def is_mixed():
    """Whether the run computes in 16 bits."""
    settings = merged()
    if isinstance(settings, str):
        raise TypeError(
            "precision was given to configure() as a text, which only the engine reads: give a "
            "dictionary"
        )
    return compute_format(settings)[0] is not None


def level():
    """The level of the whole model."""
    settings = merged()
    given = None if isinstance(settings, str) else settings.get("precision_opt_level")
    own = _session().level
    return int(given if given is not None else 1 if own is None else own)


def _with_level(settings, own, place):
    """The settings with the level that was given beside them."""
    given = settings.get("precision_opt_level")
    if own is None:
        return settings
    if given is not None and given != own:
        raise ValueError(
            f"the precision optimization level is {own} ({place}) and {given} "
            "(precision_opt_level of precision): keep one"
        )
    if compute_format(settings)[0] is None:
        warnings.warn(
            f"the precision optimization level ({place}) has no effect: the run computes in "
            "float32, since neither fp16_type nor enabled asks for 16 bits",
            stacklevel=5,
        )
        return settings
    return {**settings, "precision_opt_level": own}


def for_engine(session):
    """(the setting as text, the place of what decides the format), each None where there is none.
    """
    settings = merged()
    places = session.precision_places
    if isinstance(settings, str):
        return settings, places.get("precision")
    settings = _with_level(settings, session.level, places.get("level"))
    decides = compute_format(settings)[1]
    configured = session.settings.get("precision") or {}
    place = places.get("precision" if decides in configured else decides)
    return (json.dumps(settings) if settings else None), place
