"""Requests to a model that is served; the cases are functions. python3 models_test.py WORK SERVER_PID"""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

work, server = sys.argv[1], int(sys.argv[2])
address = urllib.parse.urlparse(json.load(open(f"{work}/queue/server.json"))["url"])
token = open(f"{work}/queue/token").read().strip()
HEADERS = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}


def send(path, body, headers=None, method="POST"):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    text = body if isinstance(body, (str, type(None))) else json.dumps(body)
    connection.request(method, path, text, headers or HEADERS)
    return connection, connection.getresponse()


def ask(path, **body):
    connection, answer = send(path, body)
    status, value = answer.status, json.loads(answer.read())
    connection.close()
    return status, value, answer


def chat(text, **more):
    more = {"temperature": 0, "max_tokens": 10, "model": "quick", **more}
    return ask("/v1/chat/completions", messages=[{"role": "user", "content": text}], **more)


def events(path, **body):
    connection, answer = send(path, {"model": "quick", "stream": True, "temperature": 0, **body})
    assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream", answer.status
    text = answer.read().decode()
    connection.close()
    blocks = text.split("\n\n")
    assert blocks[-2:] == ["data: [DONE]", ""], text[-200:]
    assert all(block.startswith("data: ") for block in blocks[:-1]), text
    return [json.loads(block[6:]) for block in blocks[:-2]]


def answers_have_their_form():
    connection, answer = send("/v1/models", None, method="GET")
    listed = json.loads(answer.read())
    assert [one["id"] for one in listed["data"]] == ["quick", "whale", "rest", "whale_adapter", "vectors"] and listed["object"] == "list", listed
    status, value, _ = chat("the quick b")
    assert status == 200, value
    assert value["choices"][0]["message"] == {"role": "assistant", "content": "rown fox j", "refusal": None}, value
    assert value["choices"][0]["finish_reason"] == "length" and value["model"] == "quick"
    assert value["usage"] == {"prompt_tokens": 11, "completion_tokens": 10, "total_tokens": 21}, value
    status, value, _ = chat([{"type": "text", "text": "the qui"}, {"type": "text", "text": "ck b"}], stop=["fox", "zebra"], n=2)
    assert [one["message"]["content"] for one in value["choices"]] == ["rown ", "rown "], value
    assert value["choices"][1]["finish_reason"] == "stop" and value["choices"][1]["index"] == 1
    status, value, _ = ask("/v1/completions", model="quick", prompt=["the quick b", "over the la"], max_tokens=4, temperature=0, echo=True)
    assert [one["text"] for one in value["choices"]] == ["the quick brown", "over the lazy d"], value
    numbers = list(b"the quick b")
    status, value, _ = ask("/v1/completions", model="quick", prompt=numbers, max_tokens=3, temperature=0, logprobs=2)
    found = value["choices"][0]["logprobs"]
    assert found["tokens"] == ["r", "o", "w"] and found["text_offset"] == [0, 1, 2], found
    for token, value, top in zip(found["tokens"], found["token_logprobs"], found["top_logprobs"]):
        assert len(top) == 2 and top[token] == value == max(top.values()) < 0, found


def a_seed_repeats_an_answer():
    def draw(seed):
        return chat("the ", temperature=1.5, seed=seed, max_tokens=20)[1]["choices"][0]["message"]["content"]

    assert draw(3) == draw(3) and draw(3) != draw(4)


def streams_come_in_pieces():
    pieces = events("/v1/chat/completions", messages=[{"role": "user", "content": "the quick b"}], max_tokens=10, stop="umps", stream_options={"include_usage": True})
    assert pieces[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}, pieces[0]
    text = "".join(one["choices"][0]["delta"].get("content", "") for one in pieces if one["choices"])
    assert text == "rown fox j" and len(pieces) > 5, pieces
    assert pieces[-2]["choices"][0]["finish_reason"] == "length"
    assert pieces[-1]["choices"] == [] and pieces[-1]["usage"]["completion_tokens"] == 10, pieces[-1]
    assert len({one["id"] for one in pieces}) == 1 and pieces[0]["object"] == "chat.completion.chunk"
    pieces = events("/v1/completions", prompt="the quick b", max_tokens=3)
    assert "".join(one["choices"][0]["text"] for one in pieces) == "row", pieces


