"""What a second user (65534) of the machine gets of a server, its folder and its runs: nothing."""
import encodings.idna  # noqa: F401: cannot be loaded any more by a user who may not read it
import http.client
import json
import os
import socket
import stat
import subprocess
import traceback

import support
from support import API, EXECUTABLE, Server, check, equal

NOBODY = 65534


def as_nobody(action):
    """What `action` gives, as JSON, in a process of the other user."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writable, json.dumps(action()).encode())
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writable)
    with os.fdopen(readable) as f:
        text = f.read()
    equal(os.waitpid(child, 0)[1], 0, "the second user's process")
    return json.loads(text)


def refused(call, *arguments):
    try:
        call(*arguments)
        return None
    except OSError as error:
        return type(error).__name__


def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)


def statuses(host, port, requests):
    got = []
    for method, path, body, headers in requests:
        connection = http.client.HTTPConnection(host, port, timeout=60)
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        got.append(connection.getresponse().status)
        connection.close()
    return got


CONFIG = json.dumps({"config": "trainer: {init: {model: {name: m, library: /tmp/evil.so}}}"})
CALLS = [("GET", f"{API}/jobs", None), ("POST", f"{API}/config:validate", CONFIG), ("POST", f"{API}/jobs", CONFIG),
         ("PUT", f"{API}/jobs/mine", CONFIG), ("GET", "/metrics", None), ("GET", f"{API}/audit", None),
         ("POST", f"{API}/jobs/any/kill", None), ("GET", f"{API}/jobs/any/events", None)]


def attack(server, folder):
    guesses = [{}, {"Authorization": "Bearer x"}, {"Cookie": f"csengine_session_{server.port}=9999999999.00.00"}]
    got = as_nobody(lambda: statuses(server.host, server.port, [(*c, g) for c in CALLS for g in guesses]))
    equal(got, [401] * len(got), "calls without a token")
    equal(as_nobody(lambda: refused(connect, server.note["socket"])), "PermissionError", "the socket")
    for name in ("token", "server.sock"):
        path = f"{folder}/{name}"
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, name)
        equal(as_nobody(lambda: refused(open, path)) is None, False, name)
        equal(as_nobody(lambda: refused(os.unlink, path)), "PermissionError", f"removing {name}")


def nothing_of_a_queue():
    outer = support.folder()
    os.chmod(outer, 0o755)
    root = outer + "/root"
    before = os.umask(0)
    try:
        server = Server("--root", root)
    finally:
        os.umask(before)
    try:
        equal(stat.S_IMODE(os.stat(root).st_mode), 0o700, "the root")
        attack(server, root)
        for name in os.listdir(root):
            check(as_nobody(lambda: refused(open, f"{root}/{name}")), name, "can be read")
        equal(as_nobody(lambda: refused(os.listdir, root)), "PermissionError", "the root's names")
    finally:
        server.stop()


def nothing_of_a_run():
    """The folder of a run may be open to others; its server is not."""
    outer = support.folder()
    os.chmod(outer, 0o755)
    with open(outer + "/c.yaml", "w") as f:
        f.write(support.configuration(support.LONG))
    environment = {k: v for k, v in os.environ.items() if k != "CSE_DASHBOARD"}
    run = subprocess.Popen([EXECUTABLE, "start", outer + "/c.yaml", "--model_dir", outer + "/r", "--json"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    try:
        note = json.loads(run.stdout.readline())
        while note["event"] != "listening":
            note = json.loads(run.stdout.readline())
        server = Server.__new__(Server)
        server.note = note
        host, _, port = note["url"][7:].rpartition(":")
        server.host, server.port = host, int(port)
        os.chmod(outer + "/r", 0o755)
        attack(server, outer + "/r")
    finally:
        run.terminate()
        run.wait(60 * support.SLOW)
        run.stdout.close()
    support.until(lambda: not os.path.exists(outer + "/r/token"))


def a_foreign_socket_is_not_believed():
    """Where the folder is open to others, the file of the token they put there is not taken."""
    root = support.folder() + "/root"
    os.makedirs(root)
    with open(root + "/token", "w") as f:
        f.write("a-token-that-another-user-knows\n")
    os.chmod(root + "/token", 0o600)
    os.chown(root + "/token", NOBODY, NOBODY)
    server = Server("--root", root)
    try:
        equal(os.stat(root + "/token").st_uid, os.geteuid())
        known = {"Authorization": "Bearer a-token-that-another-user-knows"}
        equal(server.request("GET", f"{API}/jobs", headers=known).status, 401)
        equal(server.get(f"{API}/jobs").status, 200)
    finally:
        server.stop()


def over_socket(path, request):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(path)
        s.sendall(request)
        received = b""
        while chunk := s.recv(65536):
            received += chunk
        return received


def only_the_owner_goes_without_a_token():
    """A socket that the owner has opened to others asks them for the token, and not him."""
    path = support.folder() + "/s"
    os.chmod(os.path.dirname(path), 0o755)
    server = Server("--root", support.folder() + "/root", listen=f"unix:{path}")
    os.chmod(path, 0o666)
    request = f"GET {API}/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    try:
        check(over_socket(path, request).startswith(b"HTTP/1.1 200"), "the owner")
        theirs = as_nobody(lambda: over_socket(path, request).decode("latin-1"))
        check(theirs.startswith("HTTP/1.1 401"), theirs)
    finally:
        server.stop()


if __name__ == "__main__":
    support.main([nothing_of_a_queue, nothing_of_a_run, a_foreign_socket_is_not_believed,
                  only_the_owner_goes_without_a_token])
