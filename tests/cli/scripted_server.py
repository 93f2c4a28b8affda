"""A scripted server of the REST API for tests of the command line. It records every request as a
line of JSON, and simulates faults: lost connections, changes by other clients, interrupted
streams.

Usage: scripted_server.py ADDRESS RECORD READY [TOKEN]; ADDRESS is a port (0: any) or a path.
"""
import http.server
import json
import os
import socketserver
import sys

record = open(sys.argv[2], "a", buffering=1)
token = sys.argv[4] if len(sys.argv) > 4 else None
state = {"patched": 0, "streams": 0, "dropped": 0, "labels": {"team": "vision"}}


def job(identity, **more):
    return {"id": identity, "name": "näme", "state": "RUNNING", "reason": None, "message": "",
            "priority": "p2", "labels": state["labels"], "created_ms": 1700000000000,
            "started_ms": 1700000001000, "ended_ms": 1700003724000, "waiting_for": None,
            "progress": {"step": 250, "last_step": 1000, "loss": 0.5, "minimum_loss": None,
                         "samples_per_second": 10.0, "steps_per_second": 1.0,
                         "eta_seconds": 3700.0}, "model_dir": "/x", **more}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def address_string(self):
        return "client"

    def answer(self, status, value, content_type="application/json", **headers):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status, detail, errors=None):
        value = {"type": "urn:x", "title": "A title", "status": status, "detail": detail}
        if errors:
            value["errors"] = errors
        self.answer(status, value, "application/problem+json")

    def handle_request(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        headers = {name.lower(): text for name, text in self.headers.items()}
        record.write(json.dumps({"method": self.command, "path": self.path, "headers": headers,
                                 "body": json.loads(body) if body else None}) + "\n")
        if token and headers.get("authorization") != "Bearer " + token:
            return self.problem(401, "a token is wanted")
        path, _, query = self.path.partition("?")
        parts = path.split("/")[3:]
        if path == "/healthz":
            return self.answer(200, {"status": "ok"})
        if parts == ["config:validate"]:
            return self.validate(json.loads(body)["config"])
        if parts == ["jobs"]:
            return self.jobs(query, body)
        identity, command = parts[1], parts[2] if len(parts) > 2 else None
        if command == "events":
            return self.events(identity, headers)
        if command == "logs":
            return self.logs(query, headers)
        if command:
            return self.order(identity, command)
        return self.one(identity, headers, body)

    do_GET = do_POST = do_PUT = do_PATCH = handle_request

    def validate(self, config):
        if "untraceable" not in config:
            return self.answer(200, {"valid": True, "diagnostics": [], "milliseconds": 1})
        return self.answer(200, {"valid": False, "milliseconds": 1, "diagnostics": [
            {"line": 7, "column": 3, "message": "the shapes do not fit", "hint": "do not fit"}]})

    def jobs(self, query, body):
        if self.command == "GET":
            if "page_token=second" in query:
                return self.answer(200, {"jobs": [job("b", state="FAILED", reason="NUMERICS")],
                                         "next_page_token": None, "total": 2})
            return self.answer(200, {"jobs": [job("a")], "next_page_token": "second", "total": 2})
        spec = json.loads(body)
        if "wrong" in spec["config"]:
            return self.problem(422, "the configuration is wrong", [
                {"line": 4, "column": 13, "message": "unknown setting \"x\"", "hint": "remove it"},
                {"pointer": "/labels", "message": "too many"}])
        if "lose" in spec["config"] and state["dropped"] < 2:
            state["dropped"] += 1
            self.close_connection = True
            self.connection.shutdown(2)
            return None
        return self.answer(201, job("new-1", state="QUEUED"))

    def one(self, identity, headers, body):
        if identity == "missing":
            return self.problem(404, "there is no job \"missing\"")
        if self.command == "PUT":
            return self.answer(201, job(identity, state="QUEUED"))
        if self.command == "PATCH":
            state["patched"] += 1
            if state["patched"] == 1:
                return self.problem(412, "it has changed")
            for key, value in json.loads(body).get("labels", {}).items():
                state["labels"].pop(key, None)
                if value is not None:
                    state["labels"][key] = value
            return self.answer(200, job(identity), ETag='"r3"')
        ends = {"failing": {"state": "FAILED", "reason": "NUMERICS", "message": "the loss is nan"},
                "new-1": {"state": "SUCCEEDED"}, "streamed": {"state": "SUCCEEDED"}}
        return self.answer(200, job(identity, **ends.get(identity, {})),
                           ETag='"r%d"' % (state["patched"] + 1))

    def order(self, identity, command):
        if identity == "done":
            return self.problem(409, "the job has ended: SUCCEEDED")
        return self.answer(202, {"id": identity, "command": command, "state": "PAUSING",
                                 "detail": "taken"})

    def stream(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for byte in text.encode():
            self.wfile.write(bytes([byte]))

    def event(self, number, kind, payload):
        data = {"id": number, "time_ms": 1700000000000, "type": kind, "payload": payload}
        return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"

    def events(self, identity, headers):
        state["streams"] += 1
        running = self.event(3, "state", {"to_state": "RUNNING", "from_state": "STARTING",
                                          "time_ms": 1700000000000, "reason": None,
                                          "message": "step 1"})
        metric = self.event(5, "metric", {"attempt": 1, "series": {"loss": [[7, 0, 0.25]]}})
        log = self.event(6, "log", {"id": 1, "time_ms": 0, "role": "replica", "rank": 2,
                                    "level": "WARNING", "message": "slow disk"})
        last = "SUCCEEDED" if identity != "failing" else "FAILED"
        end = self.event(9, "end", {"state": last, "reason": None, "message": ""})
        if identity == "streamed" and "last-event-id" not in headers:
            return self.stream("retry: 100\n\n" + running + metric + log[:len(log) // 2])
        if identity == "streamed":
            return self.stream(log + end)
        return self.stream(running + metric + log + end)

    def logs(self, query, headers):
        line = {"time_ms": 0, "role": "coordinator", "rank": 0, "level": "INFO"}
        if "text/event-stream" in headers.get("accept", ""):
            lines = [dict(line, id=number, message=f"line {number}") for number in (2, 3)]
            return self.stream("".join(self.event(one["id"], "log", one) for one in lines) +
                               self.event(9, "end", {"state": "SUCCEEDED"}))
        lines = [dict(line, id=number, message=f"line {number}") for number in (1, 2)]
        return self.answer(200, "".join(json.dumps(one) + "\n" for one in lines).encode(),
                           "application/x-ndjson")


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class TcpServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


if sys.argv[1].startswith("/"):
    server = UnixServer(sys.argv[1], Handler)
    address = "unix:" + sys.argv[1]
else:
    server = TcpServer(("127.0.0.1", int(sys.argv[1])), Handler)
    address = "http://127.0.0.1:%d" % server.server_address[1]
with open(sys.argv[3] + ".part", "w") as file:
    file.write(address)
os.rename(sys.argv[3] + ".part", sys.argv[3])
server.serve_forever()
