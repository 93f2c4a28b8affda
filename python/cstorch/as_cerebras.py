"""Answers imports of the reference's packages with this one.

    import cstorch.as_cerebras
    import cerebras_pytorch.experimental as cstorch

Afterwards `cerebras_pytorch`, `cerebras_pytorch.experimental` and `cerebras.pytorch` are cstorch,
with their submodules (`cerebras.pytorch.metrics`), and the modules of `cerebras.appliance` that
programs import are answered from the table of cstorch.reference_names. `python -m cstorch run
SCRIPT` does so for a program that is not changed at all. Other packages below `cerebras`, as
`cerebras.modelzoo`, are found where they are installed.
"""

import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types

from torch.utils._pytree import TreeSpec

from cstorch import reference_names

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


def not_answered(name, found_as=None):
    """The error of an import. Not ModuleNotFoundError, which `from parent import leaf` hides."""
    parent, _, leaf = name.rpartition(".")
    return ImportError(
        f"{name} is not answered by cstorch: no {leaf} in {parent}; docs/python.md lists what is",
        name=found_as or name,
    )


class Folders:
    """The path of the package `cerebras`: its folders in the module path, as they are now."""

    def __iter__(self):
        found = (os.path.join(entry or os.getcwd(), "cerebras") for entry in sys.path)
        return (folder for folder in found if os.path.isdir(folder))

    def __getitem__(self, index):
        return list(self)[index]

    def __len__(self):
        return sum(1 for _ in self)

    def append(self, _folder):
        """Nothing: a folder is found by the module path."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module of the reference as the one of cstorch in the same place, or in the table."""

    def find_spec(self, name, path=None, target=None):
        answered = (
            name in reference_names.MODULES
            or meant(name) is not None
            or name.startswith("cerebras.appliance.")
        )
        if name != "cerebras" and not answered:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name == "cerebras":
            spec.submodule_search_locations = Folders()
        return spec

    def create_module(self, spec):
        self.kept = None
        if spec.name == "cerebras":
            return types.ModuleType("cerebras")
        parent, _, leaf = spec.name.rpartition(".")
        if spec.name in reference_names.MODULES:
            return reference_names.made(spec.name, getattr(sys.modules.get(parent), leaf, None))
        module = self._own(spec.name)
        if module is None:
            raise not_answered(spec.name)
        # The import system is about to give these the reference's names.
        self.kept = (module.__spec__, module.__loader__)
        return module

    def _own(self, name):
        """The module of cstorch; None where there is none."""
        own = meant(name)
        try:
            return own and importlib.import_module(own)
        except ImportError as error:
            if error.name != own:
                raise
            return None

    def exec_module(self, module):
        if self.kept is not None:  # it is executed already
            module.__spec__, module.__loader__ = self.kept


class AbsentKind(type):
    """A name of a package that is not installed: it can be imported and derived from, not used."""

    def _refuse(cls):
        absent = next(c for c in reversed(cls.__mro__) if type(c) is AbsentKind)
        package = absent.__module__.partition(".")[0]
        raise ImportError(
            f"{cls.__module__}.{cls.__qualname__} needs the package {package}, which is not installed",
            name=package,
        )

    def __call__(cls, *_, **__):
        cls._refuse()

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        cls._refuse()


class AbsentModule(types.ModuleType):
    """A module of such a package."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("register_"):
            return lambda *_, **__: lambda kind: kind
        made = AbsentKind(name, (), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class AbsentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers the ModelZoo's imports of packages that its command line imports for evaluations, and
    that are not installed: a training uses nothing of them."""

    PACKAGES = ("lm_eval", "bigcode_eval")

    def find_spec(self, name, path=None, target=None):
        package, _, rest = name.partition(".")
        if package not in self.PACKAGES:
            return None
        if rest:
            answered = isinstance(sys.modules.get(package), AbsentModule)
        else:
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
                frame = frame.f_back
            asks = frame.f_globals.get("__name__", "") if frame is not None else ""
            answered = asks.startswith("cerebras.modelzoo.")
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if answered else None

    def create_module(self, spec):
        return AbsentModule(spec.name)

    def exec_module(self, module):
        """Nothing: its names are made when they are asked for."""


class ModelZooFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers the imports of the ModelZoo's trainer where no ModelZoo is in the module path: the
    trainer of cstorch has its names. Its models and data processors are the ModelZoo's alone.

    Args:
        is_last: whether it stands behind the finders of files, and so finds the package itself;
            its modules are found before those look into the folders of cstorch.trainer.
    """

    PACKAGE = "cerebras.modelzoo"

    def __init__(self, is_last):
        self.is_last = is_last

    def find_spec(self, name, path=None, target=None):
        package = sys.modules.get(self.PACKAGE)
        if self.is_last and name != self.PACKAGE:
            return None
        if not self.is_last and not (
            name.startswith(f"{self.PACKAGE}.") and hasattr(package, "is_answered")
        ):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        self.kept = None
        if spec.name == self.PACKAGE:
            module = types.ModuleType(spec.name)
            module.is_answered = True
            module.Trainer = importlib.import_module("cstorch.trainer").Trainer
            module.__getattr__ = self._absent
            return module
        if not spec.name.startswith(f"{self.PACKAGE}.trainer"):
            self._absent(spec.name.removeprefix(f"{self.PACKAGE}."))
        own = "cstorch" + spec.name.removeprefix(self.PACKAGE)
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name != own:
                raise
            raise not_answered(spec.name) from None
        # The import system is about to give it the reference's names.
        self.kept = (module.__spec__, module.__loader__)
        return module

    @classmethod
    def _absent(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(
            f"{cls.PACKAGE}.{name} is a part of the ModelZoo, and no checkout of it is in the "
            "module path: add its folder src to PYTHONPATH; cstorch itself answers "
            f"{cls.PACKAGE}.Trainer and {cls.PACKAGE}.trainer"
        )

    exec_module = Finder.exec_module


class LastFinder(importlib.abc.MetaPathFinder):
    """Says what is missing where a program imports a name from a module that is cstorch's own."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("cstorch."):
            raise not_answered("cerebras.pytorch" + name.removeprefix("cstorch"), name)
        return None


def keep_names_of_tree_specs():
    """The ModelZoo copies a TreeSpec of PyTorch with dataclasses.replace(spec, children_specs=...),
    where newer ones call this field otherwise."""
    plain = TreeSpec.__init__

    def init(self, type, context=None, children_specs=None, *, _context=None, _children=None):
        plain(
            self,
            type,
            context if _context is None else _context,
            _children if children_specs is None else children_specs,
        )

    if {"_context", "_children"} <= {field.name for field in dataclasses.fields(TreeSpec)}:
        TreeSpec.__init__ = init


if not any(isinstance(finder, Finder) for finder in sys.meta_path):
    sys.meta_path[:0] = [Finder(), ModelZooFinder(is_last=False)]
    sys.meta_path += [LastFinder(), AbsentFinder(), ModelZooFinder(is_last=True)]
    reference_names.add_names()
    keep_names_of_tree_specs()
