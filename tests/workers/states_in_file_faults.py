"""Faults of a run whose states are in a file in DIRECTORY.

    states_in_file_faults.py kill DIRECTORY COUNT COMMAND...
    states_in_file_faults.py cut DIRECTORY 0 COMMAND...

kill: sends SIGKILL to COUNT of the processes that hold the file open, one after the other, of each
role in turn, and prints the roles; cut: once the run has saved a checkpoint, takes half of the
file's bytes away, so that they cannot be read, as those of a broken disk. The exit code is the
command's.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time


def text_of(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def holders(directory):
    """(process, its role, the path of its descriptor) of each that has the file open."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            for name in os.listdir(f"/proc/{process}/fd"):
                path = f"/proc/{process}/fd/{name}"
                target = os.readlink(path)
                if target.startswith(directory + "/") and target.endswith(" (deleted)"):
                    words = text_of(f"/proc/{process}/cmdline").split("\0")
                    role = next((w[7:] for w in words if w.startswith("--role=")), "coordinator")
                    found.append((int(process), role, path))
                    break
        except OSError:
            continue
    return found


def kill(directory, count, child):
    """Without the supervisor, which is the command itself."""
    choose, killed, last = random.Random(1), [], None
    while child.poll() is None and len(killed) < count:
        time.sleep(choose.uniform(0.05, 0.2))
        workers = [h for h in holders(directory) if h[1] not in ("coordinator", last)]
        if not workers:
            last = None
            continue
        process, role, _ = choose.choice(workers)
        os.kill(process, signal.SIGKILL)
        killed.append(role)
        last = role
    print("killed:", *killed)


def cut(directory, child):
    folder = pathlib.Path(directory)
    while child.poll() is None:
        replicas = [h for h in holders(directory) if h[1] == "replica"]
        if replicas and any(folder.glob("broken/checkpoint_*.mdl")):
            path = replicas[0][2]
            os.truncate(path, os.stat(path).st_size // 2)
            return
        time.sleep(0.01)


def main():
    what, directory, count = sys.argv[1], os.path.realpath(sys.argv[2]), int(sys.argv[3])
    child = subprocess.Popen(sys.argv[4:])
    if what == "kill":
        kill(directory, count, child)
    else:
        cut(directory, child)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
