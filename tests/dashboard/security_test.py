"""Forbidden requests are refused, and the server continues to serve."""
import os
import random
import socket
import stat
import subprocess
import time

import support
from support import API, EXECUTABLE, Failure, Server, check, equal

FUZZ_SEED, FUZZ_ROUNDS = 7, 5000


def status_of(received):
    return int(received.split(b" ", 2)[1]) if received.startswith(b"HTTP/1.1 ") else 0


def head(server, *lines, target=f"{API}/version", method="GET", host=True):
    text = f"{method} {target} HTTP/1.1\r\nConnection: close\r\n"
    if host:
        text += f"Host: 127.0.0.1:{server.port}\r\n"
    text += support.lines_of(server.authorization)
    return (text + "".join(line + "\r\n" for line in lines) + "\r\n").encode("latin-1")


def root_server(*arguments, **more):
    return Server("--root", support.folder() + "/root", *arguments, **more)


def answers(server, data):
    return status_of(server.raw(data))


def paths_do_not_leave():
    server = root_server()
    try:
        for target in ("/../../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                       "/assets/..%5c..%5cetc/passwd", f"{API}/jobs/..%2f..", f"{API}/jobs/../../x", "//etc/passwd",
                       f"{API}/jobs/a%00b", f"{API}/jobs/%", f"{API}/jobs/%zz", "/" + "a" * 2000, f"{API}/jobs/.",
                       f"{API}/version?a=%00", f"{API}/version?" + "a=1&" * 100):
            equal(answers(server, head(server, target=target)), 400, target[:60])
        for target in ("/etc/passwd.txt", "/server.json", "/jobs.db"):
            equal(answers(server, head(server, target=target)), 404, target)
        for id in ("..", "a/b", "-a", "a" * 65, "a b"):
            import urllib.parse

            answer = server.request("PUT", f"{API}/jobs/{urllib.parse.quote(id, safe='')}", {"config": "a: 1"})
            check(answer.status in (400, 404), id, answer.status)
    finally:
        server.stop()


