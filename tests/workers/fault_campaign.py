"""A campaign of faults: short runs, in each of which one process is killed, or stopped and let go on,
or stopped for good, at a chosen moment. Each must end with the weights, the metrics and the rows of
an undisturbed run, at the step that was asked for, and leave no process and no file behind.

The table has three sides. Roles: the first process of a run (which is its supervisor), the coordinator, the first
process of a confined job's name spaces, a replica, a weight server, an input worker, the process that writes a
checkpoint, the compiler, all processes at once, and, where there is one, the server of jobs. Moments: from the start
to the time behind the last save, found by what the run prints, by its processes and by its files. Sources of the
settings:
flags, flags on top of a finished run, flags with epochs, flags from a checkpoint that is named, a
file, a job request (REST), one that goes on from another job, and Python. All of them ask for the
same 6000 steps, so that all runs of the campaign end with one digest, whatever asked for it.

A run whose first process was killed ends; the same command is then given again, or, for a job, by its
server.

Usage: fault_campaign.py CSENGINE [--faults N] [--seconds T] [--seed S] [--roles R,R] [--moments M,M]
           [--sources S,S] [--kinds F,F] [--jobs J] [--known K,K] [--parts N] [--slim]
Each cell of the table is struck once, or as --faults says, in an order and at moments that follow
from --seed; the kills come first. --parts takes the part of the table that CSE_TEST_PART chooses
(tests/support/part.py). --known names findings that are counted, but are not wrong: rows
(steps that stand twice in the store), whole (run.db alone is not the store), compiler (a killed
compiler ends the run, or leaves files). Always known is skipped: the checkpoint that was being
written when a coordinator died is not there, as docs/operations.md says."""
import argparse
import atexit
import collections
import concurrent.futures
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(f"{HERE}/../support")
import part  # noqa: E402

STEPS, BEFORE, EVERY, SAVED, EPOCH = 6000, 2000, 3000, 1500, 16
LIMIT_S = 120  # for a run; one takes a second or two
FAULTS = {"kill": (signal.SIGKILL, None), "pause": (signal.SIGSTOP, 0.3), "freeze": (signal.SIGSTOP, None)}
WORKERS = ("replica", "input_worker", "weight_server")
DURING = ("start", "first_step", "middle", "validation", "save", "last_step", "last_save", "last_validation")
ALWAYS = ("start", "compile", *DURING[1:], "after_last_save")
MOMENTS = {"first": ALWAYS, "space": ALWAYS, "coordinator": ALWAYS, "all": ALWAYS, **{role: DURING for role in WORKERS},
           "writer": ("save",), "compiler": ("compile",),
           "server": ("start", "middle", "last_validation", "after_last_save")}
# For all but the first process, which nobody watches, a stop for good is a death.
KINDS = {"first": ("kill", "pause"), "space": ("kill", "freeze", "pause"), "all": ("kill",), "coordinator": ("kill", "freeze", "pause"), "writer": ("kill",),
         "compiler": ("kill",), "server": ("kill",), **{role: ("kill", "freeze", "pause") for role in WORKERS}}
SOURCES = ("flags", "more", "epochs", "named", "file", "rest", "rest_from", "python")
COMPILERS = re.compile(r"/?(gcc|cc|cc1|as|ld|collect2|clang|lld)[-.\w]*$")
PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
import csengine
try:
    csengine.run(json.load(open(sys.argv[2])), model_dir=sys.argv[3], wait=True,
                 **json.loads(sys.argv[4]))
except csengine.CommandError as error:
    print(error)
    sys.exit(1)
