"""Begins an input worker: the program that the engine starts for each, as a script.

    python -I -S begin_worker.py FILE.pickle

Where the process that started the run has prepared another one (cstorch.worker_parent), the worker
is forked of that, which takes a few milliseconds; this process hands over its standard input and
output, waits, and ends as the worker does. Elsewhere, as on other hosts, it becomes the worker
itself, which first imports PyTorch. It imports little, since it is started for each worker.
"""

import os
import sys

ADDRESS = "CSTORCH_WORKER_PARENT"  # a variable: the name of the prepared process's socket


def descriptors():
    """What the worker takes over: standard input, output, errors and the memory for answers."""
    memory = int(os.environ.get("CSENGINE_ANSWER_MEMORY", "-1"))
    return [0, 1, 2] + ([memory] if memory >= 0 else [])


def hand_over(address):
    """The connection to the prepared process, once a worker was forked; None where there is none."""
    import _socket
    import array
    import marshal

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    kept = descriptors()
    try:
        connection.connect("\0" + address)
        # Large environments do not fit in a packet: they go through a file without a name.
        file = os.memfd_create("cstorch-worker")
        os.write(file, marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environb), os.getpid())))
        rights = array.array("i", kept + [file]).tobytes()
        connection.sendmsg([b"w"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
        os.close(file)
        return connection if connection.recv(1) == b"w" else None
    except OSError:
        return None


def end_as(status):
    """Ends as a process with this status of waitpid did."""
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 255)


def main():
    address = os.environ.get(ADDRESS)
    connection = hand_over(address) if address else None
    if connection is None:
        os.execv(sys.executable, [sys.executable, "-m", "cstorch.worker", *sys.argv[1:]])
    # The engine sees the end of a worker by the end of its standard output.
    for descriptor in descriptors():
        if descriptor != 2:
            os.close(descriptor)
    status = connection.recv(8)
    if not status:  # the prepared process ended; the worker goes on, and ends with its input
        os._exit(0)
    end_as(int(status))


if __name__ == "__main__":
    main()
