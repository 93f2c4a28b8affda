"""Planted faults, one at a time, each of which the named tests must notice.

    mutants.py check LIST SOURCE              every row still fits the source
    mutants.py run LIST SOURCE WORK [NAME...] build and test each; WORK is a folder for a copy

A row of LIST is

    = NAME
    file PATH
    tests TEST...
    - text of the source, once in the file, over as many lines as it has
    + text that takes its place; none: it is left out

The copy is built once, then incrementally; CC, CFLAGS and JOBS of the environment hold for it. A
test that fails or hangs has noticed the fault; a copy that does not build is a fault of the row.
"""
import os
import shutil
import subprocess
import sys
import time

SECONDS = 600  # of the tests of one row; one that hangs has noticed the fault


class Row:
    def __init__(self, name):
        self.name, self.file, self.tests, self.search, self.replace = name, None, [], [], []

    def fault(self, source):
        """Why the row does not fit the source; None when it does."""
        path = os.path.join(source, self.file or "")
        if not self.file or not os.path.isfile(path):
            return f"there is no file {self.file}"
        if not self.tests or not self.search:
            return "tests or search text are missing"
        for test in self.tests:
            if not os.path.isfile(os.path.join(source, test if test.endswith(".sh") else test + ".c")):
                return f"there is no test {test}"
        with open(path, encoding="utf-8") as text:
            found = text.read().count("\n".join(self.search) + "\n")
        return None if found == 1 else f"its text occurs {found} times in {self.file}"

    def apply(self, folder):
        path = os.path.join(folder, self.file)
        with open(path, encoding="utf-8") as text:
            before = text.read()
        lines = "".join(line + "\n" for line in self.replace)
        with open(path, "w", encoding="utf-8") as text:
            text.write(before.replace("\n".join(self.search) + "\n", lines))
        return before

    def undo(self, folder, before):
        with open(os.path.join(folder, self.file), "w", encoding="utf-8") as text:
            text.write(before)


def read(path):
    rows = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if line.startswith("= "):
                rows.append(Row(line[2:]))
            elif line.startswith("file "):
                rows[-1].file = line[5:]
            elif line.startswith("tests "):
                rows[-1].tests = line[6:].split()
            elif line.startswith("- ") or line == "-":
                rows[-1].search.append(line[2:])
            elif line.startswith("+ ") or line == "+":
                rows[-1].replace.append(line[2:])
            elif line and not line.startswith("#"):
                sys.exit(f"{path}:{number}: not a line of a row: {line}")
    names = [row.name for row in rows]
    if len(set(names)) < len(names):
        sys.exit(f"{path}: a name stands there twice")
    return rows


def check(rows, source):
    bad = [(row, row.fault(source)) for row in rows if row.fault(source)]
    for row, why in bad:
        print(f"{row.name}: {why}")
    print(f"{len(rows)} planted faults, {len(bad)} that do not fit the source")
    return not bad


def call(command, folder, log, limit=None):
    """The exit code; -1 when it takes too long. Everything it started ends with it."""
    with open(log, "ab") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return -1
        finally:
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            process.wait()


def copy(source, work):
    """The sources without builds, configured beside them."""
    tree, build = os.path.join(work, "tree"), os.path.join(work, "build")
    os.makedirs(work, exist_ok=True)
    files = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in files.decode().split("\0"):
        if name and os.path.isfile(os.path.join(source, name)):
            to = os.path.join(tree, name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if not os.path.exists(to) or open(to, "rb").read() != open(os.path.join(source, name), "rb").read():
                shutil.copy2(os.path.join(source, name), to)
    log = os.path.join(work, "build.log")
    os.makedirs(build, exist_ok=True)
    if not os.path.exists(os.path.join(build, "config.status")):
        options = [f"{v}={os.environ[v]}" for v in ("CC", "CFLAGS") if os.environ.get(v)]
        if call(["./autogen.sh"], tree, log) or call(["../tree/configure", "--quiet"] + options, build, log):
            sys.exit(f"the copy cannot be configured: {log}")
    return tree, build, log


def make(build, log, *arguments, limit=None):
    return call(["make", "-s", "-j" + os.environ.get("JOBS", "2")] + list(arguments), build, log, limit)


def programs_of(tests):
    return [test for test in tests if not test.endswith(".sh")]


def check_code(tests, build, log, limit=None):
    return make(build, log, "check", "TESTS=" + " ".join(tests),
                "check_PROGRAMS=" + " ".join(programs_of(tests)), limit=limit)


def builds(tests, build, log):
    """The programs after the rest: make would start both at once, and each would make the library."""
    return make(build, log, "all") == 0 and (not programs_of(tests) or make(build, log, *programs_of(tests)) == 0)


def passes(tests, build, log):
    return builds(tests, build, log) and check_code(tests, build, log) == 0


def noticed(row, build, log):
    """How the fault was noticed; None when it survives."""
    if not builds(row.tests, build, log):
        return "does not build"
    code = check_code(row.tests, build, log, SECONDS)
    return "hangs" if code < 0 else "caught" if code else None


def run(rows, source, work):
    tree, build, log = copy(source, work)
    if make(build, log):
        sys.exit(f"the copy does not build: {log}")
    tests = sorted({test for row in rows for test in row.tests})
    if not passes(tests, build, log):
        sys.exit(f"a test fails without a planted fault: {log}")
    survived = []
    for row in rows:
        begin, before = time.monotonic(), row.apply(tree)
        try:
            how = noticed(row, build, os.path.join(work, row.name + ".log"))
        finally:
            row.undo(tree, before)
        if how in (None, "does not build"):
            survived.append(row.name)
        print(f"{how or 'SURVIVED':15}{row.name:45}{time.monotonic() - begin:6.0f} s", flush=True)
    print(f"{len(rows) - len(survived)} of {len(rows)} planted faults were noticed")
    return not survived


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("check", "run"):
        sys.exit(__doc__)
    rows, source = read(sys.argv[2]), os.path.abspath(sys.argv[3])
    if not check(rows, source):
        sys.exit(1)
    if sys.argv[1] == "check":
        return
    names = sys.argv[5:]
    unknown = set(names) - {row.name for row in rows}
    if unknown:
        sys.exit("there is no planted fault " + ", ".join(sorted(unknown)))
    chosen = [row for row in rows if not names or row.name in names]
    sys.exit(0 if run(chosen, source, os.path.abspath(sys.argv[4])) else 1)


main()