def mistakes_are_named():
    def expect(status, part, parameter, answer):
        assert answer[0] == status and part in answer[1]["error"]["message"], answer[:2]
        assert answer[1]["error"]["param"] == parameter, answer[1]

    expect(400, "colour is not known here; accepted: model, messages", "colour", chat("x", colour=1))
    cut = "é" * 31 + "\ufffd"  # after 63 bytes, within a character
    expect(400, "is not known here; accepted: model", cut, chat("x", **{"é" * 40: 1}))
    expect(400, "tools is not supported here", "tools", chat("x", tools=[{"type": "function"}]))
    expect(400, "from 0 to 100", "temperature", chat("x", temperature="hot"))
    expect(400, "maximum context length is 2048", "messages", chat("x", max_tokens=4000))
    expect(400, "give logprobs", "top_logprobs", chat("x", top_logprobs=3))
    expect(400, "role and content", "messages", ask("/v1/chat/completions", model="quick", messages=[{"role": "user"}]))
    expect(400, "image_url", "messages", chat([{"type": "image_url"}]))
    expect(400, "stop: accepted", "stop", chat("x", stop=[""]))
    expect(400, "best_of", "best_of", ask("/v1/completions", model="quick", prompt="x", best_of=3))
    expect(400, "prompt: accepted", "prompt", ask("/v1/completions", model="quick", prompt=[]))
    expect(400, "not that of a token", "prompt", ask("/v1/completions", model="quick", prompt=[300]))
    expect(400, "makes no vectors", "model", ask("/v1/embeddings", model="quick", input="x"))
    expect(404, "there is no model other here; accepted: quick, whale, rest, whale_adapter, vectors", "model", chat("x", model="other"))
    assert chat("the quick b", top_p=None, user="me", metadata={"a": "b"}, tools=[], response_format={"type": "text"})[0] == 200
    connection, answer = send("/v1/completions", {"prompt": "x"}, {"Content-Type": "application/json"})
    assert answer.status == 401, answer.status
    connection, answer = send("/v1/completions", "{")
    assert answer.status == 400, answer.status


def long_stream():
    connection, answer = send("/v1/completions", {"model": "quick", "prompt": "the ", "max_tokens": 2000, "stream": True, "temperature": 0})
    assert answer.status == 200
    answer.read1(10)
    return connection, answer


def content(model, text):
    status, value, _ = chat(text, model=model)
    assert status == 200 and value["model"] == model, value
    return value["choices"][0]["message"]["content"]


def an_adapter_is_a_model():
    assert content("whale", "the quick b") == "lue whale "
    assert content("quick", "the quick b") == "rown fox j"


def a_template_is_that_of_the_file():
    assert content("rest", "?the quick b") == "rown fox j"
    assert content("whale_adapter", "?the quick b") == "lue whale "
    assert chat("the quick b", model="rest")[1]["usage"]["prompt_tokens"] == 10
    assert chat("the quick b", model="whale")[1]["usage"]["prompt_tokens"] == 11


def vectors_count_tokens():
    def usage(texts):
        status, value, _ = ask("/v1/embeddings", model="vectors", input=texts)
        assert status == 200 and len(value["data"]) == (1 if isinstance(texts, str) else len(texts)), value
        return value["usage"]

    assert usage("a cat sat") == {"prompt_tokens": 5, "total_tokens": 5}  # with [CLS] and [SEP]
    assert usage(["a cat", "the sun " * 9]) == {"prompt_tokens": 12, "total_tokens": 12}  # cut to 8


def a_client_that_goes_holds_up_nobody():
    connection, answer = long_stream()
    answer.close()
    connection.close()
    begun = time.monotonic()
    assert chat("the quick b")[0] == 200
    assert time.monotonic() - begun < 10


def a_full_queue_says_so():
    connection, answer = long_stream()
    codes = []

    def one():
        status, value, answer = chat("the quick b")
        codes.append((status, answer.getheader("Retry-After")))

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    begun = time.monotonic()
    assert send("/api/v1/version", None, method="GET")[1].status == 200
    assert time.monotonic() - begun < 1, "another route waits"
    answer.close()
    connection.close()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in codes) == [200, 200, 429, 429, 429, 429], codes
    assert all(wait == "2" for status, wait in codes if status == 429), codes


def children():
    found = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def a_killed_process_is_started_again():
    connection, answer = long_stream()
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    rest = answer.read().decode()
    assert "the model's process has ended" in rest and "[DONE]" not in rest, rest[-300:]
    status, value, _ = chat("the quick b")
    assert status == 200 and value["choices"][0]["message"]["content"] == "rown fox j", value


for case in (answers_have_their_form, a_seed_repeats_an_answer, streams_come_in_pieces, mistakes_are_named,
             an_adapter_is_a_model, a_template_is_that_of_the_file, vectors_count_tokens,
             a_client_that_goes_holds_up_nobody, a_full_queue_says_so, a_killed_process_is_started_again):
    case()
    print("ok", case.__name__)
