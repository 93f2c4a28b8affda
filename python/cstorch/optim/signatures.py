"""Signatures of classes that are made of tables, for help() and for programs that make
configurations of a class's arguments."""

import inspect

_NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD


def parameter(name, annotation=inspect.Parameter.empty, default=inspect.Parameter.empty):
    """A parameter of a signature."""
    return inspect.Parameter(name, _NAMED, default=default, annotation=annotation)


def settings(names):
    """Parameters that may be left out."""
    return [parameter(name, default=None) for name in names]


def give(function, *parameters):
    """Gives an __init__ its signature."""
    function.__signature__ = inspect.Signature([parameter("self"), *parameters])
    return function
