"""A campaign of faults: runs of configs/synthetic.yaml with validations and checkpoints, half of them
with weight servers, in each of which one process is killed, or stopped and let go on, or stopped for
good, at a random moment of a random phase. Each must end with the weights and the losses of an
undisturbed run, each logged step once, and leave no process and no file behind.

The moments are aimed by the phases of an undisturbed run; in which phase a fault really struck is read
from the events of the struck run.

A run whose first process was killed ends; it is then started again, which is counted.

A coordinator's successor goes on where the arena stands; how long training paused is taken from the
times of the steps on both sides.

Usage: fault_campaign.py CSENGINE CONFIG [--faults N] [--seed S] [--role ROLE]
Prints tables by role, fault and phase, and one line for each run that was wrong, with its seed."""
import argparse
import collections
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

STEPS, EVERY = 90000, 15000
LIMIT_S = 120  # for a run; one takes a second or two
SETTINGS = ["--json", "--no_dashboard", "--num_csx", "2", "--max_steps", str(STEPS),
            "--set", "loop.num_steps=null", "--set", f"loop.eval_frequency={EVERY}",
            "--set", "loop.eval_steps=3", "--set", f"checkpoint.steps={EVERY}"]
FAULTS = {"kill": (signal.SIGKILL, None), "pause": (signal.SIGSTOP, 0.3), "freeze": (signal.SIGSTOP, None)}
# For all but the first process, which nobody watches, a stop for good is a death.
ROLES = {"replica": ("kill", "pause", "freeze"), "input_worker": ("kill", "pause", "freeze"),
         "weight_server": ("kill", "pause", "freeze"), "coordinator": ("kill", "pause", "freeze"),
         "first": ("kill", "pause")}
WEIGHT_SERVERS = "trainer.init.backend.cluster_config.max_wgt_servers"


def processes():
    """pid: (parent, command line) of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{name}/stat") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        found[int(name)] = (parent, line)
    return found


def victims(first, role):
    """The processes of the role below the first process of a run."""
    if role == "first":
        return [first]
    all_processes = processes()
    children = [p for p, (parent, _) in all_processes.items() if parent == first]
    if role == "coordinator":
        return children
    return [p for p, (parent, line) in all_processes.items()
            if parent in children and f"--role={role}" in line]


class Run:
    def __init__(self, options, folder, weight_servers=0):
        self.options, self.folder, self.weight_servers = options, folder, weight_servers
        self.starts = 0

    def launch(self):
        self.starts += 1
        environment = dict(os.environ, CSE_DASHBOARD="0", CSENGINE_EXECUTABLE=self.options.csengine,
                           TMPDIR=f"{self.folder}/tmp")
        command = [self.options.csengine, "start", self.options.config, *SETTINGS, "--model_dir",
                   f"{self.folder}/run", "--compile_dir", self.options.compiled,
                   "--set", f"{WEIGHT_SERVERS}={self.weight_servers}"]
        os.makedirs(f"{self.folder}/tmp", exist_ok=True)
        self.out = open(f"{self.folder}/out", "ab")
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.out, env=environment)

    def wait(self):
        """The exit code; None when it hangs."""
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            code = None
        self.out.close()
        return code

    def text(self):
        return open(f"{self.folder}/out", errors="replace").read()

    def digest(self):
        events = [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]
        ends = [e for e in events if e.get("event") == "end" and "weights_digest" in e]
        return ends[-1]["weights_digest"] if ends else None

    def rows(self, question):
        """The answer of the run store; none where there is no store yet."""
        try:
            database = sqlite3.connect(f"file:{self.folder}/run/run.db?mode=ro", uri=True)
        except sqlite3.OperationalError:
            return []
        try:
            return database.execute(question).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            database.close()

    def phases(self):
        """[(Unix time in seconds, phase)], in order; the last one is the end."""
        events = (json.loads(payload) for payload, in
                  self.rows("select payload from events where type = 'phase' order by id"))
        return [(event["since_ms"] / 1000, event["phase"] or "end") for event in events]

    def phase_at(self, moment):
        phase = "start"
        for since, name in self.phases():
            phase = name if since <= moment else phase
        return phase

    def losses(self):
        """{step: value} of the run store; of a step that was done again the last attempt's."""
        rows = self.rows("select p.attempt, p.step, p.value from points p join series s on "
                         "s.id = p.series where s.name = 'loss' order by p.attempt")
        return {step: value for _, step, value in rows}

    def pause(self):
        """Seconds between the last step of a coordinator and the first that its successor did."""
        rows = self.rows("select p.attempt, p.step, p.time_ms from points p join series s on "
                         "s.id = p.series where s.name = 'loss' order by p.attempt")
        attempts = {attempt for attempt, _, _ in rows}
        if len(attempts) != 2:
            return None
        newest = max(attempts)
        first = min(step for attempt, step, _ in rows if attempt == newest)
        # A record that is told again has its own time; the pause lies after it.
        times = {step: time_ms for _, step, time_ms in rows if step >= first - 1}
        steps = sorted(times)
        return max(times[b] - times[a] for a, b in zip(steps, steps[1:])) / 1000

    def left(self):
        """Processes and files that stay behind."""
        deadline = time.monotonic() + 10
        while True:
            alive = [line for _, line in processes().values() if self.folder in line]
            files = [n for n in os.listdir(f"{self.folder}/tmp")]
            if not (alive or files) or time.monotonic() > deadline:
                return alive + files
            time.sleep(0.05)

    def kill_all(self):
        for pid, (_, line) in processes().items():
            if self.folder in line:
                os.kill(pid, signal.SIGKILL)


