"""What `csengine start` costs from its first instruction to the first step, with the step compiled
before: wall time; the processor time of the coordinator until it starts its workers; and that of
each process until the first step is told.

    start_time.py --csengine PROGRAM [--rounds N] [--json] [--least MS] -- ARGUMENT...

The arguments are those of `csengine start` (a configuration, --set, --weights); without any, a
GPT-2 of 48 layers of 32 channels. Each round is a run of its own in a new folder, which is stopped
once its first step is told; medians of the rounds. The rounds share a folder of compiled steps, and
the first, which compiles, does not count. `--rounds 1` under `perf record -F 5000 -g --` shows
where the time goes.

Processor times are those of the kernel's scheduler (/proc/PID/task/TID/schedstat), so that they
mean something on a machine that has other work, too.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the tree may be read-only
from measured_processes import ENVIRONMENT, descendants, end, role_of

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = [
    os.path.join(os.path.dirname(HERE), "configs", "gpt2_tiny.yaml"),
    *"--set model.num_layers=48 --set model.hidden_size=32 --num_csx 1".split(),
]


def processor_ms(process_id):
    """(of all threads, of the main thread)."""
    whole, main = 0.0, 0.0
    for thread in os.listdir(f"/proc/{process_id}/task"):
        with open(f"/proc/{process_id}/task/{thread}/schedstat") as file:
            spent = int(file.read().split()[0]) / 1e6
        whole += spent
        main += spent if int(thread) == process_id else 0
    return whole, main


def children(process_id):
    try:
        with open(f"/proc/{process_id}/task/{process_id}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def shared_mb(process_id):
    """Shared memory that the process has touched."""
    with open(f"/proc/{process_id}/status") as file:
        found = re.search(r"RssShmem:\s+(\d+) kB", file.read())
    return int(found.group(1)) / 1e3


def watch(supervisor, times):
    """What the coordinator's main thread has taken when it starts its first worker."""
    while "until workers" not in times and os.path.exists(f"/proc/{supervisor}"):
        for coordinator in children(supervisor):
            if any(role_of(one) == "replica" for one in children(coordinator)):
                times["shared MB"] = shared_mb(coordinator)
                times["until workers"] = processor_ms(coordinator)[1]
        time.sleep(0.001)


def first_step(command):
    """Milliseconds until the first step is told, and by process."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT
    )
    times, said = {}, []
    threading.Thread(target=watch, args=(process.pid, times), daemon=True).start()
    for line in process.stdout:
        said.append(line)
        if re.search(r"\bStep=1\b", line):
            times["wall"] = (time.monotonic() - began) * 1e3
            for one in descendants(process.pid):
                name = role_of(one) if one != process.pid else "supervisor"
                name = name.replace("csengine start", "coordinator")
                times[name] = times.get(name, 0) + processor_ms(one)[0]
            break
    end(process)
    if "wall" not in times:
        sys.exit("no first step was told:\n" + "".join(said))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csengine", default="csengine")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--least", type=float, help="fail where the least `until workers` is more")
    parser.add_argument("--most_shared_mb", type=float, help="fail where any `shared MB` is more")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    work = tempfile.mkdtemp()
    rounds = []
    try:
        for number in range(options.rounds + 1):
            command = [
                options.csengine,
                "start",
                *(options.arguments or LAYERS),
                "--compile_dir",
                os.path.join(work, "compiled"),
                "--model_dir",
                os.path.join(work, str(number)),
                *"--num_steps 1000000 --log_steps 1".split(),
            ]
            rounds.append(first_step(command))
            shutil.rmtree(os.path.join(work, str(number)), ignore_errors=True)
    finally:
        shutil.rmtree(work)
    medians = {name: statistics.median(r[name] for r in rounds[1:]) for name in rounds[1]}
    if options.json:
        print(json.dumps({"rounds": options.rounds, "ms": medians}))
        return
    print(f"{'':16} {'ms':>9}   medians of {options.rounds}")
    for name, value in medians.items():
        print(f"{name:16} {value:9.1f}")
    least = min(r["until workers"] for r in rounds[1:])
    if options.least and least > options.least:
        sys.exit(f"FAIL: at least {least:.0f} ms until workers, {options.least:g} at most")
    if options.most_shared_mb and medians["shared MB"] > options.most_shared_mb:
        sys.exit(f"FAIL: {medians['shared MB']:.1f} MB, {options.most_shared_mb:g} at most")


if __name__ == "__main__":
    main()
