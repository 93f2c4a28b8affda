"""What the pages name is there: files, links and their anchors, commands with their options, settings,
variables, symbols, targets of make, paths of the REST API, and in comments of sources files again.

Usage: pages.py CSENGINE TREE OPENAPI [PAGE...]    one line for each name that is not there; exit code 1 if any
"""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE_FOLDERS = ("engine dataloader store workers run client cli dashboard mpi include tests bench "
                  "examples scripts python configs deploy docs maps web completion m4").split()
SKIPPED_FOLDERS = {"node_modules", "__pycache__", "dist", "wheels", "model_dir", ".deps", ".libs"}
# Kinds of pages: to learn, to do something, to look something up, to understand.
GROUPS = ["Tutorials", "How to", "Reference", "Explanation"]
# Written from the headers, the stubs and the table of names, each held by a test of its own.
WRITTEN = {"docs/api_reference.md", "docs/python_reference.md"}
PATH = re.compile(r"(?<![\w./<$~{-])((?:[\w.-]+/)*[\w.-]*\w\.(?:c|h|sh|py|mjs|tsx|awk|md|sql|am|ac|pyi|ipynb))"
                  r"(?![\w/*])")
TOP_PATH = re.compile(r"(?<![\w./<$~{\"-])((?:%s)/[\w./-]*\w)(?![\w*{<$])" % "|".join(SOURCE_FOLDERS))
# A file of C that a comment names by its end, not one of the system's headers.
NEIGHBOUR = re.compile(r"(?<![\w./<$~{\"*%-])((?:[a-z][\w-]*/)*[a-z]\w*\.[ch])(?![\w/*])")
# Names of users, other systems and patterns, which the pages and comments give as such.
FOREIGN = set(
    "x_new x_destroy cse_x "  # the rules' patterns of names
    "fixed_size_list "  # Arrow
    "take_along_dim "  # PyTorch
    "mixup_alpha cutmix_alpha balance_in_groups balance_out_groups "  # the ModelZoo
    "jpeglib.h spawn.h llm.c x.c".split()
)


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


class Tree:
    """The files of the source tree, and what the program says that it has."""

    def __init__(self, csengine, top, openapi):
        self.csengine, self.top = csengine, pathlib.Path(top)
        self.files = sorted(self.walk())
        self.known = set(self.files)
        self.ends = set()
        for path in self.files:
            parts = path.split("/")
            self.ends.update("/".join(parts[i:]) for i in range(len(parts)))
            self.known.update("/".join(parts[:i]) for i in range(1, len(parts)))
        self.paths = json.loads(read(openapi))["paths"]

    def walk(self):
        for path in self.top.iterdir():
            if path.is_file():
                yield path.name
        for folder in SOURCE_FOLDERS + [".ci", "debian"]:
            for at, folders, names in os.walk(self.top / folder):
                folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
                for name in names:
                    yield os.path.relpath(os.path.join(at, name), self.top)

    def ask(self, *words):
        done = subprocess.run([self.csengine, *words], capture_output=True, text=True, check=False)
        return done.stdout

    @functools.lru_cache(maxsize=None)
    def listed(self, *words):
        return {row["name"] for row in json.loads(self.ask("list", *words, "--json") or "[]")}

    @functools.lru_cache(maxsize=None)
    def options(self, command):
        """The options of a command, with all of its subcommands, "_" for "-"; None: no such command."""
        text = self.ask(command, "--help")
        if not text:
            return None
        return {name.replace("-", "_") for name in re.findall(r"--([a-z][a-z0-9_-]*)", text)}

    @functools.lru_cache(maxsize=None)
    def text_of(self, *suffixes):
        """All sources with such an ending as one text, pages aside."""
        return "\n".join(read(self.top / path) for path in self.files
                         if path.endswith(suffixes) and not path.endswith(".md") and
                         path != "tests/docs/check_pages.sh")

    @functools.lru_cache(maxsize=None)
    def words(self):
        """All words of sources, whatever their language."""
        text = self.text_of(".c", ".h", ".sh", ".py", ".pyi", ".am", ".ac", ".txt", ".yaml", ".mjs",
                            ".m4", "bootstrap", ".ci/run", ".ci/packages", ".in", ".awk")
        return set(re.findall(r"\w+", text)) | FOREIGN


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Page:
    """A page: its text, its code in the text and in blocks, each with its line."""

    def __init__(self, tree, path):
        self.tree, self.path, self.faults = tree, path, []
        self.lines = read(tree.top / path).splitlines()
        self.spans, self.blocks, self.prose = [], [], []
        language, block, first = None, [], 0
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r"\s*```(\w*)", line)
            if fence and language is None:
                language, block, first = fence.group(1) or "plain", [], number + 1
            elif fence:
                self.blocks.append((first, language, "\n".join(block)))
                language = None
            elif language is not None:
                block.append(line)
            else:
                self.prose.append((number, line))
        for number, line in self.prose:
            self.spans += [(number, span) for span in re.findall(r"``?([^`]+)``?", line)]

    @property
    def anchors(self):
        return {slug(line.lstrip("#")) for _, line in self.prose if re.match(r"#{1,6} ", line)}

    def fail(self, number, text):
        self.faults.append(f"{self.path}:{number}: {text}")

    def commands(self):
        """(line, words) of each call of csengine, in blocks and in the text."""
        for first, language, block in self.blocks:
            if language in ("sh", "plain", "text", "console"):
                joined = re.sub(r"\\\n", lambda _: "\0", block)
                for number, line in enumerate(joined.split("\n"), first):
                    yield from ((number, words) for words in calls_of(line.replace("\0", " ")))
        for number, span in self.spans:
            if span.startswith("csengine "):
                yield number, span.split()[1:]