def strike(run, fault, role, moment):
    """When somebody was struck, in Unix seconds; None: there was nobody."""
    number, pause = FAULTS[fault]
    begun = time.monotonic()
    time.sleep(moment)
    while run.process.poll() is None and time.monotonic() < begun + moment + 5:
        for victim in random.sample(found := victims(run.process.pid, role), len(found)):
            try:
                struck = time.time()
                os.kill(victim, number)
                if pause is not None:
                    time.sleep(pause)
                    os.kill(victim, signal.SIGCONT)
            except ProcessLookupError:
                continue
            return struck
        time.sleep(0.002)
    return None


def aims(run, launched):
    """{phase: [(first, last second after the launch)]} of an undisturbed run."""
    found, begun, phase = collections.defaultdict(list), 0, "start"
    for since, name in [*run.phases(), (time.time(), None)]:
        if name != phase:
            found[phase].append((begun, since - launched))
            begun, phase = since - launched, name
    return dict(found)


def judge(run, code, expected):
    """What is wrong; None: nothing."""
    if code is None:
        return "hangs"
    if code != 0:
        return f"exit code {code}"
    if run.digest() != expected["digest"]:
        return f"digest {run.digest()}"
    if run.losses() != expected["losses"]:
        return "other losses in the run store"
    left = run.left()
    return f"left: {left}" if left else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("csengine")
    parser.add_argument("config")
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", choices=sorted(ROLES), help="strikes this one alone")
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="csengine-faults-")
    options.compiled = f"{work}/compiled"
    times = []
    for name in ("first", "plain"):  # the first one compiles
        plain = Run(options, f"{work}/{name}")
        launched = time.time()
        plain.launch()
        code = plain.wait()
        times.append(time.time() - launched)
        if code != 0:
            sys.exit(f"the undisturbed run: exit code {code}\n{plain.text()}")
    expected = {"digest": plain.digest(), "losses": plain.losses()}
    moments = aims(plain, launched)
    table, struck_in, wrong = collections.Counter(), collections.Counter(), 0
    pauses = collections.defaultdict(list)
    for seed in range(options.seed, options.seed + options.faults):
        random.seed(seed)
        role = options.role or random.choice(sorted(ROLES))
        fault = random.choice(ROLES[role])
        moment = random.uniform(*random.choice(moments[random.choice(sorted(moments))]))
        run = Run(options, f"{work}/{seed}",
                  2 if role == "weight_server" or random.random() < 0.5 else 0)
        run.launch()
        struck = strike(run, fault, role, moment)
        code = run.wait()
        while code not in (0, None) and role == "first" and run.starts < 3:
            if left := run.left():
                print(f"seed {seed}: {role}, {fault}: left behind: {left}", flush=True)
                break
            run.launch()
            code = run.wait()
        problem = judge(run, code, expected)
        if problem:
            wrong += 1
            print(f"seed {seed}: {role}, {fault} after {moment:.3f} s: {problem}\n"
                  f"{run.text()[-2000:]}", flush=True)
            run.kill_all()
        if struck:
            struck_in[run.phase_at(struck)] += 1
        outcome = "wrong" if problem else "not struck" if not struck else (
            "started again" if run.starts > 1 else "right")
        table[role, fault, outcome] += 1
        if not problem and role == "coordinator" and (pause := run.pause()) is not None:
            pauses[fault].append(pause)
        shutil.rmtree(run.folder, ignore_errors=True)
    shutil.rmtree(work, ignore_errors=True)
    for (role, fault, outcome), count in sorted(table.items()):
        print(f"{role:14}{fault:8}{outcome:14}{count:5}")
    print("struck in: " + ", ".join(f"{phase} {count}" for phase, count in sorted(struck_in.items())))
    for fault, seconds in sorted(pauses.items()):
        seconds.sort()
        print(f"coordinator, {fault}: {len(seconds)} takeovers; training paused for a median of "
              f"{seconds[len(seconds) // 2]:.3f} s, p99 {seconds[len(seconds) * 99 // 100]:.3f} s")
    print(f"{options.faults} faults in runs of {times[1]:.1f} s, {wrong} wrong")
    sys.exit(wrong > 0)


main()
