"""A client of plain sockets: idle connections, framing, depth, and characters for terminals."""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time

import support
from support import API, EXECUTABLE, Server, check, equal

IDLE = 4300
BODY = '{"token":"x"}'
CHUNKED = f"{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n"
NEXT = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def statuses(received):
    return [int(s) for s in re.findall(rb"HTTP/1\.1 (\d+)", received)]


def post(server, lines, body):
    """What a request with these header lines gets, and one that follows in the same packet."""
    head = "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return server.raw((head + lines + "\r\n" + body + NEXT).encode("latin-1"))


def others_get_in_beside_idle_connections():
    """As many as there may be and more, silent or in the middle of a request, and opened again."""
    server = Server("--root", support.folder() + "/root")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    held = []
    try:
        check(limit[1] > IDLE + 100, "too few descriptors for this test")
        stream = support.Stream(server, f"{API}/jobs/none/events")
        equal(stream.status, 404)
        stream.close()
        signed_in = socket.create_connection((server.host, server.port), timeout=60)
        ask = f"GET {API}/jobs HTTP/1.1\r\nHost: localhost\r\n{support.lines_of(server.authorization)}\r\n".encode()
        signed_in.sendall(ask)
        check(signed_in.recv(65536).startswith(b"HTTP/1.1 200"), "signed in")
        for i in range(IDLE):
            s = socket.create_connection((server.host, server.port), timeout=60)
            if i % 2 == 0:
                s.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
            held.append(s)
        times = []
        for _ in range(20):
            begin = time.monotonic()
            equal(server.get(f"{API}/jobs").status, 200)
            times.append(time.monotonic() - begin)
        print(f"beside {IDLE} idle connections: {max(times) * 1000:.1f} ms at most", flush=True)
        check(max(times) < 5 * support.SLOW, times)
        signed_in.sendall(ask)
        check(signed_in.recv(65536).startswith(b"HTTP/1.1 200"), "who is known keeps the connection")
    finally:
        for s in held:
            s.close()
        server.stop()
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def bodies_have_one_end():
    server = Server("--root", support.folder() + "/root")
    length = f"Content-Length: {len(BODY)}\r\n"
    te = "Transfer-Encoding: chunked\r\n"
    try:
        for lines, body in ((length, BODY), (te, CHUNKED)):
            equal(statuses(post(server, lines, body)), [401, 200], lines)
        refused = [
            (f"{length}{te}", CHUNKED), (f"{te}{length}", CHUNKED), (f"{length}Transfer-Encoding:\r\n chunked\r\n", CHUNKED),
            (f"{length}Transfer-Encoding :chunked\r\n", CHUNKED), (f"{length}Transfer-Encoding : chunked\r\n", CHUNKED),
            (f"{length}Transfer-Encoding\t: chunked\r\n", CHUNKED), (f"{length}TE : chunked\r\n", CHUNKED),
            ("Transfer-Encoding : chunked\r\n", CHUNKED), (f"X-A: b\r\n {te}{length}", CHUNKED),
            (f"{length}{length}", BODY), (f"{length}Content-Length: 0\r\n", BODY), ("Content-Length : 13\r\n", BODY),
            (" Content-Length: 13\r\n", BODY), ("Transfer-Encoding: xchunked\r\n", CHUNKED),
            ("Transfer-Encoding: gzip, chunked\r\n", CHUNKED), ("Transfer-Encoding: identity\r\n" + length, BODY),
            ("X: a\x01b\r\n" + length, BODY), ("X(: a\r\n" + length, BODY),
        ]
        for lines, body in refused:
            equal(statuses(post(server, lines, body)), [400], repr(lines))
        # The library answers these itself, with one header twice; it then reads nothing more.
        for lines in ("Content-Length: 18446744073709551618\r\n", "Content-Length: 18446744073709551629\r\n",
                      "Content-Length: 13, 13\r\n", "Content-Length: +13\r\n", "Content-Length: 0x0d\r\n"):
            received = post(server, lines, BODY)
            check(set(statuses(received)) <= {400, 413} and received.count(b"<html>") == 1, lines, received)
            equal(received.count(b"Connection: close"), len(statuses(received)), lines)
        # Through a proxy a connection carries one request.
        for name in ("Via: 1.1 p", "X-Forwarded-For: 10.0.0.1"):
            received = server.raw((NEXT.replace("Connection: close", name) + NEXT).encode())
            equal(statuses(received), [200], name)
    finally:
        server.stop()


