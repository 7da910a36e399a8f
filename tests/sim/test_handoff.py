"""What a prefill worker keeps and how it is fetched."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from launcher.sim.handoff import CAPACITY, Lost, Store, fetch, record


@pytest.mark.parametrize(
    "spoken", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[]", b"HTTP/1.1 200 OK\r\n\r\n{", b""]
)
def test_what_listens_there_may_be_anything(spoken: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def stranger() -> None:
            sock, _ = server.accept()
            with sock:
                sock.recv(4096)
                sock.sendall(spoken)

        pool.submit(stranger)
        with pytest.raises(Lost, match="what listens there is no prefill worker"):
            fetch("127.0.0.1", server.getsockname()[1], "key", 1.0)


def test_store_keeps_a_bounded_number() -> None:
    store = Store()
    for number in range(CAPACITY + 1):
        store.put(str(number), record("w", ["a"]))
    assert store.take(b"0".hex(), 0.0) is None
    assert store.take(str(CAPACITY).encode().hex(), 0.0) == record("w", ["a"])
    assert store.take(str(CAPACITY).encode().hex(), 0.0) is None, "each is taken once"
