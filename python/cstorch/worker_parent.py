"""A process that has imported PyTorch, and of which input workers are forked.

The program that trains starts one (start) while it makes its model: a worker then begins, and one
that was killed is replaced, without an import of PyTorch. It has one thread and has computed
nothing, so that a fork of it is whole. It ends with the process that started it.
"""

import array
import atexit
import fcntl
import gc
import marshal
import os
import random
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys

from cstorch.begin_worker import ADDRESS

PROGRAM = "from cstorch import worker_parent; worker_parent.main()"
_started = None  # (the Popen, the process that made it)


def start():
    """Starts the process, unless it runs: workers find it by a variable of the environment."""
    global _started
    if _started is not None and (_started[1] != os.getpid() or _started[0].poll() is None):
        return
    address = f"cstorch-{secrets.token_hex(16)}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind("\0" + address)
            listener.listen(64)
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(listener.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                # A process with threads cannot be forked whole.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[listener.fileno()],
                start_new_session=True,  # Ctrl-C is the program's
            )
    except OSError:  # workers import PyTorch themselves
        return
    _started = (process, os.getpid())
    os.environ[ADDRESS] = address
    atexit.register(stop, process, os.getpid())


def stop(process, owner):
    """Ends it, at the end of the process that started it, which may come before it is ready."""
    if os.getpid() == owner:
        process.kill()
        process.wait()


class Parent:
    """The prepared process.

    Attributes:
        workers: the connection of each worker's begin_worker, by the worker's process number.
    """

    def __init__(self, listener):
        self.listener = listener
        self.workers = {}
        self.starter = os.getppid()
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        self.selector.register(sys.stdin, selectors.EVENT_READ, None)
        ended, self.wake = os.pipe()
        for end in (ended, self.wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        self.ended = ended
        self.selector.register(ended, selectors.EVENT_READ, self.reap)

    def serve(self):
        """Until the process that started it ends. Another child of that may hold the pipe open."""
        while os.getppid() == self.starter:
            for key, _ in self.selector.select(timeout=1.0):
                if key.data is None:
                    return
                key.data(key.fileobj)

    def accept(self, listener):
        """Forks a worker for a begin_worker of the same user."""
        try:
            connection, _ = listener.accept()
            received = self.received(connection)
            process = os.fork() if received else None
        except OSError:  # begin_worker becomes the worker itself
            return
        if process == 0:
            self.become_worker(received)
        for descriptor in received:
            os.close(descriptor)
        if process is None:
            connection.close()
            return
        self.workers[process] = connection
        self.selector.register(connection, selectors.EVENT_READ, self.abandon)
        try:
            connection.send(b"w")
        except OSError:
            pass

    @staticmethod
    def received(connection):
        """The descriptors that a begin_worker hands over; none of another user's process."""
        _, user, _ = struct.unpack(
            "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        )
        numbers = array.array("i")
        if user == os.getuid():
            space = socket.CMSG_SPACE(5 * numbers.itemsize)
            _, rights, _, _ = connection.recvmsg(1, space, socket.MSG_CMSG_CLOEXEC)
            for _, _, content in rights:
                numbers.frombytes(content)
        return list(numbers)

    def abandon(self, connection):
        """A begin_worker was ended: so is its worker."""
        self.selector.unregister(connection)
        for process, known in self.workers.items():
            if known is connection:
                os.kill(process, signal.SIGKILL)

    def reap(self, _):
        """Tells how workers ended."""
        os.read(self.ended, 4096)
        for process, connection in list(self.workers.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended == 0:
                continue
            del self.workers[process]
            try:
                self.selector.unregister(connection)
                connection.send(str(status).encode())
            except (KeyError, OSError):  # abandoned
                pass
            connection.close()

    def become_worker(self, received):
        """In the new process: what an input worker that was started by itself has."""
        code = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.selector.close()
            for connection in (self.listener, *self.workers.values()):
                connection.close()
            code = run_worker(received[:-1], received[-1])
        finally:
            os._exit(code)


def take(received, targets):
    """Gives descriptors these numbers."""
    above = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, max(targets) + 1) for one in received]
    for one in received:
        os.close(one)
    for copy, target in zip(above, targets):
        os.dup2(copy, target)
        os.close(copy)


def run_worker(received, told):
    """Runs cstorch.worker with the descriptors, arguments and environment of a begin_worker."""
    import numpy

    from cstorch import worker

    with os.fdopen(told, "rb") as file:
        file.seek(0)
        arguments, folder, environment, process = marshal.load(file)
    take(received, [0, 1, 2, int(environment.get(b"CSENGINE_ANSWER_MEMORY", b"3"))])
    os.environb.clear()
    os.environb.update(environment)
    os.chdir(folder)
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(process))
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, process))
    except OSError:  # begin_worker was ended
        pass
    with open("/proc/self/comm", "w") as file:
        file.write("cstorch.worker")
    random.seed()
    numpy.random.seed()
    sys.argv[1:] = arguments
    return worker.run()


def main():
    listener = socket.socket(fileno=int(sys.argv[1]))
    import torch

    import cstorch.utils.data.source  # noqa: F401

    torch.set_num_threads(1)
    gc.freeze()
    Parent(listener).serve()