def resident_kib(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


def depth_is_bounded():
    """A megabyte of brackets: refused with its place, before a parser has room for it."""
    server = Server("--root", support.folder() + "/root")
    try:
        server.request("POST", f"{API}/config:validate", {"config": "trainer: {}", "depth": "settings"})
        before = resident_kib(server)
        many = 1_000_000
        for text in ("[" * many, "{" * many, "{a: " * (many // 4), "- " * (many // 2), '["]",' * (many // 8),
                     "it's " + "[" * many, "[? " * (many // 3), "".join(" " * i + "a:\n" for i in range(1000))):
            for path in (f"{API}/config:validate?depth=settings", f"{API}/jobs"):
                answer = server.request("POST", path.split("?")[0], {"config": text, "depth": "settings"}
                                        if "validate" in path else {"config": text})
                found = answer.json().get("diagnostics") or answer.json().get("errors")
                check(found and found[0]["line"] >= 1, path, text[:20], answer.body[:300])
        for depth, status in ((64, 422), (65, 400), (1000, 400), (500_000, 400)):
            answer = server.request("POST", "/session", b"[" * depth + b"]" * depth, {"Content-Type": "application/json"})
            equal(answer.status, status, depth)
        found = answer.json()["errors"][0]
        equal((found["line"], found["column"]), (1, 65))
        equal(server.request("POST", "/session", b'{"token":"' + b"[" * 1000 + b'"}',
                             {"Content-Type": "application/json"}).status, 401, "in quotes")
        grown = (resident_kib(server) - before) / 1024
        print(f"the server grew by {grown:.0f} MiB", flush=True)
        check(grown < 300 or support.SLOW > 1, "MiB", grown)
    finally:
        server.stop()


ESCAPES = "\x1b[31mred\x07\x9b31m\u202e\x7f"


def terminals_get_no_escapes():
    """Text of clients, in names, labels, messages and configurations, as commands print it."""
    server = Server("--root", support.folder() + "/root", "--cores", "1")
    raw = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
    try:
        text = support.configuration(50)
        equal(server.request("PUT", f"{API}/jobs/a", {"config": text, "labels": {"k": ESCAPES}}).status, 422)
        equal(server.request("PUT", f"{API}/jobs/a", {"config": text, "name": ESCAPES}).status, 422)
        equal(server.request("PUT", f"{API}/jobs/a", {"config": text, "name": "a"}).status, 201)
        equal(server.request("PUT", f"{API}/jobs/b", {"config": text, "name": "b"}).status, 201)
        equal(server.request("POST", f"{API}/jobs/b/cancel", {"message": ESCAPES}).status, 202)
        for command in (["get", "jobs"], ["get", "job", "a"], ["get", "job", "b"], ["logs", "b"], ["pause", ESCAPES],
                        ["submit", "/dev/null", "--name", ESCAPES], ["label", "b", f"k={ESCAPES}"]):
            done = subprocess.run([EXECUTABLE, *command, *server.named], capture_output=True, timeout=60 * support.SLOW)
            for output in (done.stdout, done.stderr):
                found = raw.search(output.decode("utf-8", "replace"))
                check(not found, command, found, output)
        answer = server.request("POST", f"{API}/config:validate", {"config": f'"{ESCAPES}": 1', "depth": "settings"})
        equal(answer.status, 200)
        for target in (f"{API}/jobs/a%7Fb", f"{API}/jobs/a%C2%9Bb", f"{API}/jobs/%1B", f"/{ESCAPES.encode().hex()}"):
            check(server.get(target).status in (400, 404, 200), target)
        for method in ("POST", "PUT"):
            server.request(method, f"{API}/jobs/a%C2%9B31mb/kill", {})
    finally:
        support.end_jobs(server)
        server.process.terminate()
        said = server.process.stderr.read().decode("utf-8", "replace")
        server.process.wait(60 * support.SLOW)
        check(not raw.search(said), "the log", repr(said))


def checkers(server):
    """Processes that check a configuration for this server, by the session that each chain of them leads."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
        except OSError:
            continue
        if fields[0] != "Z" and "--validate_only" in words and os.path.exists(os.path.dirname(words[2])):
            found.append((int(pid), int(fields[1]), int(fields[3])))
    own = {session for pid, parent, session in found if parent == server.process.pid}
    return {pid: session for pid, _, session in found if session in own}


def ask_for_check(server, text):
    s = socket.create_connection((server.host, server.port), timeout=60 * support.SLOW)
    body = json.dumps({"config": text})
    s.sendall(f"POST {API}/config:validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              f"Content-Length: {len(body)}\r\n{support.lines_of(server.authorization)}\r\n{body}".encode())
    return s


def slow_checks_hold_nobody():
    """Two checks that stand still: a third is told to come again, others are served, and a check ends with its
    client, or at its limit of time, with all its processes."""
    server = Server("--root", support.folder() + "/root")
    text = support.configuration(50)
    stopped, asked = set(), []
    try:
        equal(server.request("POST", f"{API}/config:validate", {"config": text}).json()["valid"], True)

        def stop_them():
            """How many checks stand still."""
            running = checkers(server)
            for pid in set(running) - stopped:
                os.kill(pid, signal.SIGSTOP)
                stopped.add(pid)
            return len({running[pid] for pid in stopped if pid in running})

        for wanted in (1, 2):
            while len(asked) < wanted:  # a check may end before it is found
                s = ask_for_check(server, text)
                s.setblocking(False)
                end = time.monotonic() + 60 * support.SLOW
                while stop_them() < wanted and time.monotonic() < end:
                    try:
                        s.recv(1)
                        break
                    except BlockingIOError:
                        pass
                else:
                    asked.append(s)
                    continue
                s.close()
        answer = server.request("POST", f"{API}/config:validate", {"config": text})
        equal(answer.status, 503, answer.body)
        check(int(answer.headers["Retry-After"]) >= 1, "Retry-After")
        equal(server.get(f"{API}/jobs").status, 200)
        equal(server.request("POST", f"{API}/config:validate", {"config": text, "depth": "settings"}).status, 200)
        asked.pop().close()
        support.until(lambda: server.request("POST", f"{API}/config:validate", {"config": text}).status == 200)
        asked[0].settimeout(60 * support.SLOW)
        received = asked[0].recv(65536)
        check(b"took too long" in received or b"ended before" in received, received)
        support.until(lambda: not checkers(server), 10)
        support.until(lambda: not [p for p in stopped if os.path.exists(f"/proc/{p}")])
    finally:
        for s in asked:
            s.close()
        server.stop()


if __name__ == "__main__":
    support.main([others_get_in_beside_idle_connections, bodies_have_one_end, depth_is_bounded,
                  terminals_get_no_escapes, slow_checks_hold_nobody])
