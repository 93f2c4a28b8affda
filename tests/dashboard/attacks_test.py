"""Jobs whose code is a stranger's, as a program and in a library, change nothing that is not their own:
no file, no process, no object of the same user. What the kernel lets through is checked on what was attacked."""
import errno
import os
import socket
import stat
import subprocess

import support
from support import API, Server, check, equal

KEY = 0x63736500 + os.getpid() % 256
SECRET = "key-of-a-cloud"
REFUSALS = {errno.EPERM, errno.EACCES, errno.ESRCH, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOENT, errno.EBADF,
            errno.ECONNREFUSED, errno.EXDEV, errno.EROFS}
OWN = {"own_limit", "own_priority", "own_processors", "own_signal", "given_variable"}
# What a job may do to its own files where it can write to no other ones.
MARKS = {"own_mode", "own_times"}
# Attacks that no filter can tell from what a job must do, and what refuses them: a version of Landlock, or a
# name space of the job's own.
BY_LAYER = {"kill": (6, "processes"), "tgkill": (6, "processes"), "sigqueue": (6, "processes"),
            "environment_of_process": (1, "processes"), "connect_by_abstract_name": (6, "network"),
            "connect_by_path": (99, "mounts"), "renameat": (1, None), "linkat": (1, None), "symlinkat": (1, None)}


class Place:
    def __init__(self):
        self.top = support.folder()
        self.root, self.outside, self.allowed = (f"{self.top}/{name}" for name in ("root", "outside", "allowed"))
        for path in (self.root, f"{self.root}/shared", self.outside, self.allowed):
            os.makedirs(path, 0o700)
        for path in (f"{self.outside}/secret", f"{self.root}/shared/good.csv"):
            with open(path, "w") as f:
                f.write("1,2,0\n")
            try:
                os.setxattr(path, "user.kept", b"x")
            except OSError:
                pass
        self.victim = subprocess.Popen(["sleep", "1000"])
        self.sockets = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        self.sockets[0].bind(f"{self.outside}/agent")
        self.sockets[1].bind("\0cse-attack-%d" % KEY)
        for s in self.sockets:
            s.listen(64)
        for words in (["-M", "1"], ["-S", "1"], ["-Q"]):
            subprocess.run(["python3", "-c", MAKE_OBJECT, words[0], str(KEY)], check=True)
        self.server = Server("--root", self.root, "--allow_program", self.allowed, "--allow_library", self.allowed,
                             "--job_environment", "CSE_TEST_GIVEN",
                             environment={"AWS_SECRET_ACCESS_KEY": SECRET, "CSE_TEST_GIVEN": "x"})
        os.chmod(self.root, 0o700)
        self.before = self.state()

    def state(self):
        """Of all that is attacked."""
        facts = []
        for path in (self.root, f"{self.root}/token", f"{self.root}/shared/good.csv", f"{self.outside}/secret"):
            found = os.stat(path)
            names = os.listxattr(path)
            facts.append((path, oct(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns if not stat.S_ISDIR(
                found.st_mode) else 0, found.st_size if not stat.S_ISDIR(found.st_mode) else 0, names))
        facts.append(sorted(os.listdir(self.outside)))
        for pid in (self.victim.pid, self.server.process.pid):
            with open(f"/proc/{pid}/limits") as f:
                facts.append([line for line in f if line.startswith("Max cpu time")])
            facts.append((os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid), os.sched_getaffinity(pid)))
        return facts

    def build(self, name, *flags):
        source = f"{os.environ['top_srcdir']}/tests/dashboard/programs/attacks_on_others.c"
        defines = [f'-DTOP="{self.top}"', f'-DQUEUE="{self.root}"', f"-DVICTIM={self.victim.pid}", f"-DKEY={KEY}",
                   f'-DKEY_TEXT="{KEY}"', "-D_GNU_SOURCE"]
        models = [f"{os.environ['top_srcdir']}/examples/outside/linear_model.c"] if "-shared" in flags else []
        subprocess.run(["cc", "-std=gnu11", "-w", *flags, *defines, f"-I{os.environ['top_srcdir']}/include", "-o",
                        f"{self.allowed}/{name}", source, *models], check=True)
        return f"{self.allowed}/{name}"

    def refuses(self, least, space):
        there = self.server.get(f"{API}/version").json()["confinement"]
        return there["landlock"] >= least or (space is not None and space in there.get("name_spaces", []))

    def judge(self, id, log):
        results = {words[1]: int(words[2]) for line in log.splitlines() if (words := line.split())[:1] == ["attacks:"]}
        check(len(results) > 50, log)
        left = []
        for name, result in sorted(results.items()):
            if name in OWN:
                equal(result, 0, name)
            elif name in MARKS:
                equal(result, 0 if self.refuses(99, "mounts") else errno.EPERM, name)
            elif name in BY_LAYER and not self.refuses(*BY_LAYER[name]):
                print(f"    {id}: {name} is not refused here: it needs {BY_LAYER[name]}")
            elif result not in REFUSALS:
                left.append((name, result))
        equal(left, [], f"{id}: attacks that were not refused")
        equal(self.state(), self.before, f"{id}: what is not the job's")
        check(SECRET not in log, log)

    def stop(self):
        support.end_jobs(self.server)
        self.server.stop()
        self.victim.kill()
        equal(self.victim.wait(), -9, "the other process was alive")
        for s in self.sockets:
            s.close()
        subprocess.run(["python3", "-c", REMOVE_OBJECTS, str(KEY)], check=True)


