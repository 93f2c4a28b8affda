"""Signals to all processes of a run, a folder or files that go away under it, damaged checkpoints
and run stores.

Usage: odd_endings_test.py PROGRAM CONFIG FOLDER
"""
import concurrent.futures
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

PROGRAM, CONFIG, FOLDER = sys.argv[1:4]
PATIENCE = 120
failures = []
begun = []


def expect(right, *what):
    if not right:
        failures.append(what)
        print("FAIL:", *what, flush=True)


def environment(name):
    """Sockets and what else is temporary in a folder of the run's own."""
    place = f"{FOLDER}/t/{name}"
    os.makedirs(place, exist_ok=True)
    changed = dict(os.environ, TMPDIR=place, XDG_RUNTIME_DIR=place, CSE_DASHBOARD="0")
    return changed


def arguments(name, *more):
    compiled = "own_compiled" if name == "compiled_away" else "compiled"
    return [PROGRAM, "start", CONFIG, "--no_dashboard", "--model_dir", f"{FOLDER}/{name}",
            "--compile_dir", f"{FOLDER}/{compiled}", "--set", "fit.val_dataloader=null",
            "--set", "logging.log_steps=1000", *more]


def said(name):
    with open(f"{FOLDER}/{name}.out", errors="replace") as text:
        return text.read()