"""


def configuration(compiled, **loop):
    data = {"data_processor": "synthetic", "features": [16], "classes": 4, "batch_size": 64, "micro_batch_size": 16}
    return {"trainer": {
        "init": {
            "backend": {"compile_dir": compiled,
                        "cluster_config": {"num_csx": 2, "num_workers_per_csx": 1, "max_wgt_servers": 2}},
            "model": {"name": "fc_mnist", "input_size": 16, "hidden_sizes": [32], "num_classes": 4},
            "optimizer": {"SGD": {"lr": 0.1, "momentum": 0.9}},
            "schedulers": [{"LinearLR": {"initial_learning_rate": 0.1, "end_learning_rate": 0.01,
                                         "total_iters": STEPS}}],
            "loop": {"eval_frequency": EVERY, **loop},
            "checkpoint": {"steps": SAVED},
            "logging": {"log_steps": 50},
        },
        "fit": {"train_dataloader": {**data, "samples": 64 * EPOCH, "shuffle": True},
                "val_dataloader": {**data, "samples": 160000}},
    }}


# ---- processes ----

def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                found += [int(word) for word in f.read().split()]
    except OSError:
        pass
    return found


def line_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def space_of(pid):
    """The name space of its numbers of processes."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def victims(run, role):
    """The processes of the role in a run. A confined job has another process between the first and its coordinator:
    the first one of its name spaces."""
    first = run.first()
    if role == "server":
        return [run.place.server.process.pid]
    if first is None:
        return []
    if role == "first":
        return [first]
    if role == "all":
        return [first, *descendants(first)]
    within = [p for p in children(first) if " start " in line_of(p)]
    spaces = [p for p in within if space_of(p) != space_of(first)]
    coordinators = [c for p in spaces for c in children(p) if " start " in line_of(c)] if spaces else within
    if role == "space":
        return spaces
    if role == "coordinator":
        return coordinators
    below = [p for c in coordinators for p in descendants(c)]
    if role == "compiler":
        return [p for p in below if COMPILERS.search(line_of(p).split(" ")[0])]
    if role == "writer":
        return [p for p in below if line_of(p).split(" ")[1:2] == ["writer"]]
    return [p for p in below if f"--role={role}" in line_of(p)]


# ---- the server of jobs ----

class Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class Server:
    """A server of jobs, one for each thread of the campaign."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.root, self.tmp = f"{folder}/root", f"{folder}/tmp"
        os.makedirs(self.tmp)
        os.makedirs(self.root)
        atexit.register(self.stop)
        self.start()
        self.request("PUT", "/jobs/origin", {"config": json.dumps(configuration(options.compiled, num_steps=BEFORE)),
                                             "overrides": {"seed": 3}})
        until = time.monotonic() + LIMIT_S
        while self.job("origin").get("state") != "SUCCEEDED" or self.job("origin").get("ended_ms") is None:
            if time.monotonic() > until:
                sys.exit(f"the origin of other jobs does not end: {self.job('origin')}")
            time.sleep(0.05)
        self.usual = set(os.listdir(self.tmp))

    def start(self):
        with open(f"{self.folder}/served", "ab") as out:
            self.process = subprocess.Popen(
                [self.options.csengine, "serve", "--root", self.root, "--cores", "16", "--listen", f"unix:{self.folder}/s",
                 "--output_root", self.options.compilations], stdout=out, stderr=out,
                env=dict(os.environ, TMPDIR=self.tmp, CSENGINE_EXECUTABLE=self.options.csengine))
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                self.request("GET", "/jobs")
                return
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.01)
        sys.exit("the server does not listen: " + open(f"{self.folder}/served").read()[-2000:])

    def request(self, method, path, body=None):
        connection = Socket(f"{self.root}/server.sock")
        try:
            connection.request(method, "/api/v1" + path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"} if body is not None else {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        value = json.loads(text or b"null")
        if answer.status >= 400:
            raise ValueError(f"{method} {path}: {answer.status} {value}")
        return value

    def job(self, id):
        try:
            return self.request("GET", f"/jobs/{id}")
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


# ---- runs ----

class Run:
    """A run from one of the sources in a folder of its own."""

    def __init__(self, place, name, source, fresh_compile=False):
        self.place, self.options, self.source, self.name = place, place.options, source, name
        self.folder = f"{place.folder}/{name}"
        self.tmp = f"{self.folder}/tmp"
        os.makedirs(self.tmp)
        self.model_dir = f"{self.folder}/run"
        self.compiled = f"{self.options.compilations}/{name}" if fresh_compile else self.options.compiled
        self.starts, self.process, self.text, self.read = 0, None, "", 0
        self.uses_server = source.startswith("rest")
        if self.uses_server:
            self.tmp, self.model_dir = place.server.tmp, f"{place.server.root}/jobs/{name}"
        if source == "more":
            shutil.copytree(self.options.seed_run, self.model_dir)

    def command(self):
        config = f"{self.folder}/config.json"
        if self.source == "python":
            written, values = configuration(self.compiled), {
                "num_steps": STEPS, "seed": 3, "loop.eval_frequency": EVERY, "num_csx": 2}
        elif self.source == "file":
            written = configuration(self.compiled, num_steps=STEPS)
            written["trainer"]["init"]["seed"] = 3
        else:
            written = configuration(self.compiled, num_steps=11)
        with open(config, "w") as f:
            json.dump(written, f)
        if self.source == "python":
            return [sys.executable, "-c", PYTHON, f"{HERE}/../../python", config, self.model_dir, json.dumps(values)]
        flags = {"flags": ["--num_steps", str(STEPS)], "more": ["--num_steps", str(STEPS - BEFORE)],
                 "epochs": ["--num_epochs", str(STEPS // EPOCH)],
                 "named": ["--num_epochs", str((STEPS - BEFORE) // EPOCH), "--checkpoint_path",
                           f"{self.options.seed_run}/checkpoint_{BEFORE}.mdl"]}.get(self.source, [])
        seed = [] if self.source == "file" else ["--seed", "3"]
        return [self.options.csengine, "start", config, "--json", "--no_dashboard", "--model_dir",
                self.model_dir, *flags, *seed]

    def launch(self):
        self.starts += 1
        self.read = 0
        if self.uses_server:
            spec = {"config": json.dumps(configuration(self.compiled, num_steps=11))}
            spec["overrides"] = {"loop.num_steps": STEPS, "seed": 3}
            if self.source == "rest_from":
                spec["overrides"] = {"loop.num_steps": None, "loop.num_epochs": (STEPS - BEFORE) // EPOCH, "seed": 3}
                spec["resume_from"] = {"job": "origin", "step": BEFORE}
            made = self.place.server.request("PUT", f"/jobs/{self.name}", spec)
            self.model_dir = made["model_dir"]
            return
        with open(f"{self.folder}/out", "ab") as out:
            self.process = subprocess.Popen(
                self.command(), stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                env=dict(os.environ, CSE_DASHBOARD="0", CSENGINE_EXECUTABLE=self.options.csengine, TMPDIR=self.tmp))

    def first(self):
        if self.uses_server:
            return self.place.server.job(self.name).get("pid") or None
        if self.source == "python":
            return next(iter(children(self.process.pid)), None)
        return self.process.pid

    def output(self):
        """What the run's program printed so far."""
        path = f"{self.model_dir}/start.log" if self.uses_server else f"{self.model_dir}/logs/output.log" \
            if self.source == "python" else f"{self.folder}/out"
        try:
            with open(path, errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def is_over(self):
        if not self.uses_server:
            return self.process.poll() is not None
        job = self.place.server.job(self.name)
        return job.get("state") in ("SUCCEEDED", "FAILED", "CANCELLED") and job.get("ended_ms") is not None

    def wait(self):
        """The exit code; None when it hangs."""
        until = time.monotonic() + LIMIT_S
        if not self.uses_server:
            try:
                return self.process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                return None
        while time.monotonic() < until:
            job = self.place.server.job(self.name)
            if job.get("state") == "SUCCEEDED" and job.get("ended_ms") is not None:
                return 0
            if job.get("state") in ("FAILED", "CANCELLED") and not job.get("alive", False):
                time.sleep(2)  # another process may be about to begin
                if self.place.server.job(self.name).get("state") == job["state"]:
                    return 1
            time.sleep(0.02)
        return None

    # ---- what it left ----

    def rows(self, question, more="mode=ro"):
        """The answer of the run store; none where there is no store."""
        try:
            database = sqlite3.connect(f"file:{self.model_dir}/run.db?{more}", uri=True, timeout=10)
            try:
                return database.execute(question).fetchall()
            finally:
                database.close()
        except sqlite3.Error:
            return []

    POINTS = ("select s.name, p.step, p.value from points p join series s on s.id = p.series where s.name in "
              "('loss', 'lr/0', 'val_loss', 'val_accuracy') order by p.attempt")

    def points(self):
        """({(name, step): value} with the newest attempt's value, how many rows are there twice)."""
        rows = self.rows(self.POINTS)
        steps = [row for row in rows if row[0] in ("loss", "val_loss", "val_accuracy")]
        return {row[:2]: row[2] for row in rows if row[0] != "lr/0" or row[1] == STEPS}, \
            len(steps) - len({row[:2] for row in steps})

    def digests(self):
        """{step: digest} of the checkpoints that are there."""
        found = self.rows("select step, digest from checkpoints where deleted = 0 order by attempt")
        return {step: digest for step, digest in found if os.path.exists(f"{self.model_dir}/checkpoint_{step}.mdl")}

    def digest(self):
        file = f"{self.model_dir}/checkpoint_{STEPS}.mdl"
        done = subprocess.run([self.options.csengine, "checkpoint", "digest", file], capture_output=True, text=True)
        return done.stdout.strip() or done.stderr.strip()

    def processes(self):
        found = []
        for name in os.listdir("/proc"):
            line = line_of(name) if name.isdigit() and int(name) != os.getpid() else ""
            if (self.folder + "/" in line or self.model_dir in line) and \
                    (self.place.server is None or int(name) != self.place.server.process.pid):
                found.append(int(name))
        return found

    def left(self):
        """Processes and files that stay behind."""
        deadline = time.monotonic() + 10
        usual = self.place.server.usual if self.uses_server else set()
        while True:
            alive = [line_of(pid) for pid in self.processes()]
            files = [f"tmp/{n}" for n in os.listdir(self.tmp) if n not in usual]
            files += [n for n in os.listdir(self.model_dir) if n.endswith(".tmp") or n == "unfinished.json"] \
                if os.path.isdir(self.model_dir) else []
            if not (alive or files) or time.monotonic() > deadline:
                return alive, files
            time.sleep(0.05)

    def kill_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def remove(self):
        if self.uses_server:
            shutil.rmtree(self.model_dir, ignore_errors=True)
        if self.compiled != self.options.compiled:
            shutil.rmtree(self.compiled, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- moments ----

STEP = re.compile(r'"event":"step","step":(\d+)|Train Device=\w+, Step=(\d+)')
EVAL = re.compile(r'"event":"eval_step"|Eval Device=')


def last_step(text):
    found = 0
    for match in STEP.finditer(text, max(0, len(text) - 4000)):
        found = int(match.group(1) or match.group(2))
    return found


def has_checkpoint(run, step, part=False):
    name = f"{run.model_dir}/checkpoint_{step}.mdl"
    return os.path.exists(name) or (part and os.path.exists(name + ".tmp"))


def has_come(run, moment, role):
    """Whether the moment is there."""
    if moment == "start":
        return True
    if moment == "compile":
        return bool(victims(run, "compiler"))
    if moment == "save":
        return bool(victims(run, "writer")) or any(has_checkpoint(run, s, True) for s in (4500, EVERY + SAVED))
    if moment in ("last_save", "after_last_save"):
        return has_checkpoint(run, STEPS, moment == "last_save")
    text = run.output()
    if moment == "first_step":
        return last_step(text) > 0
    if moment == "middle":
        return last_step(text) > run.aim
    if moment == "last_step":
        return last_step(text) >= STEPS - 200
    if moment == "validation":
        return EVAL.search(text) is not None
    place = text.rfind(f"checkpoint_{STEPS}.mdl")
    return place > 0 and EVAL.search(text, place) is not None


def kill_together(pids):
    """As the end of a machine: none of them sees that another one has died."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
    return True


def strike(run, fault, role, moment):
    """Whether somebody was struck."""
    number, pause = FAULTS[fault]
    run.aim = random.randrange(BEFORE + 100, STEPS - 500)
    delay = random.choice((0, 0, random.uniform(0, 0.02), random.uniform(0, 0.2)))
    if moment == "after_last_save":
        delay = random.uniform(0, 0.5)
    elif moment in ("last_validation", "save"):
        delay = min(delay, 0.02)
    until = time.monotonic() + 60
    while not run.is_over() and time.monotonic() < until:
        if not has_come(run, moment, role):
            time.sleep(0.001)
            continue
        time.sleep(delay)
        found = victims(run, role)
        if role == "all" and found:
            return kill_together(found)
        for victim in random.sample(found, len(found)):
            try:
                os.kill(victim, number)
                if pause is not None:
                    time.sleep(pause)
                    os.kill(victim, signal.SIGCONT)
            except ProcessLookupError:
                continue
            return True
        time.sleep(0.001)
    return False


# ---- judgement ----

def differences(run, role, expected):
    """What is not as in an undisturbed run; and findings that may be known."""
    wrong, known = [], []
    points, twice = run.points()
    if run.digest() != expected["digest"]:
        wrong.append(f"digest {run.digest()}")
    if points != expected["points"]:
        other = {key for key in points.keys() | expected["points"].keys()
                 if points.get(key) != expected["points"].get(key)}
        wrong.append(f"other rows: {len(other)}, as {sorted(other)[:3]}")
    found = run.digests()
    for step, digest in expected["digests"].items():
        # One that was being written ends with its coordinator; those at the ends of segments are waited for.
        is_there = os.path.exists(f"{run.model_dir}/checkpoint_{step}.mdl")
        if not is_there and step not in expected["awaited"] and role in ("first", "space", "coordinator", "all"):
            known.append(("skipped", f"no checkpoint of step {step}"))
        elif found.get(step) != digest:
            wrong.append(f"checkpoint of step {step}: {found.get(step)}, not {digest}")
    state = run.rows("select value from run where key in ('state', 'last_step') order by key")
    if [str(value) for value, in state] != [str(STEPS), "SUCCEEDED"]:
        wrong.append(f"the store says {state}")
    if twice:
        known.append(("rows", f"{twice} rows are there twice"))
    alone = run.rows("select count(*) from points", "immutable=1")
    if alone != run.rows("select count(*) from points"):
        known.append(("whole", f"run.db alone has {alone} points"))
    return wrong, known


def judge(run, code, role, expected):
    """(what is wrong, names of known findings)."""
    options, known = run.options, []
    if code is None:
        return ["hangs"], []
    if code != 0 and role == "compiler" and "compiler" in options.known:
        return [], ["compiler"]
    if code != 0:
        return [f"exit code {code}"], []
    wrong, found = differences(run, role, expected)
    alive, files = run.left()
    if alive:
        wrong.append(f"processes are left: {alive}")
    if files:
        # A compiler's own files, which it removes where it is not killed.
        compiling = all(name.startswith("tmp/cc") for name in files)
        (found.append(("compiler", str(files))) if compiling else wrong.append(f"files are left: {files}"))
    for name, words in found:
        if name in ("skipped", *options.known):
            known.append(name)
        else:
            wrong.append(words)
    return wrong, known


def repeat(run, code, role):
    """Gives the command again, as who gave it would; (exit code, words about the way there)."""
    while code not in (0, None) and role in ("first", "all", "compiler") and run.starts < 4 and not run.uses_server:
        until = time.monotonic() + 10
        while (alive := run.processes()) and time.monotonic() < until:
            time.sleep(0.02)
        if alive:
            return code, [f"left behind by the first start: {[line_of(pid) for pid in alive]}"]
        run.launch()
        code = run.wait()
    return code, []


class Place:
    """A thread's folder, and its server."""

    def __init__(self, options, folder):
        self.options, self.folder, self.server = options, folder, None
        os.makedirs(folder)
        if any(source.startswith("rest") for source in options.sources):
            self.server = Server(options, folder)


def one_fault(place, cell, seed, expected):
    """A row of the table: (role, moment, source, fault, outcome, words, known findings)."""
    role, moment, source, fault = cell
    random.seed(seed)
    run = Run(place, f"n{seed}", source, moment == "compile")
    wrong, known = [], []
    run.launch()
    struck = strike(run, fault, role, moment)
    if role == "server" and struck:
        place.server.process.wait()
        place.server.start()
    code = run.wait()
    if role == "compiler" and code not in (0, None):
        known = ["compiler"] if "compiler" in place.options.known else []
        wrong = [] if known else [f"a killed compiler ends the run: {code}"]
    code, words = repeat(run, code, role)
    more, also = judge(run, code, role, expected[source])
    wrong += words + more
    if wrong:
        words = run.output()[-1500:]
        run.kill_all()
    outcome = "wrong" if wrong else "not struck" if not struck else "started again" if run.starts > 1 else "right"
    run.remove()
    return role, moment, source, fault, outcome, "; ".join(wrong) + ("\n" + words if wrong else ""), known + also


# ---- the campaign ----

def cells(options):
    """The table, one cell after the other: kills first, then the other faults, then again."""
    def of(kinds):
        return [(role, moment, source, fault) for source in options.sources for role in options.roles
                for moment in MOMENTS[role] if moment in options.moments
                for fault in KINDS[role] if fault in kinds and fault in options.kinds
                if (role not in ("server", "space") or source.startswith("rest"))]
    kills, others = of(("kill",)), of(("freeze", "pause"))
    order = random.Random(options.seed)
    order.shuffle(kills)
    order.shuffle(others)
    count = options.faults or len(kills + others)
    return list(itertools.islice(itertools.cycle(kills + others), count))


SLIM = (("coordinator", "last_validation", "flags", "kill"), ("first", "last_validation", "flags", "kill"),
        ("coordinator", "validation", "named", "kill"))


def expectations(options, place):
    """{source: what an undisturbed run leaves}; all digests are one."""
    expected = {}
    for source in options.sources:
        run = Run(place, f"plain_{source}", source)
        run.launch()
        if (code := run.wait()) != 0:
            sys.exit(f"the undisturbed run of {source}: exit code {code}\n{run.output()[-3000:]}")
        points = run.points()[0]
        expected[source] = {"digest": run.digest(), "points": points, "digests": run.digests(),
                            "awaited": {step for name, step in points if name == "val_loss"}}
        run.remove()
    one = {e["digest"] for e in expected.values()}
    if len(one) != 1:
        sys.exit(f"the sources do not agree: {expected}")
    print(f"digest {one.pop()} from {', '.join(options.sources)}", flush=True)
    return expected


def seed_run(options, place):
    """A finished run of the first steps, for sources that go on from it; and what is compiled."""
    run = Run(place, "seed", "file")
    config = configuration(options.compiled, num_steps=BEFORE)
    config["trainer"]["init"]["seed"] = 3
    with open(f"{run.folder}/config.json", "w") as f:
        json.dump(config, f)
    subprocess.run([options.csengine, "start", f"{run.folder}/config.json", "--model_dir", run.model_dir, "--quiet",
                    "--no_dashboard"], check=True, env=dict(os.environ, CSENGINE_EXECUTABLE=options.csengine))
    return run.model_dir


def print_tables(results, seconds):
    for side, name in ((0, "role"), (1, "moment"), (2, "source"), (3, "fault")):
        table = collections.Counter((row[side], row[4]) for row in results)
        outcomes = sorted({row[4] for row in results})
        print(f"\n{name:18}" + "".join(f"{outcome:>15}" for outcome in outcomes))
        for value in dict.fromkeys(sorted(row[side] for row in results)):
            print(f"{value:18}" + "".join(f"{table[value, outcome]:15}" for outcome in outcomes))
    known = collections.Counter(name for row in results for name in row[6])
    print("\nknown findings: " + (", ".join(f"{name} {count}" for name, count in known.items()) or "none"))
    wrong = sum(row[4] == "wrong" for row in results)
    struck = sum(row[4] != "not struck" for row in results)
    print(f"{len(results)} faults, {struck} of which struck, {wrong} wrong, in {seconds:.0f} s")


def words_of(text):
    return [word for word in text.split(",") if word]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("csengine")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="begins no fault after so many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--roles", type=words_of, default=list(MOMENTS))
    parser.add_argument("--moments", type=words_of, default=list(ALWAYS))
    parser.add_argument("--sources", type=words_of, default=list(SOURCES))
    parser.add_argument("--kinds", type=words_of, default=list(FAULTS))
    parser.add_argument("--known", type=words_of, default=[])
    parser.add_argument("--parts", type=int, default=1, help="of which CSE_TEST_PART chooses one")
    parser.add_argument("--slim", action="store_true", help="a few cells alone")
    options = parser.parse_args()
    options.csengine = os.path.abspath(options.csengine)
    if options.slim:
        options.sources = list(dict.fromkeys(cell[2] for cell in SLIM))
    return options


def main():
    options = parse()
    work = tempfile.mkdtemp(prefix="csengine-faults-")
    options.compilations = f"{work}/compiled"
    options.compiled = f"{options.compilations}/shared"
    os.makedirs(options.compiled)
    begun, results, places = time.monotonic(), [], []
    sources, options.sources = options.sources, []
    main_place = Place(options, f"{work}/main")
    options.seed_run = seed_run(options, main_place)
    options.sources = sources
    local, lock = threading.local(), threading.Lock()

    def place_of_thread():
        if not hasattr(local, "place"):
            with lock:
                places.append(Place(options, f"{work}/t{len(places)}"))
                local.place = places[-1]
        return local.place

    def do(cell, seed):
        if options.seconds and time.monotonic() - begun > options.seconds:
            return
        row = one_fault(place_of_thread(), cell, seed, expected)
        with lock:
            results.append(row)
            if row[4] == "wrong":
                print(f"seed {seed}: {' '.join(cell)}: {row[5]}", flush=True)
            if len(results) % 50 == 0:
                print(f"{len(results)} faults in {time.monotonic() - begun:.0f} s", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        expected = pool.submit(lambda: expectations(options, place_of_thread())).result()
        table = SLIM if options.slim else cells(options)
        table = list(enumerate(table))
        if options.parts > 1:
            table = part.of(table, options.parts, "the campaign")
        struck = [pool.submit(do, cell, options.seed + i) for i, cell in table]
        for future in struck:
            future.result()
    for place in places:
        if place.server is not None:
            place.server.stop()
    shutil.rmtree(work, ignore_errors=True)
    print_tables(results, time.monotonic() - begun)
    sys.exit(any(row[4] == "wrong" for row in results))


main()
