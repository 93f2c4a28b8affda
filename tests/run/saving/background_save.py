"""The cases of check_background_save.sh: background_save.py CSENGINE CONFIG FOLDER."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

csengine, config, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
EVERY, STEPS = 60, 240
failures = 0


def fail(text):
    global failures
    print("FAIL:", text, flush=True)
    failures += 1


class Run:
    """A run of 11 MB of states, with one checkpoint in EVERY steps."""

    def __init__(self, name, *arguments, every=EVERY, environment=None):
        self.name, self.folder = name, work / name
        self.out = open(work / f"{name}.out", "w+")
        self.err = open(work / f"{name}.err", "w+")
        self.process = subprocess.Popen(
            [csengine, "start", config, "--json", "--no_dashboard", "--model_dir", self.folder,
             "--compile_dir", work / "compiled", "--num_steps", str(STEPS), "--set",
             "model={name: fc_mnist, input_size: 16, hidden_sizes: [65536], num_classes: 4}",
             "--set", "fit.val_dataloader=null", "--set", f"checkpoint.steps={every}",
             "--set", "fit.train_dataloader.batch_size=16", "--set", "logging.log_steps=10",
             *arguments],
            stdout=self.out, stderr=self.err, env={**os.environ, **(environment or {})})

    def events(self):
        lines = (work / f"{self.name}.out").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def steps(self):
        return max([e["step"] for e in self.events() if e.get("event") == "step"], default=0)

    def digest(self):
        return [e.get("weights_digest") for e in self.events() if e.get("event") == "end"]

    def said(self):
        return (work / f"{self.name}.err").read_text()

    def file(self, step):
        return self.folder / f"checkpoint_{step}.mdl"

    def ends(self, digest, steps):
        code = self.process.wait(120)
        if code != 0:
            fail(f"{self.name}: exit code {code}: {self.said()}")
        if digest is not None and self.digest() != digest:
            fail(f"{self.name}: digest {self.digest()}, not {digest}")
        there = sorted(int(p.stem.split("_")[1]) for p in self.folder.glob("checkpoint_*.mdl"))
        if there != steps:
            fail(f"{self.name}: checkpoints {there}, not {steps}: {self.said()}")
        for step in there:
            if subprocess.run([csengine, "checkpoint", "verify", self.file(step)],
                              stdout=subprocess.DEVNULL).returncode != 0:
                fail(f"{self.name}: the checkpoint of step {step} is damaged")
        left = list(self.folder.glob("*.tmp"))
        if left:
            fail(f"{self.name}: left behind: {left}")
        rows = sqlite3.connect(self.folder / "run.db").execute(
            "select step from checkpoints order by step").fetchall()
        if [row[0] for row in rows] != steps:
            fail(f"{self.name}: the run store has the checkpoints {rows}")


def descendants(pid):
    found, front = [], [pid]
    while front:
        at = front.pop()
        try:
            for task in os.listdir(f"/proc/{at}/task"):
                with open(f"/proc/{at}/task/{task}/children") as children:
                    more = [int(c) for c in children.read().split()]
                found += more
                front += more
        except OSError:
            pass
    return found


def is_writer(pid):
    try:
        return open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")[1:2] == [b"writer"]
    except OSError:
        return False


def await_(what, condition, seconds=60):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found = condition()
        if found:
            return found
        time.sleep(0.002)
    fail(f"{what}: not within {seconds} s")
    return None


def writer_of(run, others=()):
    return await_(f"{run.name}: a writer", lambda: next(
        (p for p in descendants(run.process.pid) if is_writer(p) and p not in others), None))


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


ALL = list(range(EVERY, STEPS + 1, EVERY))
plain = Run("plain", every=STEPS)
plain.ends(None, [STEPS])
digest = plain.digest()

# Steps pass the checkpoint that is being written, up to the next one, which waits for it.
run = Run("slow", "--num_csx", "1")
first = writer_of(run)
send(first, signal.SIGSTOP)
await_("slow: the steps up to the next checkpoint", lambda: run.steps() >= 2 * EVERY)
if run.file(EVERY).exists() or any(e.get("event") == "checkpoint" for e in run.events()):
    fail("slow: a checkpoint is told of that is not written")
time.sleep(0.3)
if run.steps() != 2 * EVERY:
    fail(f"slow: step {run.steps()} is done before the checkpoint of step {EVERY} is written")
seen = subprocess.run([csengine, "pause", run.folder], capture_output=True, text=True)
if seen.returncode != 0:
    fail(f"slow: a command is not answered: {seen.stderr}")
subprocess.run([csengine, "resume", run.folder], capture_output=True)
send(first, signal.SIGCONT)
run.ends(digest, ALL)

# Killed at several instants: another one does it.
for number, pause in enumerate([0, 0.01]):
    run = Run(f"killed{number}")
    writer = writer_of(run)
    time.sleep(pause)
    send(writer, signal.SIGKILL)
    run.ends(digest, ALL)
    if number == 0 and "another one begins again" not in run.said():
        fail(f"{run.name}: says nothing of the death: {run.said()}")

# Killed again and again: the run does without that checkpoint and says so.
run = Run("hopeless")
killed = []
for _ in range(3):
    writer = writer_of(run, killed)
    if writer:
        send(writer, signal.SIGKILL)
        killed.append(writer)
run.ends(digest, ALL[1:])
if "goes on without it" not in run.said():
    fail(f"hopeless: says nothing: {run.said()}")

# One that stands still is killed and replaced.
run = Run("frozen", environment={"CSENGINE_WRITER_LIMIT_MS": "1500"})
send(writer_of(run), signal.SIGSTOP)
run.ends(digest, ALL)
if "comes to no end" not in run.said():
    fail(f"frozen: says nothing: {run.said()}")

# The coordinator's death ends the writer; its successor goes on without that checkpoint.
run = Run("orphan")
writer = writer_of(run)
if writer:
    send(writer, signal.SIGSTOP)
    parent = int(open(f"/proc/{writer}/stat").read().rpartition(")")[2].split()[1])
    send(parent, signal.SIGKILL)
    await_("orphan: the writer's end", lambda: not is_writer(writer))
run.ends(digest, ALL[1:])

sys.exit(failures != 0)
