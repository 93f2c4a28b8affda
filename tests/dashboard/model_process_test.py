"""The process of a model, as the server speaks to it: who rests keeps no other from beginning.
python3 model_process_test.py CSENGINE CONFIG.yaml"""

import json
import selectors
import subprocess
import sys

COMPLETION, SECONDS = 1, 60
process = subprocess.Popen(
    [sys.argv[1], "serve-model", sys.argv[2], "--together", "2"],
    bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
)
lines = selectors.DefaultSelector()
lines.register(process.stdout, selectors.EVENT_READ)


def say(*words):
    process.stdin.write("".join(json.dumps(word) + "\n" for word in words).encode())
    process.stdin.flush()


def request(number, tokens, stream=True):
    body = {"model": "m", "prompt": f"the {number}", "max_tokens": tokens, "stream": stream, "temperature": 0}
    return {"number": number, "kind": COMPLETION, "name": "m", "body": body}


def until(*wanted):
    """Reads lines until those that are wanted have come."""
    missing = set(wanted)
    while missing:
        assert lines.select(SECONDS), f"nothing came in {SECONDS} s; missing: {missing}"
        line = process.stdout.readline().decode()
        assert line, f"the process has ended; missing: {missing}"
        missing -= {one for one in missing if line.startswith(one + " ") or line.strip() == one}


try:
    until("READY")
    # One that rests from its first token on, and one that comes with it.
    say(request(1, 30), {"number": 1, "hold": True}, request(2, 5))
    until("DONE 2")
    # Two that rest have all the place; the first of them goes on before the second.
    say(request(3, 30), request(4, 30), {"number": 3, "hold": True}, {"number": 4, "hold": True})
    say(request(5, 5))
    until("DONE 5")
    say({"number": 1, "hold": False})
    until("DONE 1")
    say({"number": 3, "hold": False})
    until("DONE 3")
    say(request(6, 5))
    until("DONE 6")
    say({"number": 4, "hold": False})
    until("DONE 4")
    # One that cannot be answered is no reason for others to wait.
    say(request(7, 10**6), request(8, 5), request(9, 10**6), request(10, 5))
    until("DONE 8", "DONE 10")
finally:
    process.stdin.close()
    code = process.wait(SECONDS)
assert code == 0, code
