"""A campaign of faults on runs of three and four hosts, which here are agents on one machine: in each run one
process, or two or three within five seconds, are killed, or stopped for some seconds. Whatever is left of the run
must end it: with the weights of an undisturbed run, each step once in the run store, exit code 0 of the command that
was given (where it was not killed itself), no process and no file left behind, and within ten seconds after the last
fault the steps must follow one another at least half as fast as before it.

Roles: the processes of the leading host (first: the command that was given; coordinator; both), the agents of the
other hosts (successor: the first of them; third; fourth), and the workers of each (replica, mover, input_worker).
A command whose first process alone was killed has stopped with a checkpoint: it is given again.

The speed is that of the run store, where each step has its time. The machine may do other things meanwhile: a thread
measures how long a fixed piece of work takes, and speeds count in its terms.

Usage: host_fault_campaign.py CSENGINE [--faults N] [--seconds T] [--seed S] [--hosts 3,4] [--jobs J] [--parts N] [--slim]
--parts takes the part of the runs that CSE_TEST_PART chooses (tests/support/part.py)."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import part  # noqa: E402

STEPS, LEASE_S, LIMIT_S, BACK_S, WINDOW_S = 9000, 2, 180, 10, 0.7
LEAST_SPEED = 0.5
MOST_MISSING = 4  # steps in flight on hosts that died one after the other
STOP_S = 7
DELAYS = (0, 0.2, 0.5, 1, 2, 3, 5)
LEADER = ("first", "coordinator", "both")
WORKERS = ("replica", "mover", "input_worker")
NAMES = "abcd"


def configuration(compiled):
    data = {"data_processor": "synthetic", "features": [16], "classes": 4, "batch_size": 64, "micro_batch_size": 8}
    return {"trainer": {
        "init": {
            "backend": {"compile_dir": compiled, "cluster_config": {"num_csx": 1, "num_workers_per_csx": 1,
                                                                    "host_launcher": "local", "lease_s": LEASE_S}},
            "model": {"name": "fc_mnist", "input_size": 16, "hidden_sizes": [32], "num_classes": 4},
            "optimizer": {"SGD": {"lr": 0.1, "momentum": 0.9}},
            "loop": {"num_steps": STEPS},
            "logging": {"log_steps": 50},
            "seed": 5,
        },
        "fit": {"train_dataloader": {**data, "samples": 1024, "shuffle": True}},
    }}


# ---- processes ----

def stat_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rsplit(b")", 1)[1].split()
        return int(fields[1]), fields[0].decode()
    except (OSError, IndexError):
        return 0, ""


def line_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def everybody():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children(pid):
    return [p for p in everybody() if stat_of(p)[0] == pid]


class Run:
    def __init__(self, options, folder, hosts):
        self.options, self.folder, self.hosts = options, folder, hosts
        self.tmp, self.model_dir = f"{folder}/tmp", f"{folder}/run"
        os.makedirs(self.tmp)
        self.agents, self.leader = [], None
        self.starts = 0

    def launch(self):
        config = f"{self.folder}/config.json"
        with open(config, "w") as f:
            json.dump(configuration(self.options.compiled), f)
        hosts = ["--hosts", ",".join(NAMES[:self.hosts])] if self.hosts > 1 else []
        self.starts += 1
        with open(f"{self.folder}/out", "ab") as out:
            self.process = subprocess.Popen(
                [self.options.csengine, "start", config, "--json", "--no_dashboard", "--model_dir", self.model_dir,
                 *hosts], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                env=dict(os.environ, CSE_DASHBOARD="0", CSENGINE_EXECUTABLE=self.options.csengine, TMPDIR=self.tmp,
                         XDG_CACHE_HOME=self.options.cache))

    def output(self):
        with open(f"{self.folder}/out", errors="replace") as f:
            return f.read()

    def find(self):
        """The leading coordinator, and the agents in the order of their hosts, which is that of their starts."""
        starts = [p for p in children(self.process.pid) if " start " in line_of(p)]
        self.leader = starts[0] if starts else None
        below = children(self.leader) if self.leader else []
        self.agents = sorted(p for p in below if line_of(p).split(" ")[1:2] == ["agent"])
        return len(self.agents) == self.hosts - 1

    def victims(self, role):
        """The processes of a role: "third.mover", "successor", "both"."""
        host, _, worker = role.partition(".")
        if host == "first":
            return [self.process.pid]
        if host == "both":
            return [self.process.pid, self.leader]
        index = {"coordinator": -1, "leader": -1, "successor": 0, "third": 1, "fourth": 2}[host]
        parent = self.leader if index < 0 else self.agents[index]
        if not worker:
            return [parent]
        return [p for p in children(parent) if f"--role={worker}" in line_of(p)][:1]

    def rows(self, question):
        try:
            database = sqlite3.connect(f"file:{self.model_dir}/run.db?mode=ro", uri=True, timeout=10)
            try:
                return database.execute(question).fetchall()
            finally:
                database.close()
        except sqlite3.Error:
            return []

    def last_step(self):
        found = 0
        for match in re.finditer(r'"event":"step","step":(\d+)', self.output()):
            found = max(found, int(match.group(1)))
        return found

    def processes(self):
        """Of this run: all that it started has its TMPDIR."""
        found = []
        mark = f"TMPDIR={self.tmp}\0".encode()
        for pid in everybody():
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    mine = mark in f.read() + b"\0"
            except OSError:
                continue
            if mine and stat_of(pid)[1] not in ("Z", ""):
                found.append(pid)
        return found

    def kill_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def digest(self):
        file = f"{self.model_dir}/checkpoint_{STEPS}.mdl"
        done = subprocess.run([self.options.csengine, "checkpoint", "digest", file], capture_output=True, text=True)
        return done.stdout.strip() or done.stderr.strip()


# ---- the machine's speed ----

class Probe:
    """How long a fixed piece of work takes, again and again."""

    def __init__(self):
        self.found, self.ends = [], False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while not self.ends:
            begun = time.monotonic()
            sum(range(20000))
            self.found.append((time.time(), time.monotonic() - begun))
            time.sleep(0.05)

    def mean(self, begin, end):
        values = [taken for at, taken in self.found if begin <= at <= end]
        return sum(values) / len(values) if values else None


# ---- a fault ----

def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def strike(run, role):
    kind = "stop" if role.endswith("!") else "kill"
    found = run.victims(role.rstrip("!"))
    if kind == "kill":
        signal_all(found, signal.SIGSTOP)  # together, as the end of a machine
        signal_all(found, signal.SIGKILL)
        return bool(found)
    signal_all(found, signal.SIGSTOP)
    threading.Timer(STOP_S, signal_all, (found, signal.SIGCONT)).start()
    return bool(found)


def times_of(run):
    """{step: when it was committed first}; how many rows there are beyond one a step."""
    rows = run.rows("select p.step, p.time_ms, p.value from points p join series s on s.id = p.series "
                    "where s.name = 'loss' order by p.attempt, p.step")
    times, values, differ = {}, {}, 0
    for step, at, value in rows:
        times.setdefault(step, at / 1000)
        differ += values.setdefault(step, value) != value
    return times, len(rows) - len(times), differ


def best_speed(times, begin, end):
    """The steps a second of the best window."""
    inside = sorted(at for at in times.values() if begin <= at <= end)
    best, first = 0, 0
    for last, at in enumerate(inside):
        while at - inside[first] > WINDOW_S:
            first += 1
        best = max(best, last - first)
    return best / WINDOW_S


def judge_speed(times, probe, struck):
    first, last = struck[0], struck[-1]
    end = max(times.values())
    before = best_speed(times, first - 2.5, first)
    if end <= last + BACK_S or before == 0:
        return [], None
    after = best_speed(times, last, last + BACK_S)
    slower = (probe.mean(last, last + BACK_S) or 1) / (probe.mean(first - 2.5, first) or 1)
    share = after / before * max(slower, 1)
    words = [f"{after:.0f} steps/s after {before:.0f}, on a machine {slower:.2f} times as slow"]
    return (words if share < LEAST_SPEED else []), share


def wait_for(run, condition, seconds):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def finish(run, roles, wrong):
    """Waits for the end of the run, whoever brings it about."""
    killed = any(role in ("first", "both") for role in roles)
    try:
        code = run.process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        wrong.append("the command hangs")
        return
    if not killed and code != 0:
        wrong.append(f"exit code {code}")
    if not wait_for(run, lambda: not run.processes(), LIMIT_S):
        wrong.append(f"processes are left: {[line_of(pid) for pid in run.processes()]}")
        return
    complete = f"{run.model_dir}/checkpoint_{STEPS}.mdl"
    if "first" in roles and not os.path.exists(complete):
        run.launch()
        try:
            if run.process.wait(LIMIT_S) != 0:
                wrong.append(f"given again: exit code {run.process.returncode}")
        except subprocess.TimeoutExpired:
            wrong.append("given again, it hangs")
    wait_for(run, lambda: not run.processes(), 30)


def judge(run, roles, struck, probe, expected, wrong):
    digest = run.digest()
    if digest != expected["digest"]:
        wrong.append(f"digest {digest}")
    times, twice, differ = times_of(run)
    missing = len(set(range(1, STEPS + 1)) - set(times))
    if missing > MOST_MISSING:
        wrong.append(f"{missing} steps have no row")
    if differ:
        wrong.append(f"{differ} steps have two losses")
    if [n for n in os.listdir(run.tmp)] or alive(run):
        wrong.append(f"left: {os.listdir(run.tmp)} {[line_of(p) for p in alive(run)]}")
    share = None
    if times and struck and run.starts == 1:
        words, share = judge_speed(times, probe, struck)
        wrong += words
    return (twice, missing), share


def alive(run):
    return run.processes()


def one_fault(options, cell, seed, expected):
    """(roles, delays, outcome, words, rows that are there twice, share of the speed)."""
    hosts, roles, delays = cell
    chance = random.Random(seed)
    run = Run(options, f"{options.work}/n{seed}", hosts)
    wrong, probe, struck, twice, share = [], Probe(), [], (0, 0), None
    run.launch()
    aim = chance.randrange(1000, 1400)
    ready = wait_for(run, lambda: run.last_step() >= aim or run.process.poll() is not None, LIMIT_S)
    if not ready or not run.find():
        wrong.append("it has not come so far")
    for role, delay in zip(roles, (0, *delays)):
        if wrong:
            break
        time.sleep(delay)
        if strike(run, role):
            struck.append(time.time() + (STOP_S if role.endswith("!") else 0))
    finish(run, roles, wrong)
    probe.ends = True
    if "hangs" not in " ".join(wrong):
        twice, share = judge(run, roles, sorted(struck), probe, expected, wrong)
    words = ""
    if wrong:
        words = "\n" + run.output()[-3000:]
        if options.keep:
            words += f"\nkept: {run.folder}"
    run.kill_all()
    if not (wrong and options.keep):
        shutil.rmtree(run.folder, ignore_errors=True)
    outcome = "wrong" if wrong else "right" if len(struck) == len(roles) else "not all struck"
    return cell, outcome, "; ".join(wrong) + words, twice, share


# ---- the campaign ----

def roles_of(hosts):
    others = ("successor", "third", "fourth")[:hosts - 1]
    single = [*LEADER, *others]
    workers = [f"{host}.{worker}" for host in ("leader", *others) for worker in WORKERS]
    return single, workers, [f"{host}.replica!" for host in ("leader", *others)]


def leaves_one(hosts, roles):
    gone = {role.split(".")[0] for role in roles if "." not in role}
    leader_gone = bool(gone & {"both"}) or ("first" in gone and "coordinator" in gone)
    return len(gone - set(LEADER)) + leader_gone < hosts and not ("first" in gone and len(gone) > 1)


def cells(options):
    order = random.Random(options.seed)
    found = []
    for hosts in options.hosts:
        single, workers, stops = roles_of(hosts)
        found += [(hosts, (role,), ()) for role in (*single, *workers, *stops)]
        pairs = [(hosts, pair, (delay,)) for pair in itertools.product((*single, *workers), repeat=2)
                 for delay in DELAYS if pair[0] != pair[1] and leaves_one(hosts, pair)]
        triples = [(hosts, three, (order.choice(DELAYS), order.choice(DELAYS)))
                   for three in itertools.permutations((*single, *stops), 3) if leaves_one(hosts, three)]
        order.shuffle(pairs)
        order.shuffle(triples)
        found += pairs + triples[:len(pairs) // 4]
    order.shuffle(found)
    return found[:options.faults] if options.faults else found


# One of each kind: the two that the leader's successor dies of, its coordinator alone, and a stall.
SLIM = ((3, ("both", "successor"), (1,)), (3, ("coordinator",), ()), (3, ("leader.replica!",), ()),
        (3, ("third", "successor.mover"), (0.2,)))


def undisturbed(options):
    found = {}
    for hosts in (1, *options.hosts):
        run = Run(options, f"{options.work}/plain{hosts}", hosts)
        run.launch()
        if run.process.wait() != 0:
            sys.exit(f"the undisturbed run: {run.output()[-3000:]}")
        found[hosts] = run.digest()
        shutil.rmtree(run.folder)
    if len(set(found.values())) != 1:
        sys.exit(f"the digests of undisturbed runs differ: {found}")
    print(f"digest {found[1]}", flush=True)
    return {"digest": found[1]}


def print_tables(results, seconds):
    table = collections.Counter((role, row[1]) for row in results for role in row[0][1])
    outcomes = sorted({row[1] for row in results})
    print(f"\n{'role':24}" + "".join(f"{outcome:>16}" for outcome in outcomes))
    for role in sorted({role for role, _ in table}):
        print(f"{role:24}" + "".join(f"{table[role, outcome]:16}" for outcome in outcomes))
    shares = sorted(row[4] for row in results if row[4] is not None)
    if shares:
        print(f"speed within {BACK_S} s of the last fault, of that before: least {shares[0]:.2f}, "
              f"median {shares[len(shares) // 2]:.2f}, of {len(shares)} runs that went on for longer")
    for place, words in ((0, "rows beyond one a step"), (1, "steps without a row")):
        print(f"{words}: {sum(row[3][place] for row in results)} in "
              f"{sum(row[3][place] > 0 for row in results)} runs")
    faults = sum(len(row[0][1]) for row in results)
    print(f"{len(results)} runs with {faults} faults, {sum(row[1] == 'wrong' for row in results)} wrong, "
          f"in {seconds:.0f} s")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("csengine")
    parser.add_argument("--faults", type=int, help="so many runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="begins no run after so many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--hosts", type=lambda text: [int(n) for n in text.split(",")], default=[3, 4])
    parser.add_argument("--parts", type=int, default=1, help="of which CSE_TEST_PART chooses one")
    parser.add_argument("--slim", action="store_true", help="a few runs alone")
    parser.add_argument("--only", help="ROLE,ROLE@DELAY,...: one cell, as often as --faults says")
    parser.add_argument("--keep", action="store_true", help="keeps the folders of runs that are wrong")
    options = parser.parse_args()
    options.csengine = os.path.abspath(options.csengine)
    return options


def table_of(options):
    if options.only:
        parts = options.only.split(",")
        roles = tuple(part.split("@")[0] for part in parts)
        delays = tuple(float(part.split("@")[1]) for part in parts[1:])
        return [(options.hosts[0], roles, delays)] * (options.faults or 1)
    return SLIM if options.slim else cells(options)


def main():
    options = parse()
    if options.slim:
        options.hosts = [3]
    options.work = tempfile.mkdtemp(prefix="csengine-host-faults-")
    options.compiled, options.cache = f"{options.work}/compiled", f"{options.work}/cache"
    begun, results, lock = time.monotonic(), [], threading.Lock()
    expected = undisturbed(options)

    def do(cell, seed):
        if options.seconds and time.monotonic() - begun > options.seconds:
            return
        row = one_fault(options, cell, seed, expected)
        with lock:
            results.append(row)
            if row[1] == "wrong":
                print(f"seed {seed}: {cell}: {row[2]}", flush=True)
            if len(results) % 20 == 0:
                print(f"{len(results)} runs in {time.monotonic() - begun:.0f} s", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        table = list(enumerate(table_of(options)))
        if options.parts > 1:
            table = part.of(table, options.parts, "the campaign")
        for future in [pool.submit(do, cell, options.seed + i) for i, cell in table]:
            future.result()
    if not options.keep:
        shutil.rmtree(options.work, ignore_errors=True)
    print_tables(results, time.monotonic() - begun)
    # Some die with others before it is their turn; most do not. Of a few runs one or two may be of those.
    wrong, right = (sum(row[1] == outcome for row in results) for outcome in ("wrong", "right"))
    sys.exit(wrong > 0 or right < 0.8 * len(results))


main()
