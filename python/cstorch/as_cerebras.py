"""Answers imports of the reference's packages with this one.

    import cstorch.as_cerebras
    import cerebras_pytorch.experimental as cstorch

Afterwards `cerebras_pytorch`, `cerebras_pytorch.experimental` and `cerebras.pytorch` are cstorch, with
their submodules (`cerebras.pytorch.metrics`). `python -m cstorch run SCRIPT` does so for a program
that is not changed at all.
"""
import importlib
import importlib.abc
import importlib.machinery
import sys
import types

PREFIXES = ("cerebras_pytorch.experimental", "cerebras.pytorch.experimental", "cerebras_pytorch",
            "cerebras.pytorch")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module of the reference as the one of cstorch with the same place."""

    def find_spec(self, name, path=None, target=None):
        if name == "cerebras" or self.meant(name) is not None:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    @staticmethod
    def meant(name):
        """The name in cstorch; None for other modules."""
        for prefix in PREFIXES:
            if name == prefix:
                return "cstorch"
            if name.startswith(prefix + "."):
                return "cstorch" + name[len(prefix):]
        return None

    def create_module(self, spec):
        if spec.name == "cerebras":
            module = types.ModuleType("cerebras")
            module.__path__ = []
            return module
        try:
            return importlib.import_module(self.meant(spec.name))
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{spec.name}: cstorch has no {self.meant(spec.name)}", name=spec.name) from error

    def exec_module(self, module):
        # It is executed already; the import system gave it the other name.
        if module.__name__ in sys.modules or module.__name__ == "cerebras":
            return


class _Kept(Finder):
    """Leaves __spec__ and __name__ of the module as they are."""

    def create_module(self, spec):
        module = super().create_module(spec)
        self.before = (module.__dict__.get("__spec__"), module.__dict__.get("__loader__"))
        return module

    def exec_module(self, module):
        if module.__name__ != "cerebras":
            module.__spec__, module.__loader__ = self.before


def install():
    """Adds the finder, once."""
    if not any(isinstance(f, Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Kept())


install()
