"""Processes that performance.py measures: PyTorch's steps, whole runs of ours, and the memory of
each with all the processes that it started (PSS: shared pages are divided among those that share
them).
"""

import json
import os
import selectors
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ENVIRONMENT = dict(os.environ, CSE_DASHBOARD="0", OMP_NUM_THREADS="1")
FAST_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mkl_fast_path.c")
PSS_KINDS = ("Pss", "Pss_Anon", "Pss_File", "Pss_Shmem")


class Failed(Exception):
    """A measurement that did not work: its text says what was run and what it said."""


def pinned(command, cores):
    """The command, on these cores alone."""
    return ["taskset", "-c", ",".join(map(str, cores)), *command]


def end(process):
    """Ends a process that still runs, as after an error or an interruption."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def descendants(process_id):
    """The process and all that it started, as /proc shows them now."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found = [process_id]
    for at in found:
        found += children.get(at, [])
    return found


def role_of(process_id):
    """What a process is in its run: a worker's role, else the name of its program."""
    with open(f"/proc/{process_id}/cmdline") as file:
        words = file.read().split("\0")
    roles = [word.removeprefix("--role=") for word in words if word.startswith("--role=")]
    return roles[0] if roles else " ".join(os.path.basename(word) for word in words[:2])


def memory_of(process_ids):
    """MB by kind and by role, and the number of processes, of these and of all that they started."""
    processes = {one for process_id in process_ids for one in descendants(process_id)}
    kilobytes, roles = dict.fromkeys(PSS_KINDS, 0), {}
    for process_id in processes:
        try:
            role = role_of(process_id)
            with open(f"/proc/{process_id}/smaps_rollup") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            kind, _, rest = line.partition(":")
            if kind in kilobytes:
                kilobytes[kind] += int(rest.split()[0])
            if kind == "Pss":
                roles[role] = round(roles.get(role, 0) + int(rest.split()[0]) * 1024e-6, 1)
    memory = {kind.lower() + "_mb": round(kilobytes[kind] * 1024e-6, 1) for kind in PSS_KINDS}
    return dict(memory, processes=len(processes), roles_mb=roles)


class MemoryWatch:
    """Keeps the most memory that processes took at once. Looks every half second, more seldom where
    a look takes long, as it does in large processes: it shall cost those that it watches nothing.
    """

    SECONDS, MOST_SHARE = 0.5, 0.02

    def __init__(self, process_ids):
        self.process_ids, self.most, self.over = process_ids, None, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        pause = self.SECONDS
        while not self.over.wait(pause):
            start = time.perf_counter()
            self.look()
            pause = max(self.SECONDS, (time.perf_counter() - start) / self.MOST_SHARE)

    def look(self):
        now = memory_of(self.process_ids)
        if self.most is None or now["pss_mb"] > self.most["pss_mb"]:
            self.most = now

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.most


def run(command, cores, seconds=600, environment=ENVIRONMENT, **options):
    """Runs a command to its end; its standard output."""
    process = subprocess.Popen(
        pinned(command, cores),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}: not done after {seconds} s") from None
    finally:
        end(process)
    if process.returncode != 0:
        raise Failed(f"{' '.join(command)}: {errors.strip()[-400:]}")
    return output


# ---- our runs ----


def whole_run(command, cores, seconds=600, watch=False):
    """`csengine start --json` with a model_dir of its own. The times between the lines of its steps
    (ms; none for the first), their losses, its last line, and the most memory if asked for."""
    directory = tempfile.mkdtemp(prefix="performance-")
    command = [*command, "--json", "--no_dashboard", "--model_dir", directory]
    process = subprocess.Popen(
        pinned(command, cores),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    alarm = threading.Timer(seconds, process.terminate)
    alarm.start()
    memory = MemoryWatch([process.pid]) if watch else None
    times, losses, last, most = [], [], None, None
    try:
        for line in process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event.get("event") == "step":
                times.append(time.perf_counter())
                losses.append(event["loss"])
            elif event.get("event") == "end":
                last = event
        errors = process.stderr.read()
        process.wait()
    finally:
        alarm.cancel()
        end(process)
        most = memory.stop() if memory else None
        shutil.rmtree(directory, ignore_errors=True)
    if process.returncode != 0 or last is None:
        raise Failed(f"{' '.join(command)}: {errors.strip()[-400:]}")
    gaps = [(after - before) * 1e3 for before, after in zip(times, times[1:])]
    return {"gaps_ms": gaps, "losses": losses, "end": last, "memory": most}


# ---- PyTorch's ----


def fast_environment(work):
    """That in which PyTorch's MKL takes its fast path; None where it does so by itself, or where
    no compiler builds what makes it."""
    with open("/proc/cpuinfo") as file:
        if "GenuineIntel" in file.read():
            return None
    library = os.path.join(work, "mkl_fast_path.so")
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-o", library]
    command = [*command[0].split(), *command[1:], FAST_PATH]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as failure:
        print(f"PyTorch runs as it is installed alone: {failure}", file=sys.stderr)
        return None
    before = os.environ.get("LD_PRELOAD")
    return dict(ENVIRONMENT, LD_PRELOAD=f"{library} {before}" if before else library)


class Peer:
    """One configuration of PyTorch: a process (under DDP several) that stays and obeys lines."""

    def __init__(self, name, commands, cores, environment=ENVIRONMENT):
        self.name, self.times, self.memory = name, [], None
        self.processes = []
        for command, own in zip(commands, cores):
            self.processes.append(
                subprocess.Popen(
                    pinned(command, own),
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        self.version = self.answers(120)[0]["ready"]

    def answers(self, seconds):
        """One line of JSON from each process."""
        until, found = time.monotonic() + seconds, []
        for process in self.processes:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                if not selector.select(max(0, until - time.monotonic())):
                    raise Failed(f"PyTorch ({self.name}): no answer within {seconds} s")
            line = process.stdout.readline()
            if not line:
                raise Failed(f"PyTorch ({self.name}): {process.stderr.read().strip()[-400:]}")
            found.append(json.loads(line))
        return found

    def ask(self, question, seconds=300):
        for process in self.processes:
            process.stdin.write(question + "\n")
            process.stdin.flush()
        return self.answers(seconds)

    def losses(self, steps):
        """The mean over the ranks, step by step."""
        return [statistics.mean(column) for column in zip(*self.ask(f"losses {steps}"))]

    def steps(self, count):
        """Milliseconds of each step, of the slowest rank; the memory is watched meanwhile."""
        watch = MemoryWatch([process.pid for process in self.processes])
        try:
            taken = self.ask(f"steps {count}")
            watch.look()
        finally:
            most = watch.stop()
        if self.memory is None or most["pss_mb"] > self.memory["pss_mb"]:
            self.memory = most
        return [max(column) for column in zip(*taken)]

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.stdout.close()
            end(process)
            process.stderr.close()
