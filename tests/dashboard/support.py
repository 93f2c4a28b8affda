"""Shared by the tests of the server: starting a server, requests over HTTP and over plain sockets,
event streams, and a JSON Schema validator that is independent of the server's."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

EXECUTABLE = os.environ.get("CSENGINE_EXECUTABLE", "./csengine")
SANITIZER = os.environ.get("CSE_SANITIZE", "no")
SLOW = 5 if SANITIZER != "no" else 1
API = "/api/v1"

SYNTHETIC = """trainer:
  init:
    backend: {{ compile_dir: {compiled} }}
    model: {{ name: fc_mnist, input_size: 16, hidden_sizes: [32], num_classes: 4 }}
    optimizer: {{ SGD: {{ lr: 0.01 }} }}
    loop: {{ num_steps: {steps} }}
    checkpoint: {{ steps: {checkpoint} }}
    logging: {{ log_steps: 100000 }}
    seed: 1
  fit:
    train_dataloader:
      data_processor: synthetic
      features: [16]
      classes: 4
      samples: 1024
      batch_size: 64
      micro_batch_size: 16
"""


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(str(w)[:2000] for w in what))


def equal(got, wanted, what=""):
    check(got == wanted, f"{what}: got {str(got)[:1000]}, wanted {str(wanted)[:1000]}")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


def authorization(token_file):
    """The header that lets in, of the first token in this file."""
    if token_file is None:
        return {}
    with open(token_file) as f:
        return {"Authorization": "Bearer " + f.read().split()[0]}


def lines_of(headers):
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


class Server:
    """`csengine serve` with these arguments, on a free port."""

    def __init__(self, *arguments, listen="127.0.0.1:0", environment=None):
        # Steps are compiled once for all jobs of a test program, and once for all programs.
        shared = [path for path in (COMPILED, os.environ.get("CSE_TEST_COMPILED")) if path]
        compiled = [word for path in shared for word in ("--output_root", path)]
        for path in shared:
            os.makedirs(path, exist_ok=True)
        self.arguments = [EXECUTABLE, "serve", "--json", "--listen", listen, *compiled, *arguments]
        self.environment = {**os.environ, **(environment or {})}
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment
        )
        line = self.process.stdout.readline()
        if not line:
            raise Failure("no server:", self.process.stderr.read().decode())
        self.note = json.loads(line)
        check("url" in self.note, "no server:", self.note)
        self.url = self.note["url"]
        self.authorization = authorization(self.note["token_file"])
        # As commands name it, over TCP.
        self.named = ["--server", self.url, "--token_file", self.note["token_file"] or ""]
        if self.url.startswith("http://"):
            host, _, port = self.url[7:].rpartition(":")
            self.host, self.port = host.strip("[]"), int(port)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(30 * SLOW)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure("the server did not end when asked to")
        error = self.process.stderr.read().decode()
        check("Sanitizer" not in error and "runtime error" not in error, error)
        equal(code, 0, "exit code of the server")

    def request(self, method, path, body=None, headers=None):
        """With the server's token, unless the headers say who asks."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        headers = dict(headers or {})
        if not {"Authorization", "Cookie"} & set(headers):
            headers.update(self.authorization)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    def get(self, path, **headers):
        return self.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def raw(self, data, timeout=10.0):
        """What comes back for these bytes until the server closes or says nothing more."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as s:
            received = b""
            try:
                s.sendall(data)
                while chunk := s.recv(65536):
                    received += chunk
            except (socket.timeout, ConnectionError):
                pass
            return received

    def job(self, id):
        return self.get(f"{API}/jobs/{id}").json()

    def wait_for(self, id, *states, seconds=60):
        until = time.monotonic() + seconds * SLOW
        while time.monotonic() < until:
            job = self.job(id)
            if job["state"] in states:
                return job
            check(
                job["state"] not in ("SUCCEEDED", "FAILED", "CANCELLED") or "capabilities" not in job
                or job["alive"] or job["restarts"] < job["max_num_restarts"],
                f"{id} is {job['state']} ({job['reason']}: {job['message']}), not {states}",
            )
            time.sleep(0.05)
        raise Failure(f"{id} is {self.job(id)['state']}, not {states}, after {seconds} s")


def until(condition, seconds=60):
    """What `condition` gives as soon as it is true."""
    end = time.monotonic() + seconds * SLOW
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise Failure("not true within", seconds, "s")


class Stream:
    """An event stream, read event by event."""

    def __init__(self, server, path, last_id=None, timeout=20.0):
        self.socket = socket.create_connection((server.host, server.port), timeout=timeout * SLOW)
        extra = lines_of(server.authorization)
        extra += f"Last-Event-ID: {last_id}\r\n" if last_id is not None else ""
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{extra}\r\n"
            .encode()
        )
        self.buffer, self.ended, self.comments = b"", False, 0
        head = self._until(b"\r\n\r\n")
        self.status = int(head.split()[1])
        self.chunked = b"chunked" in head.lower()
        self.text = ""

    def _more(self):
        chunk = self.socket.recv(65536)
        if not chunk:
            raise EOFError
        self.buffer += chunk

    def _until(self, mark):
        while mark not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def _chunk(self):
        size = int(self._until(b"\r\n"), 16)
        while len(self.buffer) < size + 2:
            self._more()
        data, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        if size == 0:
            raise EOFError
        return data.decode()

    def next(self):
        """The next event as (id, type, data); None when the stream is over."""
        while True:
            while "\n\n" not in self.text:
                try:
                    self.text += self._chunk()
                except EOFError:
                    return None
            block, _, self.text = self.text.partition("\n\n")
            fields = {}
            for line in block.split("\n"):
                if line.startswith(":"):
                    self.comments += 1
                else:
                    name, _, value = line.partition(": ")
                    fields[name] = value
            if "data" in fields:
                return int(fields["id"]), fields["event"], json.loads(fields["data"])

    def all(self):
        events = []
        while (event := self.next()) is not None:
            events.append(event)
        return events

    def close(self):
        self.socket.close()


# ---- JSON Schema, as far as OpenAPI documents here use it ----


def fits(document, schema, value, place="$"):
    """Faults of `value` against `schema`, as a list of texts."""
    while "$ref" in schema:
        target = document
        for word in schema["$ref"].split("/")[1:]:
            target = target[word]
        schema = target
    if "oneOf" in schema:
        faults = [fits(document, form, value, place) for form in schema["oneOf"]]
        if all(faults):
            return min(faults, key=len)
    kinds = {
        "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    }

    def is_kind(kind):
        if kind == "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        if kind == "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        return isinstance(value, kinds[kind])

    wanted = schema.get("type")
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if not any(is_kind(kind) for kind in wanted):
            return [f"{place}: {value!r} is no {wanted}"]
    faults = []
    if "enum" in schema and value not in schema["enum"]:
        faults.append(f"{place}: {value!r} is none of {schema['enum']}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            faults.append(f"{place}: {value} is out of range")
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        faults.append(f"{place}: {value!r} does not match")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)):
            faults.append(f"{place}: {len(value)} items")
        for i, item in enumerate(value):
            faults += fits(document, schema.get("items", {}), item, f"{place}[{i}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        faults += [f"{place}: lacks {n}" for n in schema.get("required", []) if n not in value]
        for name, member in value.items():
            other = schema.get("additionalProperties", {})
            if name in properties:
                faults += fits(document, properties[name], member, f"{place}.{name}")
            elif other is False:
                faults.append(f"{place}: {name} is not in the schema")
            elif isinstance(other, dict):
                faults += fits(document, other, member, f"{place}.{name}")
    return faults


# ---- running a test program ----


def folder():
    """A folder that is gone after the test; short, since sockets may lie in it."""
    path = tempfile.mkdtemp(prefix="cse-dashboard-")
    FOLDERS.append(path)
    return path


FOLDERS = []
COMPILED = ""  # one folder for all, so that a step is compiled once
LONG = 2000000  # steps: more than any test waits for


def configuration(steps, checkpoint=1000000):
    """A run over data that it makes itself: a second of compiling, thousands of steps a second."""
    return SYNTHETIC.format(steps=steps, checkpoint=checkpoint, compiled=COMPILED)


def as_long(steps):
    """Steps that take about as long as so many do without a sanitizer, which makes each 10 to 30 times
    slower: for what is to happen in the midst of a run, whose length says nothing else."""
    return steps // (20 if "thread" in SANITIZER else 8 if SANITIZER != "no" else 1)


def end_jobs(server):
    """Ends what runs, so that nothing is left behind."""
    for job in server.get(f"{API}/jobs?limit=1000").json()["jobs"]:
        if job["capabilities"] and "kill" in job["capabilities"]:
            server.request("POST", f"{API}/jobs/{job['id']}/kill")
    until = time.monotonic() + 20 * SLOW
    while time.monotonic() < until:
        if not any(j["alive"] for j in server.get(f"{API}/jobs?limit=1000").json()["jobs"]):
            return
        time.sleep(0.1)


def main(tests):
    global COMPILED
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    COMPILED = folder()
    failed = 0
    only = sys.argv[1:]
    for test in tests:
        if only and test.__name__ not in only:
            continue
        begin = time.monotonic()
        try:
            test()
            print(f"ok {test.__name__} {time.monotonic() - begin:.1f} s", flush=True)
        except Exception as error:  # one failure does not hide the next
            failed += 1
            print(f"FAILED {test.__name__}: {type(error).__name__}: {error}", flush=True)
            if not isinstance(error, Failure):
                import traceback

                traceback.print_exc()
    for path in FOLDERS:
        shutil.rmtree(path, ignore_errors=True)
    sys.exit(1 if failed else 0)
