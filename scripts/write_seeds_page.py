"""Writes docs/seeds.md from the docstrings of tests/seeds, pending.py and without_test.txt there.

    write_seeds_page.py TESTS_SEEDS_FOLDER >docs/seeds.md

The files are read, not imported. Exit code 1 where a line of a document has no place in a table.
"""

import ast
import pathlib
import re
import sys

# Number: (title, where it is from, last line)
DOCUMENTS = {
    "000": ("Per-layer precision optimization level (POL)", "the Cerebras PyTorch API", 42),
    "001": ("Numeric precision of the Trainer", "the Cerebras ModelZoo", 148),
    "002": ("Graph-level automatic mixed precision", "SambaFlow 1.18", 46),
    "003": ("Limitations of PyTorch on Cerebras", "the Cerebras PyTorch API", 165),
    "004": ("Porting code with the Cerebras PyTorch API", "the Cerebras PyTorch API", 730),
}
PLACE = re.compile(r"(\d{3}):([0-9,-]+) (.*)")

HEAD = """# Statements of five public documents, and what they are here

<!-- Made by `make seeds_page` from tests/seeds: edit the tests' docstrings and without_test.txt. -->

This package follows five pages of public documentation: four of Cerebras (the precision of layers, the numeric
precision of the ModelZoo's Trainer, the limitations of PyTorch programs, and how code is ported with the PyTorch API)
and one of SambaNova (mixed precision of a graph, in SambaFlow 1.18). Each of their statements is below, in words of our
own, with the test that fails where it does not hold; the names themselves are in
[cerebras_api.md](cerebras_api.md). A place is the document's number and its lines, in the text of the page from its
first line on.

*holds*: as stated there. *differs*: otherwise on purpose, with the reason in the first table. *not yet*: its test says
what the document says, and fails. *no test*: what is stated about other hardware, or about the history of the field,
with what holds here.
"""


def lines_of(text):
    """The numbers in "3-5,7"."""
    found = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def statements_of(text, where):
    """[document, lines, statement, reason of a difference] of a docstring."""
    found = []
    for line in text.strip().split("\n"):
        line = line.strip()
        place = PLACE.fullmatch(line)
        if place:
            found.append([*place.groups(), ""])
        elif not found:
            raise SystemExit(f"{where}: the docstring begins with no place")
        elif line.startswith("Differs: "):
            found[-1][3] = line.removeprefix("Differs: ")
        elif line:
            index = 3 if found[-1][3] else 2
            found[-1][index] += " " + line
    return found


def rows_of_tests(folder, pending):
    """(document, lines, statement, verdict, reason, link) of each statement with a test."""
    names = set()
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            where = f"{path.name}:{node.lineno}"
            if path.stem.endswith("_yaml"):
                pass
            elif node.name in names:
                raise SystemExit(f"{where}: another test is called {node.name}")
            else:
                names.add(node.name)
            link = f"[{node.name}](../tests/seeds/{path.name})"
            for document, lines, text, reason in statements_of(ast.get_docstring(node) or "", where):
                verdict = "differs" if reason else "holds"
                if node.name in pending and not path.stem.endswith("_yaml"):
                    verdict = "not yet"
                yield document, lines, text, verdict, reason, link
    unknown = sorted(set(pending) - names)
    if unknown:
        raise SystemExit(f"pending.py: no test is called {', '.join(unknown)}")


def rows_without_test(path):
    """The same of statements without one; "-" is what states nothing (headings, empty lines)."""
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        place, _, reason = (part.strip() for part in line.partition("|"))
        found = PLACE.fullmatch(place)
        if not found:
            raise SystemExit(f"{path.name}:{number}: DOCUMENT:LINES STATEMENT | WHAT HOLDS HERE")
        document, lines, text = found.groups()
        yield document, lines, text, "" if text == "-" else "no test", reason, ""


def pending_of(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "PENDING":
            return {key.value for key in node.value.keys}
    raise SystemExit(f"{path.name} has no PENDING")


def cell(text):
    return text.replace("|", "\\|")


def write(rows):
    print(HEAD)
    print("## Differences on purpose\n\n| Place | Stated | Here, and why | Held by |\n|---|---|---|---|")
    for document, lines, text, verdict, reason, link in rows:
        if verdict == "differs":
            print(f"| {document}:{lines} | {cell(text)} | {cell(reason)} | {link} |")
    for number, (title, source, _) in DOCUMENTS.items():
        print(f"\n## {number}: {title}\n\nA page of {source}.\n")
        print("| Lines | Statement | Verdict | Test, or what holds here |\n|---|---|---|---|")
        for document, lines, text, verdict, reason, link in rows:
            if document == number and verdict:
                print(f"| {lines} | {cell(text)} | {verdict} | {link or cell(reason)} |")


def main(folder):
    folder = pathlib.Path(folder)
    pending = pending_of(folder / "pending.py")
    rows = [*rows_of_tests(folder, pending), *rows_without_test(folder / "without_test.txt")]
    rows.sort(key=lambda row: (row[0], min(lines_of(row[1])), max(lines_of(row[1]))))
    write(rows)
    missing = []
    for number, (_, _, last) in DOCUMENTS.items():
        told = set().union(*(lines_of(row[1]) for row in rows if row[0] == number))
        missing += [f"{number}:{line}" for line in range(1, last + 1) if line not in told]
        missing += [f"{number}:{line} (there is none)" for line in told if line > last]
    if missing:
        print("lines without a place: " + " ".join(missing), file=sys.stderr)
    return 1 if missing else 0


sys.exit(main(sys.argv[1]))