MAKE_OBJECT = """import ctypes, sys
c, key = ctypes.CDLL(None), int(sys.argv[2])
{"-M": lambda: c.shmget(key, 4096, 0o1600), "-S": lambda: c.semget(key, 1, 0o1600), "-Q": lambda: c.msgget(key, 0o1600)}[sys.argv[1]]()
"""
REMOVE_OBJECTS = """import ctypes, sys
c, key = ctypes.CDLL(None), int(sys.argv[1])
c.shmctl(c.shmget(key, 1, 0o600), 0, None), c.semctl(c.semget(key, 1, 0o600), 0, 0), c.msgctl(c.msgget(key, 0o600), 0, None)
"""


def run(kind, name_spaces=None):
    place = Place()
    try:
        there = place.server.get(f"{API}/version").json()["confinement"]["name_spaces"]
        check(name_spaces is None or (there != []) == name_spaces, there)
        if kind == "program":
            body = {"program": place.build("attacks", "-DIS_PROGRAM")}
        else:
            library = place.build("attacks.so", "-shared", "-fPIC")
            body = {"config": support.configuration(4).replace(
                "{ name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4 }",
                f"{{ library: {library}, name: linear_model, input_size: 16, num_classes: 4 }}")}
        place.before = place.state()
        answer = place.server.request("PUT", f"{API}/jobs/attack", body)
        equal(answer.status, 201, answer.body)
        place.server.wait_for("attack", "SUCCEEDED", "FAILED")
        support.until(lambda: not place.server.job("attack")["alive"])
        with open(f"{place.root}/attack/start.log") as f:
            log = f.read()
        equal(place.server.job("attack")["state"], "SUCCEEDED", log)
        place.judge(kind, log)
    finally:
        place.stop()


def a_program_changes_nothing_of_others():
    run("program")


def a_library_changes_nothing_of_others():
    run("library")


def so_it_is_without_name_spaces():
    """As on a machine that does not let users have them; inside of one, since this machine may."""
    folder, before = support.folder(), support.EXECUTABLE
    with open(f"{folder}/csengine", "w") as f:
        f.write("#!/bin/sh\nexec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"' sh "
                f"{os.path.abspath(before)} \"$@\"\n")
    os.chmod(f"{folder}/csengine", 0o700)
    if subprocess.run([f"{folder}/csengine", "--version"], capture_output=True).returncode != 0:
        print("    this machine lets users have no name spaces: the cases before were without")
        return
    support.EXECUTABLE = f"{folder}/csengine"
    try:
        run("program", name_spaces=False)
    finally:
        support.EXECUTABLE = before


if __name__ == "__main__":
    support.main([a_program_changes_nothing_of_others, a_library_changes_nothing_of_others, so_it_is_without_name_spaces])