def wait_for(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def begin(name, *more):
    """A run without an end, in a session of its own, when it does steps."""
    with open(f"{FOLDER}/{name}.out", "wb") as output:
        run = subprocess.Popen(arguments(name, "--num_steps", "2000000000", *more), stdout=output,
                               stderr=subprocess.STDOUT, env=environment(name),
                               start_new_session=True)
    begun.append(run)
    expect(wait_for(lambda: "Step=" in said(name)), name, "does no steps:", said(name)[-500:])
    return run


def finish(name, *more):
    """A run of a few steps: its exit code."""
    with open(f"{FOLDER}/{name}.out", "ab") as output:
        return subprocess.run(arguments(name, *more), stdout=output, stderr=subprocess.STDOUT,
                              env=environment(name), timeout=PATIENCE, check=False).returncode


def processes(run):
    """The run's processes: the first one and all that come of it."""
    found = [run]
    for pid in found:
        try:
            with open(f"/proc/{pid}/task/{pid}/children") as children:
                found.extend(int(child) for child in children.read().split())
        except OSError:
            pass
    return found


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as facts:
            return facts.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def to_each(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end(run, number=signal.SIGINT):
    run.send_signal(number)
    try:
        return run.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        to_each(processes(run.pid), signal.SIGKILL)
        return "no end"


def checkpoints(name):
    return glob.glob(f"{FOLDER}/{name}/checkpoint_*.mdl")


def query(name, sql):
    store = sqlite3.connect(f"file:{FOLDER}/{name}/run.db?mode=ro", uri=True, timeout=10)
    try:
        return store.execute(sql).fetchall()
    finally:
        store.close()


# ---- signals to each process ----

# As the table of docs/operations.md: exit code (None: it goes on), whether there is a checkpoint.
SIGNALS = {
    "HUP": (130, True), "INT": (130, True), "TERM": (130, True), "PWR": (130, True),
    "USR1": (75, True), "USR2": (75, True), "QUIT": (131, False),
    "PIPE": (None, True), "ALRM": (None, True), "VTALRM": (None, True), "PROF": (None, True),
    "IO": (None, True), "WINCH": (None, True), "URG": (None, True), "TSTP": (None, True),
}


def take_signal(name):
    code, saved = SIGNALS[name]
    number = getattr(signal, "SIG" + name)
    folder = "signal_" + name
    run = begin(folder)
    pids = processes(run.pid)
    expect(len(pids) >= 5, folder, "has", len(pids), "processes")
    to_each(pids, number)
    if name == "TSTP":
        time.sleep(0.3)
        to_each(pids, signal.SIGCONT)
    if code is None:
        time.sleep(0.7)
        expect(run.poll() is None, folder, "ended", said(folder)[-500:])
        ended = end(run)
        code = 130
    else:
        try:
            ended = run.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            ended = end(run, signal.SIGKILL)
    expect(ended == code, folder, "exit code", ended, "not", code, said(folder)[-500:])
    expect(bool(checkpoints(folder)) == saved, folder, "checkpoints:", checkpoints(folder))
    expect(wait_for(lambda: not any(lives(pid) for pid in pids), 10), folder, "leaves processes")
    left = glob.glob(f"{FOLDER}/t/{folder}/csengine-run-*")
    expect(not left, folder, "leaves", left)


# ---- what goes away under a run ----

def steps_are_kept(name, run):
    expect(end(run) == 130, name, "exit code", run.returncode, said(name)[-1500:])
    expect(len(checkpoints(name)) >= 1, name, "has no checkpoint")
    expect(finish(name, "--num_steps", "1") == 0, name, "does not go on", said(name)[-800:])


def folder_is_removed():
    run = begin("removed")
    shutil.rmtree(f"{FOLDER}/removed", ignore_errors=True)
    expect(wait_for(lambda: "was removed while the run is under way: it is made anew" in
                    said("removed"), 10), "removed: says nothing", said("removed")[-800:])
    expect(wait_for(lambda: os.path.exists(f"{FOLDER}/removed/unfinished.json"), 10),
           "removed: unfinished.json is not made anew")
    expect(wait_for(lambda: os.path.exists(f"{FOLDER}/removed/run.db"), 10),
           "removed: run.db is not made anew")
    steps_are_kept("removed", run)
    first, last = query("removed", "select min(step), max(step) from points join series on id = "
                        "series where name = 'loss'")[0]
    expect(first == 1 and last > 1, "removed: the store has steps", first, "to", last)
    expect(query("removed", "select count(*) from events where type = 'damaged'") == [(1,)],
           "removed: no event")


def folder_is_renamed():
    run = begin("renamed")
    os.rename(f"{FOLDER}/renamed", f"{FOLDER}/elsewhere")
    expect(wait_for(lambda: f"renamed to {FOLDER}/elsewhere" in said("renamed"), 10),
           "renamed: says nothing", said("renamed")[-800:])
    steps_are_kept("renamed", run)


def folder_waits():
    """A file has the folder's name: it cannot be made until that is gone."""
    run = begin("waiting")
    os.rename(f"{FOLDER}/waiting", f"{FOLDER}/away")
    with open(f"{FOLDER}/waiting", "w"):
        pass
    run.send_signal(signal.SIGINT)
    expect(wait_for(lambda: "waits for its folder" in said("waiting")), "waiting: does not wait",
           said("waiting")[-800:])
    expect(run.poll() is None, "waiting: ended")
    os.unlink(f"{FOLDER}/waiting")
    try:
        expect(run.wait(PATIENCE) == 130, "waiting: exit code", run.returncode)
    except subprocess.TimeoutExpired:
        expect(False, "waiting: no end", said("waiting")[-800:], end(run, signal.SIGKILL))
    expect(checkpoints("waiting"), "waiting: no checkpoint")


def lock_is_removed():
    run = begin("locked")
    os.unlink(f"{FOLDER}/locked/run.lock")
    second = subprocess.run(arguments("locked", "--num_steps", "1"), capture_output=True,
                            text=True, env=environment("second"), timeout=PATIENCE, check=False)
    expect(second.returncode == 75 and "a run of this model_dir is under way" in second.stderr,
           "locked: a second start:", second.returncode, second.stderr)
    expect(wait_for(lambda: "run.lock was removed or replaced" in said("locked"), 10),
           "locked: says nothing")
    steps_are_kept("locked", run)


def step_is_removed():
    run = begin("compiled_away")
    time.sleep(1.2)
    shutil.rmtree(f"{FOLDER}/own_compiled")
    expect(wait_for(lambda: "compiled step" in said("compiled_away"), 10), "step: says nothing",
           said("compiled_away")[-800:])
    replicas = [pid for pid in processes(run.pid)
                if b"--role=replica" in open(f"/proc/{pid}/cmdline", "rb").read()]
    os.kill(replicas[0], signal.SIGKILL)
    expect(wait_for(lambda: "takes its place" in said("compiled_away"), 30), "step: no successor")
    time.sleep(0.5)
    steps_are_kept("compiled_away", run)


def checkpoint_is_removed():
    """The coordinator's successor has the states, and no need of the file."""
    run = begin("unsaved", "--set", "checkpoint.steps=5000")
    expect(wait_for(lambda: checkpoints("unsaved")), "unsaved: no checkpoint at all")
    wait_for(lambda: "Saved checkpoint" in said("unsaved"))
    coordinator = processes(run.pid)[1]
    os.kill(coordinator, signal.SIGSTOP)
    for path in checkpoints("unsaved"):
        os.unlink(path)
    os.kill(coordinator, signal.SIGKILL)
    expect(wait_for(lambda: "the run goes on after step" in said("unsaved"), 30),
           "unsaved: the run does not go on", said("unsaved")[-800:])
    steps_are_kept("unsaved", run)


# ---- damaged files ----

def damaged_checkpoints():
    name = "damaged"
    more = ("--num_steps", "6", "--set", "checkpoint.steps=3")
    expect(finish(name, *more) == 0, name, said(name)[-500:])
    with open(f"{FOLDER}/{name}/checkpoint_6.mdl", "r+b") as file:
        file.truncate(3000)
    expect(finish(name, *more) == 0, name, "the one before is not taken", said(name)[-500:])
    expect("loaded checkpoint" in said(name) and "checkpoint_3.mdl at step 3" in said(name), name,
           "another is taken", said(name)[-500:])
    for path in checkpoints(name):
        with open(path, "r+b") as file:
            file.truncate(3000)
    expect(finish(name, *more) == 73, name, "no refusal", said(name)[-500:])
    expect("begin_anew" in said(name) and "checkpoint_3.mdl" in said(name), name,
           "says neither which nor what to do", said(name)[-500:])
    expect(finish(name, *more, "--set", "checkpoint.begin_anew=true") == 0, name,
           "does not begin anew", said(name)[-500:])


def damaged_store():
    name = "store"
    expect(finish(name, "--num_steps", "6") == 0, name, said(name)[-500:])
    with open(f"{FOLDER}/{name}/run.db", "r+b") as file:
        file.write(b"\0" * 100)
    report = subprocess.run([PROGRAM, "report", f"{FOLDER}/{name}"], capture_output=True,
                            text=True, env=environment(name), timeout=PATIENCE, check=False)
    expect(report.returncode == 65 and "the next start of the run sets it aside" in report.stderr,
           "report:", report.returncode, report.stderr)
    expect(finish(name, "--num_steps", "2") == 0, name, "does not go on", said(name)[-500:])
    expect("set aside as run.db.damaged-1" in said(name), name, "says nothing", said(name)[-500:])
    expect(query(name, "select count(*), min(step), max(step) from points join series on id = "
                 "series where name = 'loss'") == [(8, 1, 8)], name, "lost steps")


CASES = [folder_is_removed, folder_is_renamed, folder_waits, lock_is_removed, step_is_removed,
         checkpoint_is_removed, damaged_checkpoints, damaged_store]


def main():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(take_signal, name) for name in SIGNALS]
        tasks += [pool.submit(case) for case in CASES]
        for task in tasks:
            if task.exception() is not None:
                expect(False, "a case broke off:", repr(task.exception()))
    for run in begun:
        if run.poll() is None:
            end(run, signal.SIGQUIT)
    sys.exit(1 if failures else 0)


main()
