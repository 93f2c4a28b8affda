"""Answers imports of the reference's packages with this one.

    import cstorch.as_cerebras
    import cerebras_pytorch.experimental as cstorch

Afterwards `cerebras_pytorch`, `cerebras_pytorch.experimental` and `cerebras.pytorch` are cstorch,
with their submodules (`cerebras.pytorch.metrics`). `python -m cstorch run SCRIPT` does so for a
program that is not changed at all.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

PREFIXES = (
    "cerebras_pytorch.experimental",
    "cerebras.pytorch.experimental",
    "cerebras_pytorch",
    "cerebras.pytorch",
)


def meant(name):
    """The module's name in cstorch; None for modules that are not the reference's."""
    for prefix in PREFIXES:
        if name == prefix or name.startswith(prefix + "."):
            return "cstorch" + name[len(prefix) :]
    return None


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module of the reference as the one of cstorch in the same place."""

    def find_spec(self, name, path=None, target=None):
        if name == "cerebras" or meant(name) is not None:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        if spec.name == "cerebras":
            return types.ModuleType("cerebras")
        try:
            module = importlib.import_module(meant(spec.name))
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{spec.name}: cstorch has no {meant(spec.name)}", name=spec.name
            ) from error
        # The import system is about to give these the reference's names.
        self.kept = (module.__spec__, module.__loader__)
        return module

    def exec_module(self, module):
        if module.__name__ != "cerebras":  # it is executed already
            module.__spec__, module.__loader__ = self.kept


if not any(isinstance(finder, Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, Finder())
