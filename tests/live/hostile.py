"""Servers that are no Redis, or a bad one: each answers a connection in its own way."""

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[socket.socket], None]


@contextmanager
def listening(answer: Answer, address: str = "127.0.0.1") -> Iterator[int]:
    """Yield a port of `address` where each connection is given to `answer`, in a thread of its own, and then closed."""
    listener = socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    listener.settimeout(20)
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            answer(connection)

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def saying(*pieces: bytes, then_close: bool = False) -> Answer:
    """Read once, send `pieces`, and keep the connection, or close it."""

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        for piece in pieces:
            connection.sendall(piece)
        while not then_close and connection.recv(65536):
            pass

    return answer


def echoing(answer_to_info: bytes, error: bytes) -> Answer:
    """Answer `INFO` and the greeting as Redis does, and everything else with an error that repeats what came."""

    def answer(connection: socket.socket) -> None:
        while data := connection.recv(65536):
            connection.sendall(b"+OK\r\n" if b"SETNAME" in data else b"")
            echo = error + data.replace(b"\r\n", b" ") + b"\r\n"
            connection.sendall(answer_to_info if b"INFO" in data else echo)

    return answer


def repeating(connection: socket.socket) -> None:
    """Refuse AUTH with an error that repeats the password, and all that follows."""
    data = connection.recv(65536)
    connection.sendall(b"-ERR " + data.replace(b"\r\n", b" ") + b"\r\n-NOAUTH x\r\n-NOAUTH y\r\n")


def dripping(connection: socket.socket) -> None:
    """One byte of an endless line every 20 ms."""
    connection.sendall(b"+OK\r\n$100000\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.02)


def streaming(piece: bytes) -> Answer:
    """Send `piece` for ever."""

    def answer(connection: socket.socket) -> None:
        for each in itertools.repeat(piece):
            connection.sendall(each)

    return answer


def silent(connection: socket.socket) -> None:
    """Read and say nothing."""
    while connection.recv(65536):
        pass


def deaf(connection: socket.socket) -> None:
    """Neither read nor say anything."""
    time.sleep(5)


def hanging_up(connection: socket.socket) -> None:
    """Close at once."""
