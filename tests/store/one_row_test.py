"""Runs that are killed, beside one that is not. The store is read by Python's sqlite3, CSV and JSON
by its modules, event files by the published format and TensorBoard's rule for a START.

Usage: one_row_test.py PROGRAM CONFIG FOLDER
"""
import collections
import csv
import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

PROGRAM, CONFIG, FOLDER = sys.argv[1:4]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "reference"))
STEPS, KILL_AFTER = 30000, 5000
LOGGERS = "loggers=[{TensorBoardLogger: {}}, CSVLogger, JSONLLogger]"
failures = 0


def expect(right, *what):
    global failures
    if not right:
        failures += 1
        print("FAIL:", *what)


def start(name, *arguments):
    environment = dict(os.environ, CSE_DASHBOARD="0")
    with open(f"{FOLDER}/{name}.out", "ab") as output:
        return subprocess.Popen(
            [PROGRAM, "start", CONFIG, "--model_dir", f"{FOLDER}/{name}", "--compile_dir",
             f"{FOLDER}/compiled", "--set", f"loop.num_steps={STEPS}", "--set",
             "checkpoint.steps=4000", "--set", "loop.eval_frequency=10000", "--set",
             "loop.eval_steps=2", "--set", "logging.log_steps=100", "--set", "numerics.every=1000", "--set", LOGGERS, *arguments],
            stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True)


def query(path, sql):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def stored(name):
    """The last step of the loss in the store, and the attempts."""
    try:
        step, attempts = query(f"{FOLDER}/{name}/run.db",
                               "select max(step), max(attempt) from points join series on id = "
                               "series where name = 'loss'")[0]
        return step or 0, attempts or 0
    except sqlite3.OperationalError:
        return 0, 0


def children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def family(process):
    return [process] + [one for child in children(process) for one in family(child)]


def kill(processes):
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


# ---- what is left ----

def values_of(path):
    return set(query(path, "select name, step, value from points join series on id = series "
                           "where name <> 'samples_per_second'"))


def events_of(folder):
    """What TensorBoard shows: a START leaves out what came before of the steps from its own on."""
    import read_event_file
    shown = []
    for path in sorted(glob.glob(f"{folder}/events/*")):
        for kind, step, *rest in read_event_file.events(path, killed=True):
            if kind == "start":
                shown = [one for one in shown if one[1] < step]
            else:
                shown.append((rest[0], step))
    return shown


def once(rows, *what):
    twice = [row for row, count in collections.Counter(rows).items() if count > 1]
    expect(not twice, "twice:", *what, twice[:5])


def check(name):
    path = f"{FOLDER}/{name}/run.db"
    rows = query(path, "select name, step from points join series on id = series")
    once(rows, name, "points")
    expect(sum(row[0] == "loss" for row in rows) == STEPS, name, "losses",
           sum(row[0] == "loss" for row in rows))
    once(query(path, "select name, step from numerics join tensors on id = tensor"), name,
         "numerics")
    for table in ("kernels", "timeline where kind <> 'save'"):
        once(query(path, f"select step from (select distinct attempt, step from {table})"), name,
             table)
    once(query(path, "select name, step from closures where json_extract(payload, '$.training')"),
         name, "closures")
    once(query(path, "select step from checkpoints"), name, "checkpoints")
    finite = query(path, "select sum(count) from buckets join series on id = series where level = "
                         "1 and name = 'loss'")[0][0]
    expect(finite == STEPS, name, "points in buckets:", finite)
    with open(f"{FOLDER}/{name}/metrics.csv", newline="", encoding="utf-8") as file:
        rows = [(row["name"], int(row["step"]), row["value"]) for row in csv.DictReader(file)]
    once([row[:2] for row in rows], name, "metrics.csv")
    with open(f"{FOLDER}/{name}/metrics.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    expect([(line["name"], line["step"]) for line in lines] == [row[:2] for row in rows], name,
           "the two log files differ")
    shown = events_of(f"{FOLDER}/{name}")
    once(shown, name, "events of TensorBoard")
    if name != "plain":
        expect(values_of(path) == values_of(f"{FOLDER}/plain/run.db"), name, "other points:",
               sorted(values_of(path) ^ values_of(f"{FOLDER}/plain/run.db"))[:5])
        with open(f"{FOLDER}/plain/metrics.csv", newline="", encoding="utf-8") as file:
            plain = [(row["name"], int(row["step"]), row["value"]) for row in csv.DictReader(file)]
        expect(sorted(row for row in rows if row[0] != "samples_per_second") ==
               sorted(row for row in plain if row[0] != "samples_per_second"), name, "other lines")
        expect(sorted(shown) == sorted(row[:2] for row in plain), name, "other events")


