"""`csengine top` on a terminal of its own: arguments CSENGINE CONFIG DIRECTORY.

The screen here knows what a full screen uses: the place of the cursor, erasing, a screen of its own.
"""
import codecs
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

csengine, config, work = sys.argv[1:4]
queue = os.path.join(work, "queue")
SLOW = 5 if os.environ.get("CSE_SANITIZE", "no") != "no" else 1
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)", re.S)
ENVIRONMENT = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
BRAILLE = re.compile("[\u2801-\u28ff]")
UP, DOWN, END, F1, F6, F10 = "\x1b[A", "\x1b[B", "\x1b[F", "\x1bOP", "\x1b[17~", "\x1b[21~"


class Top:
    """The command in a terminal; `lines` is the screen as it looks."""

    def __init__(self, *words, rows=24, columns=80, environment=ENVIRONMENT):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            time.sleep(0.2)  # the size is set by then
            os.execve(csengine, [csengine, "top", *words], environment)
        self.before = termios.tcgetattr(self.terminal)
        self.lines, self.row, self.column, self.own, self.hidden = [], 0, 0, False, False
        self.widest, self.code = 0, None
        # What is read may end within a letter or a sequence of the terminal.
        self.decoder, self.rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.widest = 0
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def feed(self, text):
        for arguments, letter, back, end, plain in TOKEN.findall(text):
            if plain:
                self.lines += [""] * (self.row + 1 - len(self.lines))
                line = self.lines[self.row].ljust(self.column)
                end_of = self.column + len(plain)
                self.lines[self.row] = line[: self.column] + plain + line[end_of:]
                self.column = end_of
                self.widest = max(self.widest, end_of)
            elif back:
                self.column = 0
            elif end:
                self.row += 1
            elif letter == "H":
                self.row = self.column = 0
            elif letter == "K" and self.row < len(self.lines):
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif letter == "J":
                self.lines = self.lines[: self.row + 1]
            elif arguments in ("?1049", "?25"):
                if arguments == "?1049":
                    self.own = letter == "h"
                else:
                    self.hidden = letter == "l"

    def read(self, seconds):
        """What comes within this time; False at the end."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.terminal, 1 << 16)
        except OSError:
            return False
        text = self.rest + self.decoder.decode(data)
        self.rest = re.search(r"(\x1b(\[[0-9;?]*)?)?$", text).group(0)
        self.feed(text[: len(text) - len(self.rest)])
        return bool(data)

    def text(self):
        return "\n".join(self.lines)

    def wait(self, pattern, seconds=30):
        end = time.monotonic() + seconds * SLOW
        while time.monotonic() < end:
            if re.search(pattern, self.text(), re.M):
                return self
            assert self.read(0.2), f"it ended:\n{self.text()}"
        raise AssertionError(f"{pattern} does not come:\n{self.text()}")

    def whole(self):
        """The screen once a frame has come whole."""
        while select.select([self.terminal], [], [], 0.2)[0]:
            assert self.read(0)
        return self.text()

    def type(self, keys):
        os.write(self.terminal, keys.encode())
        return self

    def ended(self, seconds=20):
        """The exit code, after the terminal was given back as it was."""
        end = time.monotonic() + seconds * SLOW
        while self.read(0.2) and time.monotonic() < end:
            pass
        ended, how = 0, 0
        while not ended and time.monotonic() < end:
            ended, how = os.waitpid(self.pid, os.WNOHANG)
            time.sleep(0.02)
        if not ended:
            os.kill(self.pid, signal.SIGKILL)
            raise AssertionError(f"it does not end:\n{self.text()}")
        assert not self.own and not self.hidden, (self.own, self.hidden)
        return how


def settings(terminal):
    return termios.tcgetattr(terminal)


def refused(words, pattern, code, **more):
    done = subprocess.run([csengine, "top", *words], capture_output=True, text=True, timeout=60 * SLOW,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **more})
    assert done.returncode == code and re.search(pattern, done.stderr), (words, done)
    assert done.stdout == "", done.stdout


def serve():
    words = [csengine, "serve", "--json", "--root", queue, "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    json.loads(server.stdout.readline())
    return server


def submit(id, steps, *more):
    subprocess.run([csengine, "submit", config, "--id", id, "--server", queue, "--set",
                    f"loop.num_steps={steps}", *more], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def until_ended(id):
    end = time.monotonic() + 120 * SLOW
    while time.monotonic() < end:
        done = subprocess.run([csengine, "get", "job", id, "--server", queue, "--json"],
                              capture_output=True, text=True)
        if json.loads(done.stdout)["state"] == "SUCCEEDED":
            return
        time.sleep(0.1)
    raise AssertionError(f"{id} does not end")


def one_run():
    """A run without a server, at several sizes; its curve is in Braille, or without it."""
    run = f"{queue}/short"
    top = Top(run)
    top.wait(r"least loss \d").wait(r"short +SUCCEEDED +300 +100%").wait("F1 help")
    assert BRAILLE.search(top.whole()), top.text()
    assert len(top.lines) == 24 and top.widest <= 80, (len(top.lines), top.widest, top.text())
    assert top.own and top.hidden
    for rows, columns in ((40, 132), (12, 40), (24, 80)):
        top.resize(rows, columns)
        top.wait(r"F1 help")
        end = time.monotonic() + 20 * SLOW
        while (len(top.lines) != rows or len(top.lines[0]) != columns) and time.monotonic() < end:
            assert top.read(0.2)
        assert len(top.lines) == rows and {len(line) for line in top.lines} == {columns}, top.text()
    top.resize(8, 30)
    top.wait("needs 40 x 12")
    top.resize(24, 80)
    top.wait("F1 help")
    top.type("/").wait("conditions are on the jobs of a server")
    top.type("m").wait(r"^(lr/0|samples_per_second|grad_norm) ")
    top.type(F1).wait("PgUp PgDn")
    top.type("x").wait("short +SUCCEEDED")
    assert top.type("q").ended() == 0
    plain = Top(run, environment={**ENVIRONMENT, "LC_ALL": "C"})
    plain.wait(r"\*")
    assert not BRAILLE.search(plain.whole()), plain.text()
    assert plain.type(F10).ended() == 0


def jobs():
    """The jobs of a server: choosing, sorting, a condition, a wrong one, pausing."""
    top = Top("--server", queue)
    top.wait(r"^long +RUNNING").wait(r"^short +SUCCEEDED")
    top.wait(r"2 jobs, 1 running")
    assert top.whole() and top.lines[3].startswith("long "), top.text()  # the newest first
    top.wait(r"loss  long of").wait(r"^ *\S* .*replica|replica \d")
    top.type(DOWN).wait("loss  short of")
    top.type("s").wait("by id").type("r").wait("by id, reversed")
    assert top.whole() and top.lines[3].startswith("short "), top.text()
    top.type(F6).wait("by state")
    top.type("/").wait("where: _").type("stat=FAILED\r").wait('no job has "stat"')
    top.type("\x15state=RUNNING\r").wait("1 job with state=RUNNING")
    assert "short" not in top.wait("F1 help").whole(), top.text()
    top.type("/").wait("where: state=RUNNING_").type("\x15\r").wait("2 jobs, ")
    top.type(" ").wait("paused")
    top.type(" ")
    step = lambda: int(re.search(r"^long +RUNNING +(\d+)", top.text(), re.M).group(1))
    first = step()
    top.wait(r"F1 help")
    end = time.monotonic() + 30 * SLOW
    while step() == first:
        assert top.read(0.2) and time.monotonic() < end, top.text()
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(top.pid, number)
        how = top.ended()
        assert os.WIFSIGNALED(how) and os.WTERMSIG(how) == number, how
        top = Top("long", "--server", queue, "--sort", "loss").wait("loss  long of")
    # Ctrl-C as it is typed; Ctrl-Z gives the terminal back, and goes on.
    os.kill(top.pid, signal.SIGTSTP)
    end = time.monotonic() + 20 * SLOW
    while top.own and time.monotonic() < end:
        top.read(0.2)
    assert not top.own and not top.hidden
    assert os.WIFSTOPPED(os.waitpid(top.pid, os.WUNTRACED)[1])
    os.kill(top.pid, signal.SIGCONT)
    while not top.own and time.monotonic() < end:
        top.read(0.2)
    assert top.own and top.hidden
    top.wait("loss  long of")
    assert os.WTERMSIG(top.type("\x03").ended()) == signal.SIGINT


def restored():
    """What was set on the terminal before is set again."""
    top = Top(f"{queue}/short")
    before = settings(top.terminal)
    top.wait("F1 help")
    assert settings(top.terminal)[3] & (termios.ICANON | termios.ECHO) == 0
    top.type("q")
    end = time.monotonic() + 20 * SLOW
    while top.own and time.monotonic() < end:
        top.read(0.1)
    try:
        after = settings(top.terminal)
    except termios.error:  # the process has ended, and its terminal with it
        after = before
    assert after == before, (after, before)
    assert top.ended() == 0


def once():
    frame = subprocess.run([csengine, "top", "--once", "--server", queue, "--sort", "id"],
                           capture_output=True, text=True, timeout=60 * SLOW,
                           env={**ENVIRONMENT, "COLUMNS": "100", "LINES": "30"})
    lines = frame.stdout.splitlines()
    assert frame.returncode == 0 and len(lines) == 30, frame
    assert {len(line) for line in lines} == {100} and "\x1b" not in frame.stdout, frame.stdout
    assert lines[3].startswith("long ") and lines[4].startswith("short "), frame.stdout


server = serve()
try:
    submit("short", 300)
    until_ended("short")
    submit("long", 100000000)
    one_run()
    jobs()
    restored()
    once()
    refused([f"{queue}/short"], "no terminal: --once prints one frame", 64)
    refused(["--once", f"{queue}/short", "--where", "state=FAILED"], "is one run", 64)
    refused(["--once", f"{queue}/short", "--sort", "size"], "accepted are newest, id", 64)
    refused(["--once", f"{queue}/short", "--interval", "0"], "from 0.1 to 3600", 64)
    refused(["--once", "nobody", "--server", queue], 'no job "nobody"', 66)
    refused(["--once", "--server", queue, "--where", "stat=1"], 'no job has "stat"', 64)
finally:
    subprocess.run([csengine, "kill", "long", "--server", queue], capture_output=True)
    server.terminate()
    server.wait()
print("top: as expected")
