"""How long plain TCP takes to bring as many bytes both ways between two hosts, again and again.

    plain_exchange.py serve ADDRESS BYTES TIMES
    plain_exchange.py call ADDRESS BYTES TIMES      prints the median and the mean in milliseconds

Both sides send and receive at once, as movers of two hosts do; a byte each way ends a turn. What a
run takes above this is its own; what this takes above the plan is the link's.
"""

import select
import socket
import statistics
import sys
import time

PORT = 7777
CONNECT_ATTEMPTS = 200


def exchange(connection, count):
    content, place = memoryview(bytes(count)), bytearray(1 << 20)
    connection.setblocking(False)
    sent = received = 0
    while sent < count or received < count:
        readable, writable, _ = select.select(
            [connection] if received < count else [], [connection] if sent < count else [], []
        )
        if writable:
            sent += connection.send(content[sent : sent + (256 << 10)])
        if readable:
            got = connection.recv_into(place, min(len(place), count - received))
            if got == 0:
                raise ConnectionError("the other side ended")
            received += got
    connection.setblocking(True)
    connection.sendall(b".")
    connection.recv(1)


def connect(address):
    for _ in range(CONNECT_ATTEMPTS):
        try:
            return socket.create_connection((address, PORT))
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise TimeoutError(f"nobody listens at {address}")


def main():
    role, address, count, times = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if role == "serve":
        with socket.create_server((address, PORT)) as listener:
            connection = listener.accept()[0]
    else:
        connection = connect(address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    taken = []
    with connection:
        for _ in range(times):
            start = time.perf_counter()
            exchange(connection, count)
            taken.append(1e3 * (time.perf_counter() - start))
    if role == "call":
        print(f"{statistics.median(taken):.1f} {statistics.mean(taken):.1f}")


if __name__ == "__main__":
    main()
