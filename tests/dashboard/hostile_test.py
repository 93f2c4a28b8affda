"""Hostile configurations over REST, through the queue and by `start --confine`: none reads, writes or runs
anything outside of its folder, each ends with a reason of the table, and the server answers to the end.

CSE_HOSTILE_CASES=FIRST:COUNT says which, CSE_HOSTILE_SEED of which seed; a case that fails is told by its
number, and repeated by FIRST=number, COUNT=1."""
import concurrent.futures
import ctypes
import hashlib
import http.server
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import support
from support import API, Server, check, equal

sys.path.append(os.path.join(os.path.dirname(__file__), "../support"))
from hostile_configurations import Grammar, Tables  # noqa: E402

FIRST, COUNT = map(int, os.environ.get("CSE_HOSTILE_CASES", "0:40").split(":"))
SEED = os.environ.get("CSE_HOSTILE_SEED", "1")
SECRET = "marker-of-what-no-job-may-read"
DATA = "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(64))
ESCAPES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
JOB_SECONDS = 15


class Watch:
    """Tells (inotify) whether any process opens, reads or changes what lies in folders."""

    READ, MODIFY, ATTRIBUTES, MOVED, CREATE, DELETE = 0x1, 0x2, 0x4, 0xC0, 0x100, 0x200

    def __init__(self, *folders):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.file = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        mask = self.READ | self.MODIFY | self.ATTRIBUTES | self.MOVED | self.CREATE | self.DELETE
        for folder in folders:
            check(self.libc.inotify_add_watch(self.file, folder.encode(), mask) >= 0, "inotify", folder)

    def events(self):
        found = []
        while select.select([self.file], [], [], 0)[0]:
            data = os.read(self.file, 65536)
            while data:
                _, mask, _, length = struct.unpack("iIII", data[:16])
                found.append((data[16:16 + length].rstrip(b"\0").decode(), hex(mask)))
                data = data[16 + length:]
        return [e for e in found if e[0]]  # of the files; the folders themselves may be listed by name


class Caller(http.server.BaseHTTPRequestHandler):
    """Nobody calls it."""

    called = []

    def do_GET(self):
        self.called.append(self.path)
        self.send_error(404)

    do_POST = do_PUT = do_GET

    def log_message(self, *_):
        pass