def check_one_file(name):
    """run.db alone, where nothing can be written beside it."""
    copy = f"{FOLDER}/copy"
    os.mkdir(copy)
    shutil.copy(f"{FOLDER}/{name}/run.db", copy)
    count = query(f"{copy}/run.db?immutable=1",
                  "select count(*) from points join series on id = series where name = 'loss'")
    expect(count[0][0] > 0, name, "run.db alone holds", count)
    shutil.rmtree(copy)
    return count[0][0]


def log_bytes(name):
    """A reader may have left an empty file."""
    path = f"{FOLDER}/{name}/run.db-wal"
    return os.path.getsize(path) if os.path.exists(path) else 0


# ---- the cases ----

def wait(process, name, right=0):
    code = process.wait(120)
    with open(f"{FOLDER}/{name}.out", encoding="utf-8") as file:
        expect(code == right, name, "exit code", code, file.read()[-2000:] if code != right else "")


def undisturbed():
    """With a reader that has the store open from its beginning to behind its end."""
    process, reader = start("plain"), None
    while process.poll() is None and reader is None:
        if stored("plain")[0] > 0:
            reader = sqlite3.connect(f"file:{FOLDER}/plain/run.db?mode=ro", uri=True)
            reader.execute("select count(*) from points").fetchall()
        time.sleep(0.005)
    wait(process, "plain")
    expect(check_one_file("plain") == STEPS, "plain: run.db alone lacks steps")
    if reader is not None:
        reader.close()
    check("plain")


def coordinators():
    """Two coordinators after each other, each when the store has steps of it."""
    process, killed = start("taken_over"), 0
    while process.poll() is None and killed < 2:
        step, attempts = stored("taken_over")
        below = children(process.pid)
        if step > KILL_AFTER * (killed + 1) and attempts == killed + 1 and below:
            kill(below[:1])
            killed += 1
        time.sleep(0.002)
    wait(process, "taken_over")
    check("taken_over")
    check_one_file("taken_over")
    return killed


def all_processes():
    """Everything at once, so that steps are done again from a checkpoint."""
    process, killed = start("killed"), 0
    while process.poll() is None and not killed:
        if stored("killed")[0] > KILL_AFTER:
            kill(family(process.pid))
            killed = 1
        time.sleep(0.002)
    process.wait(60)
    if killed:
        expect(log_bytes("killed") > 0, "killed: nothing is left in the log")
        for _ in range(100):  # a process that was killed may not have ended yet
            subprocess.run([PROGRAM, "numerics", f"{FOLDER}/killed"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
            if log_bytes("killed") == 0:
                break
            time.sleep(0.05)
        expect(log_bytes("killed") == 0, "killed: the log is there when it was read")
        check_one_file("killed")
        wait(start("killed"), "killed")
    check("killed")
    return killed


def without_successor():
    """A run that was told to end has no other coordinator: its first process makes one file."""
    process, killed = start("told", "--set", "loop.num_steps=100000000"), 0
    while process.poll() is None and not killed:
        below = children(process.pid)
        if stored("told")[0] > 0 and below:
            os.kill(below[0], signal.SIGSTOP)
            process.terminate()
            time.sleep(0.05)
            kill(below[:1])
            killed = 1
        time.sleep(0.002)
    wait(process, "told", 128 + signal.SIGKILL)
    expect(log_bytes("told") == 0, "told: the log is still there")
    check_one_file("told")


undisturbed()
# A busy machine may see the end first; what is left is right then, too.
for case in (coordinators, all_processes):
    for _ in range(5):
        if case():
            break
        print(case.__name__, "ended before it was killed: again")
        for path in glob.glob(f"{FOLDER}/taken_over*") + glob.glob(f"{FOLDER}/killed*"):
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    else:
        expect(False, case.__name__, "nothing was killed in five runs")
without_successor()
sys.exit(failures > 0)
