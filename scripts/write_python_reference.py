"""Writes docs/python_reference.md from the stubs and docstrings of python/.

    write_python_reference.py PYTHON_FOLDER >docs/python_reference.md

Signatures are those of the .pyi files, texts those of the code beside them; neither is imported.
"""

import ast
import pathlib
import re
import sys

MODULES = """csengine cstorch cstorch.amp cstorch.distributed cstorch.metrics cstorch.optim
    cstorch.optim.lr_scheduler cstorch.optim.weight_decay_scheduler cstorch.sparse
    cstorch.utils.data cstorch.utils.data.schedule cstorch.utils.misc""".split()
SECTIONS = ("Args", "Attributes", "Raises", "Returns", "Yields")
DEFINITIONS = (ast.ClassDef, ast.FunctionDef)

HEAD = """# Python reference

<!-- Made by `make python_reference` from the stubs and docstrings of python/: edit those. -->

The public names of the packages `csengine`, which needs numpy alone, and `cstorch`, which needs PyTorch.
[Python](python.md) is the way in. Where a text is missing the name is PyTorch's, or that of the Cerebras API,
and does what it does there ([its names](cerebras_api.md)).
"""


def file_of(folder, module, suffix):
    path = folder.joinpath(*module.split("."))
    return path / f"__init__{suffix}" if path.is_dir() else path.with_suffix(suffix)


def parsed(folder, module, suffix):
    path = file_of(folder, module, suffix)
    return ast.parse(path.read_text(encoding="utf-8")) if path.exists() else None


def found(folder, module, name, suffix):
    """The definition of a name, where the module or one that it imports from has it, or None."""
    tree = parsed(folder, module, suffix)
    for node in tree.body if tree is not None else []:
        if isinstance(node, DEFINITIONS) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
            "csengine",
            "cstorch",
        ):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return found(folder, node.module, alias.name, suffix)
    return None


def listed(folder, module):
    """The names of __all__, where the module has a list of texts there; None: it has not."""
    tree = parsed(folder, module, ".py")
    for node in tree.body if tree is not None else []:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return ast.literal_eval(node.value)
            except ValueError:
                return None
    return None


def public(folder, module):
    """The module's public definitions in its stub, with those that it takes from elsewhere."""
    names = listed(folder, module)
    for node in parsed(folder, module, ".pyi").body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
            if names is None or node.name in names:
                yield node
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("csengine."):
            for alias in node.names:
                stub = found(folder, node.module, alias.name, ".pyi")
                if stub is not None and alias.asname == alias.name:
                    yield stub


def argument(one, default=None, stars=""):
    text = stars + one.arg + (f": {ast.unparse(one.annotation)}" if one.annotation else "")
    if default is None:
        return text
    return text + (" = " if one.annotation else "=") + ast.unparse(default)


def arguments(node):
    given = node.args
    plain = given.posonlyargs + given.args
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    parts = [argument(one, default) for one, default in zip(plain, defaults)]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    if given.vararg:
        parts.append(argument(given.vararg, stars="*"))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        parts.append(argument(given.kwarg, stars="**"))
    return parts


def signature(node):
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}({bases})" if bases else f"class {node.name}"
    decorators = "".join(f"@{ast.unparse(one)}\n" for one in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"def {node.name}({', '.join(arguments(node))}){returns}"
    if len(line) > 96:
        lines = "".join(f"    {one},\n" for one in arguments(node))
        line = f"def {node.name}(\n{lines}){returns}"
    return decorators + line


def text_of(docstring):
    """A docstring's paragraphs; its sections as lists, what is indented as code."""
    lines, section, code = [], None, False
    for line in (docstring or "").splitlines():
        words = line.strip()
        indented = line.startswith("    ")
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            section, code = line[:-1], False
            lines += ["", f"**{section}**", ""]
            continue
        if words and not indented:
            lines += ["```", ""] if code else [""] if section else []
            section, code = None, False
        if section is None:
            if indented and not code:
                lines.append("```python")
                code = True
            lines.append(line[4:] if code else words)
        elif start := re.match(r"    ([*\w, ]+): (.*)", line):
            lines.append(f"- `{start[1]}`: {start[2]}")
        elif words:
            lines.append(f"{lines.pop()} {words}".strip())
    if code:
        lines.append("```")
    text = re.sub(r"\n+```(?=\n|$)", "\n```", "\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def print_definition(stub, source, level):
    text = text_of(ast.get_docstring(source) if source is not None else None)
    print(f"\n{'#' * level} {stub.name}\n\n```python\n{signature(stub)}\n```")
    if text:
        print(f"\n{text}")
    if not isinstance(stub, ast.ClassDef):
        return
    inner = {
        node.name: node for node in getattr(source, "body", ()) if isinstance(node, DEFINITIONS)
    }
    methods = [node for node in stub.body if isinstance(node, ast.FunctionDef)]
    for method in methods:
        if method.name.startswith("_") and method.name != "__init__":
            continue
        known = inner.get(method.name)
        said = text_of(ast.get_docstring(known) if known is not None else None)
        print(f"\n```python\n{signature(method)}\n```" + (f"\n\n{said}" if said else ""))


def main():
    folder = pathlib.Path(sys.argv[1])
    print(HEAD)
    for module in MODULES:
        names = ", ".join(f"`{node.name}`" for node in public(folder, module))
        print(f"- `{module}`: {names}")
    for module in MODULES:
        print(f"\n## {module}")
        about = parsed(folder, module, ".py")
        text = text_of(ast.get_docstring(about) if about is not None else None)
        if text:
            print(f"\n{text}")
        for stub in public(folder, module):
            print_definition(stub, found(folder, module, stub.name, ".py"), 3)


if __name__ == "__main__":
    main()
