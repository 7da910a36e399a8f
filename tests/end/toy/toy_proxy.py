"""Sends each request to the next worker."""

import argparse
import itertools
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import ProxyHandler, Request, build_opener

OPENER = build_opener(ProxyHandler({}))


def main() -> None:
    """Until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--to", action="append", default=[])
    parser.add_argument("--mark", default="toy")
    given = parser.parse_args()
    turns = itertools.cycle(given.to)

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length) if length else None
            asked = Request(next(turns) + self.path, body, {"content-type": "application/json"}, method=self.command)
            with OPENER.open(asked, timeout=30) as answer:
                content = answer.read()
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.send_header("x-router", given.mark)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_one  # noqa: N815

        def log_message(self, *words: object) -> None:
            """Quiet."""

    ThreadingHTTPServer(("0.0.0.0", given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
