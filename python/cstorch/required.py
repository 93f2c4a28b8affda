"""Methods that a subclass of a program must define, looked for when an object of it is made."""


def check(made, base, methods):
    """Refuses an object whose class has not defined one of the methods.

    Args:
        made: the object.
        base: the class that the document tells to derive from.
        methods: name -> what it does; names joined by "|" are alternatives.
    """
    kind = type(made)
    for names, what in methods.items():
        name = names.split("|")[0]
        if any(_is_defined(kind, base, one) for one in names.split("|")):
            continue
        if kind.__module__.startswith("cstorch"):
            raise TypeError(
                f"{kind.__name__} is a base class: derive from it, and define {name}(), which "
                f"{what}"
            )
        raise TypeError(
            f"{kind.__name__} has no method {name}(), which a subclass of {base.__name__} must "
            f"define: it {what}"
        )


def _is_defined(kind, base, name):
    """Whether a class that comes before the base has it."""
    return any(name in one.__dict__ for one in kind.__mro__[: kind.__mro__.index(base)])