def hosts_and_origins_are_checked():
    server = root_server("--host_name", "train.example")
    port = server.port
    try:
        equal(answers(server, head(server, host=False)) in (400, 403), True, "no Host")
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "[::1", "", "localhost:x"):
            equal(answers(server, head(server, f"Host: {host}", host=False)), 403, host)
        for host in ("localhost", f"localhost:{port}", "127.0.0.1", f"[::1]:{port}", "train.example", "TRAIN.example:80"):
            equal(answers(server, head(server, f"Host: {host}", host=False)), 200, host)
        for origin in ("http://evil.example", "null", f"http://127.0.0.1:{port + 1}", "file://", "http://"):
            equal(answers(server, head(server, f"Origin: {origin}")), 403, origin)
        equal(answers(server, head(server, f"Origin: http://127.0.0.1:{port}")), 200)
        equal(answers(server, head(server, "Sec-Fetch-Site: cross-site")), 403)
        equal(answers(server, head(server, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")), 200)
        equal(answers(server, head(server, "Sec-Fetch-Site: same-origin")), 200)
        equal(answers(server, head(server, "Sec-Fetch-Site: same-site", method="POST", target=f"{API}/jobs/x/kill")), 403)
    finally:
        server.stop()


def headers_stand_once():
    server = root_server()
    try:
        for line in (f"Host: 127.0.0.1:{server.port}", "Content-Length: 0", "Accept: a", "X-Any: b"):
            data = head(server, line, line)
            check(answers(server, data) in (400, 0), line)
        body = b'{"token":"x"}'
        for lines in (["Content-Length: 13", "Transfer-Encoding: chunked"], ["Content-Length: 13", "Content-Length: 14"],
                      ["Content-Length: +13"], ["Content-Length: 0x0d"], ["Content-Length: -1"], ["Content-Length: 13, 13"]):
            data = head(server, "Content-Type: application/json", *lines, method="POST", target="/session") + body
            check(answers(server, data) in (400, 0), lines, answers(server, data))
        equal(answers(server, head(server, *[f"X-{i}: 1" for i in range(100)])), 400, "many headers")
        check(answers(server, head(server, "X-Long: " + "a" * 40000)) in (400, 413, 431, 0), "a long header")
        equal(server.get("/healthz").status, 200)
    finally:
        server.stop()


def bodies_are_bounded():
    server = root_server("--client_seconds", "1")
    try:
        big = 2 << 20
        data = head(server, "Content-Type: application/json", f"Content-Length: {big}", method="POST", target="/session")
        equal(answers(server, data), 413, "told length")
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        data = head(server, "Content-Type: application/json", "Transfer-Encoding: chunked", method="POST", target="/session")
        check(answers(server, data + chunk * 20 + b"0\r\n\r\n") in (413, 0), "chunks beyond the limit")
        for body, status in ((b"", 400), (b"{", 400), (b'{"token":"a","token":"b"}', 400), (b'{"token":1}', 422),
                             (b'{"token":"a","more":1}', 422), (b"[]", 422), (b"\xff\xfe", 400), (b"[" * 100000, 400),
                             (b'{"token":"\\u0000"}', 400)):
            answer = server.request("POST", "/session", body, {"Content-Type": "application/json"})
            equal(answer.status, status, body[:40])
        answer = server.request("POST", "/session", b"token=a", {"Content-Type": "application/x-www-form-urlencoded"})
        equal(answer.status, 415)
        # Seconds for headers and for a body, however diligently bytes trickle in.
        for data in (head(server)[:-2], head(server, "Content-Type: application/json", "Content-Length: 100",
                                             method="POST", target="/session")):
            begin = time.monotonic()
            with socket.create_connection((server.host, server.port)) as s:
                s.settimeout(0.2)
                s.sendall(data)
                try:
                    while time.monotonic() - begin < 20:
                        s.sendall(b"X")
                        try:
                            if s.recv(1000) == b"":
                                break
                        except socket.timeout:
                            pass
                except ConnectionError:
                    pass
            check(time.monotonic() - begin < 8 * support.SLOW, "a slow client holds its connection")
        equal(server.get("/healthz").status, 200)
        check(b"csengine_http_late_total 2" in server.get("/metrics").body, "late clients are counted")
    finally:
        server.stop()


def write_token(text="0123456789abcdef0123", mode=0o600):
    path = support.folder() + "/token"
    with open(path, "w") as f:
        f.write(text + "\n")
    os.chmod(path, mode)
    return path


def tokens_are_asked_for():
    token = "0123456789abcdef0123"
    server = root_server("--token_file", write_token(token))
    server.authorization = {}
    try:
        for path in ("/healthz", "/readyz", "/openapi.json", "/session", "/"):
            equal(server.get(path).status, 200, path)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {token}"},
                        {"Authorization": "Bearer "}, {"Authorization": f"Bearer {token}x"},
                        {"Cookie": "csengine_session=1.2.3"}, {"Cookie": f"csengine_session={token}"}):
            for path in (f"{API}/jobs", "/metrics", f"{API}/jobs/x/events"):
                answer = server.request("GET", path, headers=headers)
                equal(answer.status, 401, f"{path} {headers}")
                check("Bearer" in answer.headers["WWW-Authenticate"], "challenge")
        equal(server.request("GET", f"{API}/jobs", headers={"Authorization": f"Bearer {token}"}).status, 200)
        equal(server.request("POST", "/session", {"token": "wrong"}).status, 401)
        answer = server.request("POST", "/session", {"token": token})
        equal(answer.status, 204)
        cookie = answer.headers["Set-Cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            check(word in cookie, word)
        cookie = {"Cookie": cookie.split(";")[0]}
        equal(server.request("GET", f"{API}/jobs", headers=cookie).status, 200)
        check(server.request("GET", "/session", headers=cookie).json()["authenticated"], "known")
        forged = cookie["Cookie"].replace("=1", "=9", 1)
        equal(server.request("GET", f"{API}/jobs", headers={"Cookie": forged}).status, 401, "a later expiry")
        equal(server.request("DELETE", "/session", headers=cookie).status, 204)
        equal(server.request("GET", f"{API}/jobs", headers=cookie).status, 401, "a cookie that was given back")
    finally:
        server.stop()


def refuses_to_start(*arguments, exit_code, message):
    result = subprocess.run([EXECUTABLE, "serve", *arguments], capture_output=True, timeout=20 * support.SLOW)
    equal(result.returncode, exit_code, arguments)
    check(message in result.stderr.decode(), result.stderr.decode())


def open_addresses_need_a_token():
    root = support.folder() + "/root"
    refuses_to_start("--root", root, "--listen", "0.0.0.0:0", exit_code=77, message="--token_file")
    refuses_to_start("--root", root, "--listen", "[::]:0", exit_code=77, message="--token_file")
    refuses_to_start("--root", root, "--token_file", write_token(mode=0o644), exit_code=77, message="chmod 600")
    refuses_to_start("--root", root, "--token_file", write_token("short"), exit_code=65, message="16 to")
    refuses_to_start("--root", root, "--token_file", root + "/none", exit_code=66, message="openssl")
    refuses_to_start("--root", root, "--listen", "127.0.0.1", exit_code=64, message="accepted")
    refuses_to_start("--root", root, "--run", root, exit_code=64, message="--root DIR")
    refuses_to_start("--run", root, exit_code=66, message="run store")
    server = root_server("--token_file", write_token(), listen="0.0.0.0:0")
    server.host = "127.0.0.1"
    try:
        server.authorization = {}
        equal(server.get(f"{API}/jobs").status, 401)
    finally:
        server.stop()


def sockets_are_private():
    path = support.folder() + "/s"
    server = root_server(listen=f"unix:{path}")
    try:
        equal(server.url, f"unix:{path}")
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            check(s.recv(1000).startswith(b"HTTP/1.1 200"), "over a socket")
        refuses_to_start("--root", support.folder() + "/r", "--listen", f"unix:{path}", exit_code=69,
                         message="another server")
    finally:
        server.stop()
    check(not os.path.exists(path), "the socket stays behind")


def rates_are_bounded():
    server = root_server("--requests_per_second", "20")
    try:
        statuses = [server.get("/healthz").status for _ in range(100)]
        check(statuses[:20] == [200] * 20 and 429 in statuses, statuses)
        answer = next(a for a in iter(lambda: server.get("/healthz"), None) if a.status == 429)
        check(int(answer.headers["Retry-After"]) >= 1, "Retry-After")
        time.sleep(1)
        equal(server.get("/healthz").status, 200, "after a while")
    finally:
        server.stop()


def figure(server, name):
    lines = server.get("/metrics").body.decode().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name + " "))


def connections_are_bounded():
    server = root_server("--connections", "8")
    try:
        held = []
        for _ in range(30):
            s = socket.create_connection((server.host, server.port))
            s.settimeout(0.05)
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            held.append(s)
        time.sleep(1)
        served = 0
        for s in held:
            try:
                served += s.recv(1000).startswith(b"HTTP/1.1 200")
            except OSError:
                pass
        # Those that have their answer make room for the others, which are more than there may be at once.
        check(served >= 8, served, "are served")
        check(int(figure(server, "csengine_http_connections")) <= 8, "connections")
        for s in held:
            s.close()
        until = time.monotonic() + 10
        while answers(server, head(server, target="/healthz")) != 200:
            check(time.monotonic() < until, "nobody is served any more")
            time.sleep(0.1)
    finally:
        server.stop()


def every_answer_has_its_guards():
    server = root_server()
    try:
        for path in ("/", f"{API}/jobs", "/nothing.js", f"{API}/nothing"):
            headers = server.get(path).headers
            check("default-src 'self'" in headers["Content-Security-Policy"], path)
            check("unsafe" not in headers["Content-Security-Policy"], path)
            equal(headers["X-Content-Type-Options"], "nosniff", path)
            equal(headers["X-Frame-Options"], "DENY", path)
            check("Access-Control-Allow-Origin" not in headers, path)
    finally:
        server.stop()


SEEDS = [
    f"GET {API}/jobs?limit=3&state=RUNNING&label=a=b HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    f'POST {API}/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 44\r\n\r\n'
    '{"config":"trainer: {}","labels":{"a":"b"}}\n',
    f"POST {API}/config:validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    'Content-Length: 62\r\n\r\n{"config":"trainer:\\n  init: {seed: [1]}\\n","depth":"settings"}',
    f"PATCH {API}/jobs/a HTTP/1.1\r\nHost: localhost\r\nIf-Match: \"v0.a\"\r\nContent-Type: "
    'application/merge-patch+json\r\nContent-Length: 17\r\n\r\n{"priority":"p1"}',
    "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    'd\r\n{"token":"a"}\r\n0\r\n\r\n',
    f"GET {API}/jobs/a/events?types=state,metric HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 4\r\n\r\n",
]


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 9)))
        elif kind == 2:
            del data[at:at + rng.randint(1, 12)]
        elif kind == 3:
            data[at:at] = rng.choice([b"\r\n", b"%00", b"%2e%2e/", b"{", b"[[[[", b'"', b"\0", b"&a=", b"99999999999999999999",
                                      b"-1", b"\\ud800", b"\xed\xa0\x80", b": ", b"*", b"&x *x", b"!!float 1", b"? [a]"])
        elif kind == 4:
            end = at + rng.randint(1, 40)
            data[at:at] = data[at:end] * rng.randint(1, 20)
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def odd_bytes_harm_nothing():
    """Requests with changed bytes, in any part: each is answered below 500 (505: no such version) or cut."""
    server = root_server("--client_seconds", "2")
    rng = random.Random(FUZZ_SEED)
    pid = server.process.pid
    try:
        for i in range(FUZZ_ROUNDS):
            seed = rng.choice(SEEDS)
            if rng.randrange(8) > 0:
                seed = seed.replace("\r\n\r\n", "\r\n" + support.lines_of(server.authorization) + "\r\n", 1)
            data = mutate(rng, seed.encode())
            with socket.create_connection((server.host, server.port)) as s:
                s.settimeout(0.004)
                try:
                    s.sendall(data)
                    status = status_of(s.recv(4096))
                except OSError:
                    status = 0
            check(status < 500 or status == 505, i, data, status)
        until = time.monotonic() + 10
        while server.get("/healthz").status != 200 and time.monotonic() < until:
            time.sleep(0.1)
        check(server.process.poll() is None and server.process.pid == pid, "the server is gone")
        check(b"csengine_http_errors_total 0" in server.get("/metrics").body, "an answer of 5xx")
    finally:
        support.end_jobs(server)
        server.stop()


if __name__ == "__main__":
    support.main([
        paths_do_not_leave, hosts_and_origins_are_checked, headers_stand_once, bodies_are_bounded,
        tokens_are_asked_for, open_addresses_need_a_token, sockets_are_private, rates_are_bounded,
        connections_are_bounded,
        every_answer_has_its_guards, odd_bytes_harm_nothing,
    ])
