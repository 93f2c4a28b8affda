"""A client of the Model Context Protocol. python3 mcp_test.py CSENGINE ROOT SERVER_PID"""

import json
import os
import signal
import subprocess
import sys

csengine, root, server = sys.argv[1], sys.argv[2], int(sys.argv[3])
PARSE, REQUEST, METHOD, PARAMETERS = -32700, -32600, -32601, -32602


class Assistant:
    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [csengine, "mcp", "--server", root, *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        self.number = 0

    def send(self, text):
        self.process.stdin.write(text if isinstance(text, bytes) else text.encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def answer(self, text):
        self.send(text)
        return self.read()

    def ask(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        answer = self.answer(json.dumps(message))
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.number, answer
        return answer

    def call(self, name, /, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)

    def value(self, name, /, **arguments):
        result = self.call(name, **arguments)["result"]
        assert result["isError"] is False, result
        return json.loads(result["content"][0]["text"])

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0
        assert self.process.stdout.read() == b""


def fault(answer, code, *words):
    assert answer["error"]["code"] == code, answer
    assert all(word in answer["error"]["message"] for word in words), answer


def references(value):
    if isinstance(value, dict):
        for name, one in value.items():
            yield from [one] if name == "$ref" else references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


assistant = Assistant()
found = assistant.ask("initialize", protocolVersion="2025-03-26", capabilities={},
                  clientInfo={"name": "test", "version": "1"})["result"]
assert found["protocolVersion"] == "2025-03-26" and "tools" in found["capabilities"], found
assert found["serverInfo"]["name"] == "csengine"
assert assistant.ask("initialize", protocolVersion="1999")["result"]["protocolVersion"] == "2025-06-18"
# Nothing is said to a notification: the next answer is that of the next question.
assistant.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
assistant.send("")
assert assistant.ask("ping")["result"] == {}

tools = {tool["name"]: tool for tool in assistant.ask("tools/list")["result"]["tools"]}
assert {"listJobs", "getJob", "getMetrics", "listLogs", "getExperiments", "compareRuns"} <= set(tools)
for name, tool in tools.items():
    assert name.startswith(("get", "list", "diff", "compare")), name
    assert tool["annotations"] == {"readOnlyHint": True, "destructiveHint": False}, name
assert not {"streamEvents", "getCheckpointFile", "getPrometheus", "getSession"} & set(tools)
schema = tools["getMetrics"]["inputSchema"]
assert schema["required"] == ["id"] and schema["properties"]["names"]["type"] == "array", schema
assert "If-None-Match" not in schema["properties"]
for tool in tools.values():
    for one in references(tool["inputSchema"]):
        assert one.startswith("#/$defs/") and one[8:] in tool["inputSchema"]["$defs"], (tool, one)

job = assistant.value("listJobs")["jobs"][0]
assert job["name"] == "first" and job["state"] == "SUCCEEDED", job
assert assistant.value("getJob", id=job["id"])["id"] == job["id"]
metrics = assistant.value("getMetrics", id=job["id"], names=["loss"], max_points=10)
assert "loss" in json.dumps(metrics), metrics
assert assistant.value("listJobs", where="name=first", limit=1)["jobs"][0]["id"] == job["id"]
assert assistant.value("listJobs", name="a&b=c d%/?#")["jobs"] == []
logs = assistant.call("listLogs", id=job["id"], tail=2)["result"]
assert logs["isError"] is False

# What the server refuses is for the assistant to read.
refused = assistant.call("getJob", id="no-such-job")["result"]
assert refused["isError"] and "no-such-job" in refused["content"][0]["text"], refused
refused = assistant.call("listJobs", limit=-1)["result"]
assert refused["isError"] and "limit" in refused["content"][0]["text"], refused
# What the tool has not, or needs, is told before the server is asked.
fault(assistant.call("getJob"), PARAMETERS, "getJob", "id is missing")
fault(assistant.call("getJob", id=job["id"], colour="red"), PARAMETERS, "colour", "accepted: id")
fault(assistant.call("getJob", id=[1]), PARAMETERS, "id")
fault(assistant.call("getJob", id={"a": 1}), PARAMETERS, "id")
fault(assistant.call("getJob", id=".."), PARAMETERS, "id")
fault(assistant.call("getJob", id=""), PARAMETERS, "id")
fault(assistant.call("getMetrics", id=job["id"], names=[["loss"]]), PARAMETERS, "names")
refused = assistant.call("getJob", id="../cluster")["result"]
assert refused["isError"], refused
for changing in ("createJob", "cancelJob", "deleteJob", "no tool"):
    fault(assistant.call(changing, id=job["id"]), PARAMETERS, changing)
fault(assistant.ask("tools/call", arguments={}), PARAMETERS, "name")
fault(assistant.ask("tools/call", name="getJob", arguments=[1]), PARAMETERS, "arguments")
fault(assistant.ask("resources/list"), METHOD, "resources/list", "tools/call")
fault(assistant.answer("{"), PARSE)
fault(assistant.answer(b'{"\xff": 1}\n'), PARSE)
fault(assistant.answer('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]'), REQUEST, "batches")
fault(assistant.answer('{"id": {}, "method": "ping"}'), REQUEST, "id")
fault(assistant.answer('{"id": 7}'), REQUEST, "method")
fault(assistant.answer('{"id": 7, "method": "ping", "params": [1]}'), PARAMETERS, "params")
fault(assistant.answer('{"id": 1, "method": "ping", "params": "' + "x" * (5 << 20) + '"}'), REQUEST, "4 MiB")
assert assistant.ask("ping")["result"] == {}
assistant.send('{"id": 3, "result": {}}')

# With changes allowed it steers jobs, too.
other = Assistant("--allow_changes")
more = {tool["name"]: tool for tool in other.ask("tools/list")["result"]["tools"]}
assert set(tools) < set(more) and {"createJob", "cancelJob", "patchJob", "deleteJob"} <= set(more)
assert more["deleteJob"]["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
assert "createSession" not in more
other.value("patchJob", id=job["id"], body={"labels": {"by": "assistant"}})
assert assistant.value("getJob", id=job["id"])["labels"] == {"by": "assistant"}
fault(other.call("patchJob", id=job["id"]), PARAMETERS, "body is missing")
refused = other.call("createJob", body={"nothing": 1})["result"]
assert refused["isError"], refused
gone = other.call("deleteJob", id=job["id"])["result"]
assert gone["isError"] is False and assistant.value("listJobs")["jobs"] == [], gone
other.end()

# A server that is gone is told, and does not end what serves the assistant.
os.kill(server, signal.SIGKILL)
refused = assistant.call("listJobs")["result"]
assert refused["isError"], refused
assert assistant.ask("ping")["result"] == {}
assistant.end()
print("all as expected")
