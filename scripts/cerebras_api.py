"""Fills docs/cerebras_api.md from the rows of scripts/cerebras_api.txt, and checks every row against the program.

Usage: cerebras_api.py CSENGINE TREE OPENAPI     the document goes to stdout; exit code 1 when a row is not true
"""
import json
import os
import re
import subprocess
import sys

STATUSES = ("same", "other name", "different", "not here", "not yet")
KINDS = {"op": "ops", "optimizer": "optimizers", "schedule": "schedules", "metric": "metrics", "model": "models",
         "input": "inputs", "logger": "loggers", "callback": "callbacks", "format": "formats"}
HEAD = "| There | Here | | Held by |\n|---|---|---|---|\n"
# Words of many files, which show nothing about a test.
COMMON = {"csengine", "init", "fit", "backend", "cse", "cse_configuration", "settings", "name", "value"}


class Program:
    """What there is: symbols, settings, options, plugins, commands, routes."""

    def __init__(self, executable, tree, openapi):
        self.executable, self.cache = executable, {}
        self.headers = ""
        for folder, _, files in sorted(os.walk(f"{tree}/include/csengine")):
            for name in sorted(files):
                with open(f"{folder}/{name}") as f:
                    self.headers += f.read()
        self.manual = self.run("--print-man").replace("\\", "")
        with open(openapi) as f:
            self.paths = json.load(f)["paths"]

    def run(self, *words):
        return subprocess.run([self.executable, *words], capture_output=True, text=True, check=True).stdout

    def listed(self, *words):
        if words not in self.cache:
            self.cache[words] = {row["name"] for row in json.loads(self.run("list", *words, "--json"))}
        return self.cache[words]

    def has_symbol(self, word):
        name, _, member = word.partition(".")
        if not member:
            return re.search(rf"\b{name}\b", self.headers) is not None
        struct = re.search(rf"typedef struct {name} {{(.*?)^}} {name};", self.headers, re.S | re.M)
        return struct is not None and re.search(rf"\b{member}\b", struct.group(1)) is not None

    def has(self, word):
        first, _, rest = word.partition(" ")
        if word.startswith("--"):
            return f"fB{word}fR" in self.manual
        if first == "csengine":
            return rest in self.listed("commands")
        if first in KINDS and rest:
            plugin, _, setting = rest.partition(": ")
            return plugin in self.listed(KINDS[first]) and (not setting or setting in self.listed(KINDS[first], plugin))
        if first.isupper() and rest.startswith("/"):
            return first.lower() in self.paths.get(rest, {})
        if first.startswith(("cse_", "CSE_")):
            return self.has_symbol(first)
        return any(f"{top}{word}" in self.listed("settings") for top in ("trainer.init.", "trainer.fit.", "trainer."))


def words_of(row):
    words = set(re.findall(r"\w+", " ".join(row["tokens"]))) | set(re.findall(r"\w+", row["names"]))
    return {word for word in words if len(word) > 2 and word not in COMMON}


def faults_of_test(row, test, tree):
    path, _, word = test.partition(":")
    if not os.path.isfile(f"{tree}/{path}"):
        return [f"there is no {path}"]
    with open(f"{tree}/{path}") as f:
        text = f.read()
    wanted = [word] if word else words_of(row)
    return [] if any(one in text for one in wanted) else [f"{path} mentions none of {', '.join(sorted(wanted))}"]


def faults_of(row, program, tree):
    faults = [f"`{token}` does not exist" for token in row["tokens"] if not program.has(token)]
    if row["status"] not in STATUSES:
        faults.append(f"\"{row['status']}\" is none of {', '.join(STATUSES)}")
    exists = row["status"] in ("same", "other name", "different")
    if not row["names"] or not row["kind"]:
        faults.append("it has no name, or no kind")
    if exists and not row["tokens"]:
        faults.append("it does not say what it is here")
    if (exists or row["tokens"] and row["status"] == "not here") and not row["tests"]:
        faults.append("no test holds it")
    if row["status"] in ("different", "not here", "not yet") and not row["note"]:
        faults.append("it gives no reason")
    for test in row["tests"]:
        faults += faults_of_test(row, test, tree)
    return faults


def read_rows(path):
    with open(path) as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if line.startswith(("= ", "- ")):
                yield number, line[0], line[1:].strip()
            elif line and not line.startswith("#"):
                cells = [cell.strip() for cell in line.split(" | ")] if line.count("|") >= 5 else []
                cells = [cell.strip() for cell in line.split("|")] if len(cells) != 6 else cells
                if len(cells) != 6:
                    raise SystemExit(f"{path}:{number}: {len(cells)} cells in place of 6")
                row = dict(zip(("names", "kind", "status", "here", "tests", "note"), cells))
                row["tokens"] = re.findall(r"`([^`]+)`", row["here"])
                row["tests"] = [test.strip() for test in row["tests"].split(",") if test.strip()]
                yield number, "row", row


def line_of(row):
    tests = []
    for test in row["tests"]:
        path = test.partition(":")[0]
        tests.append(f"[{os.path.splitext(os.path.basename(path))[0]}](../{path})")
    status = {"same": "", "other name": ""}.get(row["status"], row["status"])
    about = ": ".join(part for part in (status, row["note"]) if part)
    cells = (f"{row['names']} ({row['kind']})", row["here"] or "none", about, ", ".join(tests) or "none")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main(executable, tree, openapi):
    program, text, faults, seen = Program(executable, tree, openapi), "", 0, 0
    in_table = False
    source = f"{tree}/scripts/cerebras_api.txt"
    for number, kind, row in read_rows(source):
        if kind == "=":
            text += f"\n### {row}\n\n"
            in_table = False
        elif kind == "-":
            text += f"{row}\n\n"
        else:
            seen += 1
            text += ("" if in_table else HEAD) + line_of(row)
            in_table = True
            for fault in faults_of(row, program, tree):
                faults += 1
                print(f"{source}:{number}: {row['names'][:60]}: {fault}", file=sys.stderr)
    with open(f"{tree}/docs/cerebras_api.md") as f:
        document = f.read()
    before, begin, rest = document.partition("<!-- rows -->\n")
    _, end, after = rest.partition("<!-- end rows -->\n")
    if not begin or not end or seen < 100:
        raise SystemExit(f"docs/cerebras_api.md has no place for rows, or there are only {seen}")
    sys.stdout.write(before + begin + text + "\n" + end + after)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
