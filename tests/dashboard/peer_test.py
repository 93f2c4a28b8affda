"""The server's own socket decides who is there when it accepts a connection: a process of a job that connects and
ends opens nothing to the process that has its number later."""
import ctypes
import os
import signal
import socket
import struct
import sys
import time

import support
from support import API, Server, check, equal

LAST_NUMBER = "/proc/sys/kernel/ns_last_pid"
REQUEST = f"GET {API}/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def restrict_like_a_job():
    """A filter of system calls that allows all; the server goes by their number."""
    library = ctypes.CDLL(None, use_errno=True)
    lines = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]

    program = Program(1, ctypes.cast(lines, ctypes.c_void_p))
    check(library.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS")
    check(library.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, "PR_SET_SECCOMP")


def connect_and_end(path):
    """The connection of a confined process that has ended, and its number."""
    s = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if child == 0:
        try:
            restrict_like_a_job()
            s.connect(path)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return s, child


def take_number(number):
    """An unconfined process with this number."""
    for _ in range(200):
        with open(LAST_NUMBER, "w") as f:
            f.write(str(number - 1))
        child = os.fork()
        if child == 0:
            time.sleep(1000)
            os._exit(0)
        if child == number:
            return child
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    raise support.Failure("the number", number, "could not be had again")


def ask(s):
    s.settimeout(20)
    s.sendall(REQUEST)
    return int(s.recv(4096).split()[1])


def with_server(body):
    server = Server("--root", support.folder())
    try:
        body(server, server.note["socket"].removeprefix("unix:"))
    finally:
        server.process.send_signal(signal.SIGCONT)
        server.stop()


def the_owner_needs_no_token():
    def body(server, path):
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        equal([ask(s), ask(s)], [200, 200])

    with_server(body)


def refused_as_another(s, number, then=lambda: None):
    """The connection opens nothing while another process has the number of the one that made it."""
    other = take_number(number)
    then()
    try:
        equal(ask(s), 401)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)


def a_number_that_is_used_again_opens_nothing():
    def body(server, path):
        s, number = connect_and_end(path)
        time.sleep(0.2)  # the server has accepted it
        refused_as_another(s, number)

    with_server(body)


def nor_does_one_that_is_used_again_before_the_server_accepts():
    def body(server, path):
        server.process.send_signal(signal.SIGSTOP)
        s, number = connect_and_end(path)
        refused_as_another(s, number, lambda: server.process.send_signal(signal.SIGCONT))

    with_server(body)


def one_that_has_ended_is_refused():
    def body(server, path):
        server.process.send_signal(signal.SIGSTOP)
        s, _ = connect_and_end(path)
        server.process.send_signal(signal.SIGCONT)
        equal(ask(s), 401)

    with_server(body)


def may_choose_numbers():
    try:
        with open(LAST_NUMBER) as f:
            number = f.read()
        with open(LAST_NUMBER, "w") as f:
            f.write(number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    if not may_choose_numbers():
        print("needs root, to choose the numbers of processes: skipped")
        sys.exit(77)
    support.main([the_owner_needs_no_token, a_number_that_is_used_again_opens_nothing,
                  nor_does_one_that_is_used_again_before_the_server_accepts, one_that_has_ended_is_refused])
