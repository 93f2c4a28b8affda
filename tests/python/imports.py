"""The modules of the Python packages import each other in no circle, and csengine imports nothing
of cstorch. An import inside of a function does not count: it is of the time of the call.

Usage: imports.py FOLDER, the folder of the packages.
"""

import ast
import os
import sys

ROOMS = ("csengine", "cstorch")  # from the lowest to the highest


def modules_of(folder):
    """The path of each module's source, by the module's name."""
    found = {}
    for room in ROOMS:
        for place, _, files in os.walk(os.path.join(folder, room)):
            for file in files:
                if file.endswith(".py"):
                    path = os.path.join(place, file)
                    parts = os.path.relpath(path, folder)[: -len(".py")].split(os.sep)
                    found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def base_of(module, path, node):
    """The module that `from BASE import ...` names."""
    if node.level == 0:
        return node.module
    package = module.split(".") if path.endswith("__init__.py") else module.split(".")[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join(package + ([node.module] if node.module else []))


def imports_of(module, path, modules):
    """Modules of the packages that a module imports when it is loaded."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    named = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = base_of(module, path, node)
            for alias in node.names:
                part = f"{base}.{alias.name}"
                named.add(part if part in modules else base)
    return sorted((named & set(modules)) - {module})


def circle_in(graph):
    """A circle as a list of modules, or None."""
    state = {}
    way = []

    def visit(module):
        state[module] = "open"
        way.append(module)
        for other in graph[module]:
            if state.get(other) == "open":
                return way[way.index(other) :] + [other]
            if other not in state and (circle := visit(other)):
                return circle
        state[module] = "done"
        way.pop()
        return None

    for module in graph:
        if module not in state and (circle := visit(module)):
            return circle
    return None


def main():
    modules = modules_of(sys.argv[1])
    graph = {name: imports_of(name, path, modules) for name, path in modules.items()}
    faults = [
        f"{name} imports {other}: {ROOMS[1]} stands above {ROOMS[0]}"
        for name in graph
        for other in graph[name]
        if ROOMS.index(name.split(".")[0]) < ROOMS.index(other.split(".")[0])
    ]
    circle = circle_in(graph)
    if circle:
        faults.append("a circle: " + " imports ".join(circle))
    for fault in faults:
        print(fault)
    print(f"{len(modules)} modules, {sum(map(len, graph.values()))} imports")
    return 1 if faults or not modules else 0


sys.exit(main())
