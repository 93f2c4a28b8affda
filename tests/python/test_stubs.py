"""The type stubs say what there is: each stub has the names of its module, each function the same
parameters, each class the same methods; and each public module has one."""

import ast
import importlib
import inspect
import pathlib
import sys
import unittest

import csengine
import cstorch

FOLDERS = [pathlib.Path(package.__file__).parent for package in (csengine, cstorch)]
# Modules that programs import; names of others are given by those.
PUBLIC = (
    "csengine",
    "csengine.checkpoints",
    "csengine.client",
    "csengine.library",
    "csengine.moments",
    "csengine.program",
    "csengine.runs",
    "cstorch",
    "cstorch.amp",
    "cstorch.backends",
    "cstorch.distributed",
    "cstorch.metrics",
    "cstorch.nn",
    "cstorch.optim",
    "cstorch.optim.lr_scheduler",
    "cstorch.optim.scheduler",
    "cstorch.optim.weight_decay_scheduler",
    "cstorch.sparse",
    "cstorch.trainer",
    "cstorch.trainer.callbacks",
    "cstorch.trainer.loggers",
    "cstorch.utils",
    "cstorch.utils.data",
    "cstorch.utils.data.schedule",
    "cstorch.utils.misc",
)


def stub_of(name):
    module = importlib.import_module(name)
    return module, ast.parse(pathlib.Path(module.__file__).with_suffix(".pyi").read_text())


def declared(body):
    """Name -> node of what a stub's module or class declares."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, ast.ImportFrom):
            found.update((a.asname, node) for a in node.names if a.asname)
    return found


def public_names(module):
    """__all__, or the functions and classes that the module defines."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    }


def parameters_of_stub(node):
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    optional = len(plain) - len(arguments.defaults)
    found = [(a.arg, "plain", at >= optional) for at, a in enumerate(plain)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "all", False))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        found.append((argument.arg, "named", default is not None))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "all named", False))
    return found


def parameters_of(function):
    kinds = {
        inspect.Parameter.VAR_POSITIONAL: "all",
        inspect.Parameter.KEYWORD_ONLY: "named",
        inspect.Parameter.VAR_KEYWORD: "all named",
    }
    return [
        (p.name, kinds.get(p.kind, "plain"), p.default is not inspect.Parameter.empty)
        for p in inspect.signature(function).parameters.values()
    ]


class Stubs(unittest.TestCase):
    def check_function(self, where, node, value):
        self.assertTrue(callable(value), where)
        self.assertEqual(parameters_of_stub(node), parameters_of(value), where)

    def check_class(self, where, node, kind):
        self.assertTrue(inspect.isclass(kind), where)
        names = declared(node.body)
        for name, member in names.items():
            found = inspect.getattr_static(kind, name, None)
            if isinstance(member, ast.FunctionDef):
                if any(getattr(d, "id", "") == "property" for d in member.decorator_list):
                    self.assertIsInstance(found, property, f"{where}.{name}")
                else:
                    self.check_function(f"{where}.{name}", member, found)
        methods = {
            name
            for name, value in vars(kind).items()
            if not name.startswith("_") and (inspect.isfunction(value) or type(value) is property)
        }
        inherited = set()
        for base in kind.__mro__[1:]:
            inherited |= set(vars(base))
        missing = methods - set(names) - inherited
        self.assertEqual(missing, INNER.get(where, set()), f"{where}: not in its stub")

    def test_each_stub_has_its_module_s_names(self):
        for name in PUBLIC:
            with self.subTest(module=name):
                module, tree = stub_of(name)
                names = declared(tree.body)
                missing = sorted(public_names(module) - set(names))
                self.assertEqual(missing, [], f"{name}: add these to its .pyi")
                for one, node in names.items():
                    if one.startswith("_"):
                        continue
                    self.assertTrue(hasattr(module, one), f"{name}.{one} is in the stub alone")
                    where = f"{name}.{one}"
                    if isinstance(node, ast.FunctionDef):
                        self.check_function(where, node, getattr(module, one))
                    elif isinstance(node, ast.ClassDef):
                        self.check_class(where, node, getattr(module, one))

    def test_each_stub_is_of_a_public_module_and_each_package_is_typed(self):
        for folder in FOLDERS:
            self.assertTrue((folder / "py.typed").exists(), folder)
            for path in folder.rglob("*.pyi"):
                parts = path.relative_to(folder.parent).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                self.assertIn(name, PUBLIC)


# Methods that the package's own modules call.
INNER = {
    "cstorch.utils.data.DataLoader": {"settings", "source", "traced_leaves"},
    "cstorch.sparse.SparsityAlgorithm": set(),
}

if __name__ == "__main__":
    sys.exit(unittest.main())