def calls_of(line):
    """The words of each csengine on a line of a shell."""
    line = re.sub(r"\s#( .*)?$", "", line)
    for part in re.split(r"\|\||&&|[|;&]", line):
        found = re.search(r"(?:^|[\s/(])csengine ((?:[a-z][a-z_-]*|--).*)", part)
        if found:
            yield found.group(1).split()


def check_links(page, pages):
    for number, line in page.prose:
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            folder = os.path.dirname(page.path)
            path = os.path.normpath(os.path.join(folder, name)) if name else page.path
            if path not in page.tree.known:
                page.fail(number, f"there is no {target}")
            elif anchor and path in pages and anchor not in pages[path].anchors:
                page.fail(number, f"{path} has no heading #{anchor}")


def check_commands(page):
    for number, words in page.commands():
        words = words[: words.index("--")] if "--" in words else words
        command, tree = words[0], page.tree
        if command.startswith("--") or command.isupper():
            continue
        options = tree.options(command)
        if options is None:
            if f"cli/commands/{command.replace('-', '_')}.c" not in tree.known:
                page.fail(number, f"there is no command {command}")
            continue
        for word in words[1:]:
            name = re.match(r"\[?--([a-z][\w-]*)", word)
            if name and name.group(1).replace("-", "_") not in options | {"help", "version"}:
                page.fail(number, f"csengine {command} has no option --{name.group(1)}")


def check_options(page):
    """Options that stand by themselves: of some command, of a script of the tree or of another tool."""
    tree = page.tree
    manual = re.sub(r"\\f[A-Z]", " ", tree.ask("--print-man")).replace("\\", "")
    ours = {name.replace("-", "_") for name in re.findall(r"--([a-z][\w-]*)", manual)}
    scripts = tree.text_of(".py", ".sh", "bootstrap", ".am", ".ac", ".ci/run", ".ci/packages",
                           "autogen.sh", ".sbatch", ".yaml", ".m4", ".mjs", "mpi.c", "ssh.c",
                           "slurm.c", "mpirun.c", "mpi_carrier.c")
    for number, span in page.spans:
        if span.startswith("--") or re.match(r"(bootstrap|\./|configure|make|bench/)", span):
            for name in re.findall(r"--([a-z][\w-]*)", span):
                if name.replace("-", "_") not in ours and f"--{name}" not in scripts and \
                        f'"{name}"' not in scripts:
                    page.fail(number, f"nothing has the option --{name}")


def check_settings(page):
    tree = page.tree
    settings = tree.listed("settings")
    tops = ("", "trainer.", "trainer.init.", "trainer.fit.", "trainer.init.backend.")
    sections = {name.split(".")[2] for name in settings if name.startswith("trainer.init.")
                and name.count(".") > 2} | {"fit", "init", "trainer", "validate", "validate_all"}
    sections -= {"model", "logging", "callbacks"}
    for number, span in page.spans:
        name = re.match(r"([a-z_]+(?:\.[a-z_0-9]+)+)(?:[:=].*)?$", span)
        if not name or name.group(1).split(".")[0] not in sections or \
                re.search(r"\.(json|c|h)$", span):
            continue
        path = name.group(1)
        if any(top + path in settings for top in tops) or is_plugins(settings, tops, path):
            continue
        page.fail(number, f"there is no setting {path}")


def is_plugins(settings, tops, path):
    """A section, or a setting of a plugin below one."""
    if any(name.startswith(top + path + ".") for top in tops for name in settings):
        return True
    while "." in path:
        path = path.rpartition(".")[0]
        if any(f"{top}{path}" in settings for top in tops):
            return True
        if re.search(r"(optimizer|model|dataloader|schedulers|loggers)$", path):
            return True
    return False


def check_names(page):
    """Variables of the environment, macros and functions, and the modules of Python."""
    for number, line in enumerate(page.lines, 1):
        for name in re.findall(r"\b(?:CSE|CSENGINE|cse)_\w*\w\b(?![*])", line):
            if name not in page.tree.words() and not name.endswith("_"):
                page.fail(number, f"there is no {name}")
    for number, span in page.spans:
        name = re.match(r"([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:: .*|=.*|\(.*)?$", span)
        if name and name.group(1) not in page.tree.words():
            page.fail(number, f"nothing is called {name.group(1)}")
        name = re.match(r"(?:csengine|cstorch)(?:\.\w+)*\.(\w+)", span)
        if name and name.group(1) not in page.tree.words():
            page.fail(number, f"Python has no {name.group(0)}")


