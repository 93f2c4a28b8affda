"""A command in a terminal of its own: what it writes there, and how the screen looks.

The screen knows what the commands use: printing, line ends, carriage return, erasing to the end of
the line and of the screen, colours.
"""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)", re.S)


class Screen:
    """Lines of any length, without scrolling; `drawn` has each line as it looked after a text."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0
        self.drawn, self.colours = [], 0

    def feed(self, text):
        for arguments, letter, back, end, plain in TOKEN.findall(text):
            if plain:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = (
                    line[: self.column] + plain + line[self.column + len(plain):])
                self.column += len(plain)
                self.drawn.append(self.lines[self.row])
            elif back:
                self.column = 0
            elif end:
                self.row, self.column = self.row + 1, 0
                if self.row == len(self.lines):
                    self.lines.append("")
            elif letter in "JK":
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif letter == "m":
                self.colours += arguments not in ("", "0")


def run(columns, words, environment=None, resize=None, seconds=120):
    """Runs `words`; returns (exit code, screen). `resize`: (text to wait for, new columns)."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(environment or {})
        time.sleep(0.2)  # the size is set by then
        os.execv(words[0], words)
    size = lambda width: fcntl.ioctl(
        terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    size(columns)
    screen, end = Screen(), time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        screen.feed(data.decode(errors="replace"))
        if resize and any(resize[0] in line for line in screen.drawn):
            size(resize[1])
            screen.resized_at, resize = len(screen.drawn), None
    _, how = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(how), screen


if __name__ == "__main__":
    sys.exit("a module of tests")
