"""A daemon that breaks off in the middle of an answer, as one that is killed does: told, and nothing else."""

import socketserver
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from launcher.execute.images.daemon import Daemon, Order
from launcher.execute.images.failure import Failure

CUT = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n{"stream": "begun"}\r\n20\r\n{'


class Broken(socketserver.StreamRequestHandler):
    """Reads the head of a request, and answers with less than it says."""

    def handle(self) -> None:
        """Answers."""
        while self.rfile.readline().strip():
            pass
        self.wfile.write(CUT)


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Daemon]:
    where = str(tmp_path / "d.sock")
    with socketserver.ThreadingUnixStreamServer(where, Broken) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        found = Daemon(docker.APIClient(f"unix://{where}", version="1.41"), "Docker", where, "x86_64")
        yield found
        found.close()
        server.shutdown()
        thread.join()


def _built(daemon: Daemon, folder: Path) -> None:
    context = folder / "context.tar"
    tarfile.open(context, "w").close()
    daemon.build(Order(context, "localhost/a", {}, {}, "x86_64"), lambda line: None)


@pytest.mark.parametrize("call", [_built, lambda daemon, folder: daemon.save("a", folder / "out.tar")])
def test_an_answer_that_is_cut_off(broken: Daemon, tmp_path: Path, call: Callable[[Daemon, Path], None]) -> None:
    with pytest.raises(Failure, match="Docker breaks off: ") as caught:
        call(broken, tmp_path)
    assert caught.value.kind == "unreachable"