class Place:
    def __init__(self):
        self.top = support.folder()
        names = ("root", "outside", "programs", "canaries", "confined")
        self.root, self.outside, self.programs, self.canaries, self.confined = (f"{self.top}/{n}" for n in names)
        self.shared, self.victim = f"{self.root}/shared", f"{self.root}/victim"
        for path in (self.root, self.outside, self.programs, self.canaries, self.confined, self.shared, self.victim):
            os.makedirs(path)
        self.write(f"{self.shared}/good.csv", DATA)
        self.write(f"{self.outside}/secret", SECRET + "\n")
        self.write(f"{self.victim}/checkpoint_4.mdl", "checkpoint of another job\n")
        self.write(f"{self.programs}/run.sh", f"#!/bin/sh\ntouch {self.canaries}/program\n", 0o755)
        self.write(f"{self.programs}/plugin.so", "no library\n", 0o755)
        os.symlink(f"{self.outside}/secret", f"{self.shared}/link")
        os.symlink(self.outside, f"{self.shared}/folder")
        os.symlink(f"/proc/self/root{self.outside}/secret", f"{self.shared}/magic")
        os.mkfifo(f"{self.shared}/fifo")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(f"{self.shared}/socket")
        self.caller = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Caller)
        threading.Thread(target=self.caller.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.caller.server_port}/x"
        self.before = self.digest()
        self.server = Server("--root", self.root, "--requests_per_second", "100000")
        self.watch = Watch(self.outside, self.programs, self.canaries)
        # What takes its own folders and data is not outside: jobs of a queue may read each other's.
        places = {"secret": f"{self.outside}/secret", "outside": self.outside, "canary": f"{self.canaries}/run", "url": self.url,
                  "shared": self.shared, "root": self.root, "victim": self.victim, "library": f"{self.programs}/plugin.so",
                  "program": f"{self.programs}/run.sh"}
        self.grammar = Grammar(Tables(support.EXECUTABLE, support.folder()), places, SEED)
        self.reasons = {row["reason"]: row for row in self.rows("reasons")}
        self.exit_codes = {row["exit_code"] for row in self.rows("exit_codes")} | {2}
        self.token = self.server.authorization.get("Authorization", "none").split()[-1]

    @staticmethod
    def rows(kind):
        said = subprocess.run([support.EXECUTABLE, "list", kind, "--json"], capture_output=True, check=True)
        return json.loads(said.stdout)

    @staticmethod
    def write(path, text, mode=0o644):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)

    def digest(self):
        """Of all that no job may change."""
        lines = []
        for top in (self.outside, self.programs, self.canaries, self.victim, self.shared):
            for folder, folders, files in sorted(os.walk(top)):
                for path in (f"{folder}/{name}" for name in sorted(folders + files)):
                    facts = os.lstat(path)
                    lines.append((path, facts.st_mode, facts.st_uid, facts.st_size, facts.st_mtime_ns))
                    if os.path.isfile(path) and not os.path.islink(path):
                        with open(path, "rb") as f:
                            lines.append(hashlib.sha256(f.read()).hexdigest())
        return lines

    # ---- one case ----

    def told(self, where, text):
        """What is told holds no secret and cannot drive a terminal."""
        for secret in (SECRET, self.token, "root:x:", "root:*:"):
            check(secret.encode() not in text, where, "tells", secret, text)
        check(not ESCAPES.search(text.replace(b"\r\n", b"\n")), where, "has bytes for a terminal:", ESCAPES.findall(text))

    def ask(self, *request):
        """The answer, once there is room for a check: one that was ended may still have its process."""
        answer = self.server.request(*request)
        while answer.status == 503 and b"being checked already" in answer.body:
            time.sleep(0.05)
            answer = self.server.request(*request)
        return answer

    def validate(self, text, overrides):
        answer = self.ask("POST", f"{API}/config:validate", {"config": text, "overrides": overrides})
        check(answer.status in (200, 400, 413, 422), "config:validate:", answer.status, answer.body)
        self.told("config:validate", answer.body)
        if answer.status != 200:
            return False
        found = answer.json()
        for one in found["diagnostics"] + found["warnings"]:
            check(one["message"].strip(), "an empty message", found)
            check("signal" not in one["message"].lower(), "a signal:", one)
        return found["valid"]

    def queue(self, number, text, overrides, valid):
        id = f"case{number}"
        answer = self.ask("PUT", f"{API}/jobs/{id}", {"config": text, "overrides": overrides})
        check(answer.status in (201, 400, 413, 422), "PUT:", answer.status, answer.body)
        self.told("PUT", answer.body)
        check(valid or answer.status != 201, "taken, although config:validate refuses it:", answer.body)
        if answer.status != 201:
            return None
        until, job = time.monotonic() + JOB_SECONDS * support.SLOW, {}
        while time.monotonic() < until:
            job = self.server.job(id)
            if job["state"] in ("SUCCEEDED", "FAILED", "CANCELLED") and not job["alive"]:
                break
            time.sleep(0.05)
        else:  # it may be long: what it was asked to do is no fault
            self.server.request("POST", f"{API}/jobs/{id}/kill")
            support.until(lambda: not self.server.job(id)["alive"])
            job = self.server.job(id)
        self.ended(job)
        with open(f"{self.root}/{id}/start.log", "rb") as f:
            self.told("start.log", f.read())
        self.server.request("DELETE", f"{API}/jobs/{id}")
        return job["state"]

    def ended(self, job):
        check(job["state"] in ("SUCCEEDED", "FAILED", "CANCELLED"), "no end:", job)
        if job["state"] == "FAILED":
            check(job["reason"] in self.reasons and job["reason"] != "INTERNAL", "reason", job["reason"], job["message"])
            check(job["message"], "no message")
            check(job["exit_code"] in self.exit_codes, "exit code", job["exit_code"], job["message"])
        self.told("job", json.dumps(job, ensure_ascii=False).encode("utf-8", "replace"))

    def start(self, number, text, overrides):
        folder = f"{self.confined}/{number}"
        os.makedirs(folder)
        with open(f"{folder}/config.yaml", "wb") as f:
            f.write(text.encode("utf-8", "surrogatepass"))
        words = [word for name, value in overrides.items() if "\0" not in str(value) for word in ("--set", f"{name}={value}")]
        words = words if sum(map(len, words)) < 100000 else []
        process = subprocess.Popen(
            [support.EXECUTABLE, "start", f"{folder}/config.yaml", "--no_dashboard", "--confine", "--model_dir", f"{folder}/run",
             "--data_root", self.shared, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = process.communicate(timeout=JOB_SECONDS * support.SLOW)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=30 * support.SLOW)
            except subprocess.TimeoutExpired:
                process.kill()
                raise support.Failure("start goes on after SIGINT:", process.communicate()[0])
        check(process.returncode in self.exit_codes, "exit code", process.returncode, said)
        check(process.returncode != 70, "a fault of the program:", said)
        self.told("start", said)

    def run(self, number):
        text, overrides = self.grammar.case(number)
        try:
            valid = self.validate(text, overrides)
            state = self.queue(number, text, overrides, valid)
            if number % 5 == 0:
                self.start(number, text, overrides)
            return ("valid" if valid else "refused") + (f", {state}" if state else ""), None
        except (support.Failure, OSError, ValueError, KeyError, http.client.HTTPException) as error:
            return "fault", f"case {number} of seed {SEED}: {type(error).__name__}: {str(error)[:1500]}\n  overrides {str(overrides)[:300]}\n  {text[:1500]}"

    # ---- the end ----

    def left(self):
        """Processes of jobs that are still there."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read()
            except OSError:
                continue
            if self.top.encode() in words and int(pid) not in (self.server.process.pid, os.getpid()):
                found.append(words.replace(b"\0", b" ")[:200])
        return found

    def finish(self):
        faults = [f"{what} is touched: {how}" for what, how in self.watch.events()]
        faults += [f"called: {path}" for path in Caller.called]
        try:
            equal(self.server.get(f"{API}/version").status, 200, "the server at the end")
            support.end_jobs(self.server)
            support.until(lambda: not self.left(), 20)
            self.server.stop()
        except (support.Failure, OSError) as error:
            faults.append(f"{error} {self.left()}")
        after = self.digest()
        faults += [f"changed: {line}" for line in self.before if line not in after] + [f"new: {line}" for line in after if line not in self.before]
        self.caller.shutdown()
        return faults


def nothing_outside_is_read_written_or_run():
    place, ends, faults = Place(), {}, []
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for end, fault in pool.map(place.run, range(FIRST, FIRST + COUNT)):
            ends[end] = ends.get(end, 0) + 1
            faults += [fault] if fault else []
    faults += place.finish()
    print(f"{COUNT} configurations from case {FIRST}: {ends}")

    if faults:
        print("\n".join(faults))
        raise support.Failure(f"{len(faults)} faults")


if __name__ == "__main__":
    support.main([nothing_outside_is_read_written_or_run])
