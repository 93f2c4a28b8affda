"""Requests to a model at the same time; the cases are functions. python3 models_together_test.py WORK SERVER_PID"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

work, server = sys.argv[1], int(sys.argv[2])
address = urllib.parse.urlparse(json.load(open(f"{work}/queue/server.json"))["url"])
token = open(f"{work}/queue/token").read().strip()
HEADERS = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
TOGETHER, QUEUE = 4, 3


def send(narrow=False, **body):
    """`narrow`: what is not read stays with the server, and hardly any of it in sockets."""
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=100)
    if narrow:
        connection.sock = socket.socket()
        connection.sock.settimeout(100)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sock.connect((address.hostname, address.port))
    connection.request("POST", "/v1/completions", json.dumps({"model": "quick", **body}), HEADERS)
    return connection, connection.getresponse()


def ask(**body):
    connection, answer = send(**body)
    status, value = answer.status, json.loads(answer.read())
    connection.close()
    return status, value


def texts(**body):
    status, value = ask(**body)
    assert status == 200, value
    return [(one["index"], one["text"], one["finish_reason"]) for one in value["choices"]]


def at_once(calls):
    """What each call gives, all of them made at the same time."""
    found = [None] * len(calls)

    def one(i):
        found[i] = calls[i]()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def stream(narrow=False, **body):
    connection, answer = send(narrow=narrow, stream=True, **body)
    assert answer.status == 200, answer.status
    return connection, answer


def long_stream(count=1):
    connection, answer = stream(
        prompt="the ", max_tokens=1000, temperature=1.2, seed=5, n=count
    )
    answer.readline()
    return connection, answer


def leave(*streams):
    for connection, answer in streams:
        answer.close()
        connection.close()


def written(answer, count, begun=b""):
    pieces = [""] * count
    for line in (begun + answer.read()).decode().split("\n\n"):
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                pieces[choice["index"]] += choice["text"]
    return pieces


def texts_are_those_that_they_are_alone():
    # One fewer than there is room for: the place of an answer is free a moment after it.
    prompts = ["the quick ", "over the lazy dog; the", "f", "jumps " * 20, "x" * 130]
    bodies = [
        {"prompt": prompt, "max_tokens": 20 + 7 * i, "temperature": 0.9, "seed": 11 + i, "n": 1 + i % 3}
        for i, prompt in enumerate(prompts)
    ]
    bodies += [{"prompt": "the quick ", "max_tokens": 30, "temperature": 0, "stop": ["lazy"]}]
    alone = [texts(**body) for body in bodies]
    together = at_once([lambda body=body: texts(**body) for body in bodies])
    for body, one, other in zip(bodies, alone, together):
        assert one == other, (body, one, other)
    streams = [stream(**body) for body in bodies]
    for (connection, answer), wanted in zip(streams, alone):
        assert written(answer, len(wanted)) == [text for _, text, _ in wanted], wanted
        connection.close()


def happens(share, attempt):
    """One of several attempts takes less than its share of the time that all of it takes. Where
    texts wait for one another none does, whatever else the machine has to do."""
    shares = []
    while len(shares) < 20 and (not shares or shares[-1] >= share):
        taken, whole = attempt()
        shares.append(taken / whole)
    assert shares[-1] < share, shares


def a_text_joins_those_under_way():
    def attempt():
        streams = [long_stream() for _ in range(TOGETHER - 1)]
        begun = time.monotonic()
        assert texts(prompt="the ", max_tokens=5)[0][2] == "length"
        joined = time.monotonic() - begun
        rest = at_once([lambda a=answer: a.read() for _, answer in streams])
        assert all(text.endswith(b"data: [DONE]\n\n") for text in rest)
        whole = time.monotonic() - begun
        leave(*streams)
        return joined, whole

    happens(0.5, attempt)


def many_texts_of_one_leave_place_for_another():
    big = {"prompt": "the ", "max_tokens": 300, "temperature": 1.5, "n": 12, "seed": 3}

    def attempt():
        connection, answer = stream(**big)
        answer.readline()
        begun = time.monotonic()
        texts(prompt="over ", max_tokens=4)
        taken = time.monotonic() - begun
        written(answer, 12)
        whole = time.monotonic() - begun
        connection.close()
        return taken, whole

    happens(0.75, attempt)  # the first of three turns of four texts is over by then, and no more


def who_leaves_frees_its_place():
    streams = [long_stream() for _ in range(TOGETHER)]
    found = []
    waiting = threading.Thread(target=lambda: found.append(texts(prompt="the ", max_tokens=3)))
    waiting.start()
    leave(streams.pop())
    waiting.join(60)
    assert len(found) == 1 and len(found[0]) == 1, found
    leave(*streams)


def who_does_not_read_holds_up_nobody():
    body = {"prompt": "the ", "max_tokens": 1000, "temperature": 1.2, "logprobs": 5, "n": 5, "seed": 4}
    alone = [text for _, text, _ in texts(**body)]
    slow = stream(narrow=True, **body)
    first = slow[1].readline()
    begun = time.monotonic()
    for _ in range(4):
        time.sleep(0.4)
        texts(prompt="the ", max_tokens=3)
    assert time.monotonic() - begun < 12
    # What was parked meanwhile goes on with the same bits.
    assert written(slow[1], 5, first) == alone
    leave(slow)


def who_reads_again_goes_on_though_another_does_not():
    body = {"prompt": "the ", "max_tokens": 1000, "temperature": 1.2, "logprobs": 5, "n": 8, "seed": 4}
    alone = [text for _, text, _ in texts(**body)]
    slow = []
    for _ in range(2):
        slow.append(stream(narrow=True, **body))
        slow[-1] += (slow[-1][1].readline(),)
        texts(prompt="the ", max_tokens=3)  # has a place once all texts under way rest
    for connection, answer, first in slow:
        assert written(answer, 8, first) == alone
        connection.close()


def a_full_queue_says_so():
    def short():
        return ask(prompt="the ", max_tokens=2)[0]

    streams = [long_stream() for _ in range(TOGETHER)]
    assert at_once([short] * QUEUE) == [200] * QUEUE
    leave(*streams)
    streams = [long_stream(8) for _ in range(TOGETHER)]
    codes = at_once([short] * 12)
    leave(*streams)
    assert set(codes) == {200, 429}, codes


def mistakes_among_others_are_told():
    def wrong():
        return ask(prompt="x" * 2000, max_tokens=3)

    def right():
        return texts(prompt="the quick ", max_tokens=12, temperature=0)

    alone = right()
    found = at_once([right, wrong, right, wrong])
    assert found[0] == found[2] == alone
    for status, value in (found[1], found[3]):
        assert status == 400 and value["error"]["code"] == "context_length_exceeded", value


def a_killed_process_ends_what_it_answers_alone():
    streams = [long_stream() for _ in range(TOGETHER)]
    found = []
    waiting = threading.Thread(target=lambda: found.append(ask(prompt="the ", max_tokens=3)[0]))
    waiting.start()
    time.sleep(0.1)
    children = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True)
    for pid in children.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    for connection, answer in streams:
        rest = answer.read().decode()
        assert "the model's process has ended" in rest or "[DONE]" in rest, rest[-200:]
        connection.close()
    waiting.join(60)
    assert found == [200], found


def one_that_was_killed_while_nobody_asked_takes_no_request():
    for _ in range(3):
        assert ask(prompt="the ", max_tokens=3)[0] == 200
        children = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True)
        for pid in children.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.2)
    assert ask(prompt="the ", max_tokens=3)[0] == 200


for case in (texts_are_those_that_they_are_alone, a_text_joins_those_under_way,
             many_texts_of_one_leave_place_for_another, who_leaves_frees_its_place,
             who_does_not_read_holds_up_nobody, who_reads_again_goes_on_though_another_does_not,
             a_full_queue_says_so, mistakes_among_others_are_told,
             a_killed_process_ends_what_it_answers_alone,
             one_that_was_killed_while_nobody_asked_takes_no_request):
    begun = time.monotonic()
    case()
    print("ok", case.__name__, f"{time.monotonic() - begun:.1f} s")
under_way = long_stream()  # when the server is asked to end
