"""Requests to a model whose weights are in a file. python3 models_in_file_test.py WORK SERVER_PID"""

import glob
import http.client
import json
import os
import sys
import threading
import time
import urllib.parse

work, server = sys.argv[1], int(sys.argv[2])
address = urllib.parse.urlparse(json.load(open(f"{work}/queue/server.json"))["url"])
token = open(f"{work}/queue/token").read().strip()
HEADERS = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def send(path, body):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=100)
    connection.request("POST", path, json.dumps(body), HEADERS)
    return connection, connection.getresponse()


def ask(path, **body):
    connection, answer = send(path, body)
    status, value = answer.status, json.loads(answer.read())
    connection.close()
    return status, value


def complete(model, prompt, tokens=12, **more):
    return ask("/v1/completions", model=model, prompt=prompt, max_tokens=tokens, **{"temperature": 0, **more})


def text(model, prompt, **more):
    status, value = complete(model, prompt, **more)
    assert status == 200, value
    return value["choices"][0]["text"]


def at_once(call, count):
    found = [None] * count

    def one(i):
        found[i] = call(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def file_of_weights():
    """Of the process that has one: the server's child."""
    for descriptor in glob.glob("/proc/[0-9]*/fd/*"):
        process = descriptor.split("/")[2]
        try:
            target = os.readlink(descriptor)
            parent = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if target.startswith(f"{work}/states/") and int(parent) == server and os.stat(descriptor).st_size > 20e6:
            return descriptor
    raise AssertionError("no process has weights in a file")


PROMPTS = [f"{i}: The license" * (1 + i) for i in range(6)]


def texts_are_those_of_memory():
    expected = [text("memory", prompt) for prompt in PROMPTS]
    assert at_once(lambda i: text("file", PROMPTS[i]), len(PROMPTS)) == expected
    drawn = [text("memory", prompt, temperature=1.5, seed=3) for prompt in PROMPTS]
    assert at_once(lambda i: text("file", PROMPTS[i], temperature=1.5, seed=3), len(PROMPTS)) == drawn


def vectors_are_those_of_memory():
    found = []
    for model in ("vectors", "vectors_file"):
        status, value = ask("/v1/embeddings", model=model, input=["a cat sat", "the sun"])
        assert status == 200, value
        found.append(value["data"])
    assert found[0] == found[1]


def lost_weights_are_told():
    """Those who had begun, by an event; who comes then has an answer of weights read anew."""
    expected = text("memory", PROMPTS[0])
    for begun in (True, False):
        if begun:
            connection, answer = send("/v1/completions", {"model": "file", "prompt": "a", "max_tokens": 200, "stream": True})
            assert answer.status == 200
            answer.read1(10)
        os.truncate(file_of_weights(), 12 << 20)
        if begun:
            told = answer.read().decode()
            assert "cannot be read" in told, told[-400:]
            connection.close()
        else:
            status, value = complete("file", PROMPTS[0])
            assert status == 500 and "cannot be read" in value["error"]["message"], (status, value)
        assert text("file", PROMPTS[0]) == expected
    os.kill(server, 0)


for case in (texts_are_those_of_memory, vectors_are_those_of_memory, lost_weights_are_told):
    began = time.monotonic()
    case()
    print(f"{case.__name__}: {time.monotonic() - began:.1f} s")