def check_routes(page):
    known = {re.sub(r"\{\w+\}", "{}", path) for path in page.tree.paths}
    for number, line in enumerate(page.lines, 1):
        for path in re.findall(r"/api/v1/[\w/{}:.-]*\w\}?", line):
            parts = [("{}" if re.match(r"\{|[A-Z]+$", part) else part) for part in path.split("/")]
            if not any(fits(parts, other.split("/")) for other in known):
                page.fail(number, f"the API has no {path}")


def fits(parts, route):
    return len(parts) == len(route) and all(
        b == "{}" or a == b or b.startswith(a + ":") for a, b in zip(parts, route))


def check_targets(page):
    makefile = read(page.tree.top / "Makefile.am")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.M)) | {
        "check", "install", "uninstall", "clean", "dist", "distcheck", "all"}
    for number, line in page.prose + [(n, b) for f, _, t in page.blocks
                                      for n, b in enumerate(t.split("\n"), f)]:
        for target in re.findall(r"(?:^|[`&;(] ?|\s{4})make (?:-[Csj] ?\w* )*([a-z][\w-]*)\b(?!=)(?= *(?:$|[`#&;|]|[A-Z]+=))", line):
            if target not in targets:
                page.fail(number, f"make has no target {target}")


def check_files(page):
    tree = page.tree
    for number, span in page.spans:
        if re.search(r"[A-Z]{3,}/|[*{}<>$=]|^-|://|^~|^/|\.\.\.|openapi\.json|/NAME", span):
            continue
        for path in PATH.findall(span) + TOP_PATH.findall(span):
            path = re.sub(r"^(\.{1,2}/)+", "", path)
            made = any(path in block for _, _, block in page.blocks) or \
                any(f"<!-- file {path} -->" in line for line in page.lines)
            if not made and path not in FOREIGN and not is_there(tree, path):
                page.fail(number, f"there is no {path}")


def is_there(tree, path):
    """A file or folder, a file or test without its ending, or a file that the program makes."""
    if path in tree.known or any(path + end in tree.ends for end in ("", ".c", ".h", ".sh")):
        return True
    return f'"{path}"' in tree.text_of(".c") or f"/{path}\"" in tree.text_of(".c") or \
        any(("/" + known).endswith("/" + path) for known in tree.known if "." not in known)


def check_comments(tree):
    """Paths of the tree in comments of sources: "path:line: there is no ..."."""
    faults = []
    made = re.compile(r"generated/|registry\.c|_text\.c|kinds\.c|openapi|web_files|config\.h|sources\.am|/NAME")
    for path in tree.files:
        if not path.endswith((".c", ".h", ".sh", ".py", ".am", ".ac", ".mjs", ".ts", ".tsx")):
            continue
        if path.endswith(("_text.c", "registry.c")) or "/mutants/" in path:
            continue
        for number, line in enumerate(read(tree.top / path).splitlines(), 1):
            if not re.match(r"\s*(/?\*|//|#(?!include))|.*(/\*|//)", line):
                continue
            comment = re.sub(r'"[^"]*"', "", line)
            for name in TOP_PATH.findall(comment) + NEIGHBOUR.findall(comment):
                if not made.search(name) and name not in FOREIGN and not is_there(tree, name):
                    faults.append(f"{path}:{number}: there is no {name}")
    return faults


def check_index(pages):
    """Every page of docs/ stands once in its index, which the README leads to, in one of four groups."""
    index = pages["docs/README.md"]
    heads = [line[3:] for _, line in index.prose if line.startswith("## ")]
    if heads != GROUPS:
        index.fail(1, f"its groups are {heads}, not {GROUPS}")
    linked = [target for _, line in index.prose for target in re.findall(r"\]\((\w+\.md)\)", line)]
    for path in pages:
        name = path.removeprefix("docs/")
        if path.startswith("docs/") and name != "README.md" and linked.count(name) != 1:
            index.fail(1, f"{name} stands in it {linked.count(name)} times")
    if not any("](docs/README.md)" in line for line in pages["README.md"].lines):
        pages["README.md"].fail(1, "it does not lead to docs/README.md")


def main(csengine, top, openapi, *others):
    tree = Tree(csengine, top, openapi)
    names = [path for path in tree.files if path.endswith(".md") and path not in WRITTEN and
             path.split("/")[0] in ("docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "web")]
    names += others
    pages = {path: Page(tree, path) for path in names + sorted(WRITTEN)}
    check_index(pages)
    for path in names:
        page = pages[path]
        check_links(page, pages)
        for check in (check_commands, check_options, check_settings, check_names, check_routes,
                      check_targets, check_files):
            check(page)
    faults = [fault for path in names for fault in pages[path].faults] + check_comments(tree)
    print("\n".join(dict.fromkeys(faults)))
    print(f"{len(names)} pages, {len(faults)} names that are not there")
    return 1 if faults or len(names) < 25 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
