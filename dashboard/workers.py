"""Several server processes behind one port: a proxy that keeps each browser on one process and replaces dead ones.

Each process listens on a loopback socket that this one opened: while it is replaced, browsers wait in the queue.
`python -m dashboard.workers N run …` takes the arguments of `dashboard.launcher`.
"""

import asyncio
import contextlib
import os
import re
import secrets
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import h11

COOKIE = "sentiscope-worker"  # cookie with the index of a browser's process
PATIENCE = 60.0  # seconds for a request's head, and without progress in either direction
CONNECTIONS = 2_000  # connections at once, at most
CHUNK = HEAD = 2**16  # bytes read at once, and bytes of a request's head, at most
EARLY = 10.0  # seconds; processes that fail sooner cannot start
PROBED, HUNG = 10.0, 120.0  # seconds between two health checks, and without an answer before a process is killed
PROBE = b"GET /_stcore/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_CHOSEN = re.compile(rb"(?:^|;)\s*" + COOKIE.encode() + rb"=(\d{1,3})\s*(?:;|$)")
_HOP = {b"connection", b"keep-alive", b"expect", b"proxy-connection", b"te", b"trailer"}
CLOSE = (b"connection", b"close")

Headers = list[tuple[bytes, bytes]]


@dataclass(eq=False)
class Worker:
    """One server process, the listening socket that it inherits, and how many browsers it has."""

    index: int
    listener: socket.socket
    websockets: int = 0
    assigned: int = 0

    async def keep_running(self, folder: str, arguments: list[str]) -> int:
        """Run the process, with a folder that all share, and replace it when it ends; return why it cannot start."""
        number, first, begun = self.listener.fileno(), self.index == 0, time.monotonic()
        command = [sys.executable, "-m", "dashboard.launcher", "pool", str(number), folder, *arguments]
        while True:
            process = await asyncio.create_subprocess_exec(
                *command if first else [*command, "--server.headless=true"],  # one process opens the browser …
                stdout=None if first else asyncio.subprocess.DEVNULL,  # … and prints the links
                stdin=asyncio.subprocess.PIPE,  # its end tells the process that this one has died
                pass_fds=[number],
                start_new_session=True,  # Ctrl-C reaches this process alone
            )
            watch = asyncio.create_task(self._watch_process(process))
            try:
                status = await process.wait()
            finally:
                watch.cancel()
                for stop in (process.terminate, process.kill):
                    if process.returncode is None:
                        stop()
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(process.wait(), 10)
            if status > 0 and time.monotonic() - begun < EARLY:
                return status
            sys.stderr.write(f"Server process {self.index + 1} has ended ({status}); starting a new one\n")
            first = False
            await asyncio.sleep(1)

    async def _watch_process(self, process: asyncio.subprocess.Process) -> None:
        answered = time.monotonic()
        while time.monotonic() - answered < HUNG:
            await asyncio.sleep(PROBED)
            with contextlib.suppress(OSError, TimeoutError):
                reader, writer = await asyncio.open_connection(*self.listener.getsockname())
                with contextlib.closing(writer):
                    writer.write(PROBE)
                    if await asyncio.wait_for(reader.read(1), HUNG):
                        answered = time.monotonic()
        process.kill()


class End:
    """One end of a proxied connection: its streams, and the state of HTTP on them."""

    def __init__(self, role: Any, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self.http = h11.Connection(role, max_incomplete_event_size=HEAD)
        self.reader, self.writer = streams

    async def read(self, patience: float | None = PATIENCE) -> Any:
        """Return the next HTTP event from the other side; TimeoutError if nothing comes."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await asyncio.wait_for(self.reader.read(CHUNK), patience))
        return event

    async def send(self, event: Any) -> None:
        """Send an HTTP event; TimeoutError if the other side does not read."""
        await self.write(self.http.send(event) or b"")

    async def write(self, data: bytes) -> None:
        """Send bytes; TimeoutError if the other side does not read."""
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    async def refuse(self, status: int) -> None:
        """Answer a request with an error status, unless its response has begun."""
        if self.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            with contextlib.suppress(OSError, TimeoutError, h11.LocalProtocolError):
                await self.send(h11.Response(status_code=status, headers=[(b"content-length", b"0"), CLOSE]))
                await self.send(h11.EndOfMessage())


class Proxy:
    """A reverse proxy of HTTP and websockets to server processes on this machine, and to nothing else."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self.connections = 0

    async def serve(self, *streams: Any) -> None:
        """Serve the requests of one connection, one after the other."""
        client = End(h11.SERVER, streams)
        self.connections += 1
        try:
            going = self.connections <= CONNECTIONS
            while going:
                async with asyncio.timeout(PATIENCE):
                    request = await client.read()
                if not isinstance(request, h11.Request):
                    break
                if not request.target.startswith(b"/"):
                    raise h11.RemoteProtocolError("this is no proxy to other hosts")
                going = await self._forward(client, request)
        except h11.ProtocolError as error:  # also a request that cannot be passed on, such as HTTP/1.0 without Host
            await client.refuse(error.error_status_hint)
        except (OSError, TimeoutError):
            pass  # the browser has left, or is too slow
        finally:
            self.connections -= 1
            client.writer.close()

    def pick_worker(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[Worker, Headers]:
        """Return the process of a browser: its own, or the least busy one and the header that keeps it there."""
        found = (_CHOSEN.search(value) for name, value in headers if name == b"cookie")
        index = next((int(each[1]) for each in found if each), len(self.workers))
        if index < len(self.workers):
            return self.workers[index], []
        worker = min(self.workers, key=lambda each: (each.websockets, each.assigned))
        worker.assigned += 1
        return worker, [(b"set-cookie", f"{COOKIE}={worker.index}; Path=/; HttpOnly; SameSite=Lax".encode())]

    async def _forward(self, client: End, request: h11.Request) -> bool:
        """Forward a request and its response; return whether the connection can serve a further request."""
        worker, kept = self.pick_worker(request.headers)
        server = End(h11.CLIENT, await asyncio.open_connection(*worker.listener.getsockname()))
        tasks: list[asyncio.Task[Any]] = []
        try:
            headers = _make_headers(request, str(client.writer.get_extra_info("peername")[0]))
            await server.send(h11.Request(method=request.method, target=request.target, headers=headers))
            tasks += [asyncio.create_task(way) for way in (_send_body(client, server), server.read(None))]
            sending, answering = tasks
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)  # a slow upload that goes on may take long
            event = await asyncio.wait_for(answering, PATIENCE)
            if isinstance(event, h11.InformationalResponse):  # a websocket
                await sending
                await client.send(h11.InformationalResponse(status_code=101, headers=[*event.headers, *kept]))
                worker.websockets += 1
                ways = [asyncio.create_task(_copy_bytes(*pair)) for pair in ((client, server), (server, client))]
                try:
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    worker.websockets -= 1
                    for way in ways:
                        way.cancel()
                return False
            if isinstance(event, h11.Response):
                answered = [pair for pair in event.headers if pair[0] not in _HOP]
                event = h11.Response(status_code=event.status_code, headers=[*answered, *kept])
            while not isinstance(event, h11.ConnectionClosed):
                await client.send(event)
                if isinstance(event, h11.EndOfMessage):
                    await asyncio.wait_for(sending, PATIENCE)  # a refused upload is read to its end, and dropped
                    client.http.start_next_cycle()
                    return True
                event = await server.read()
        except (h11.RemoteProtocolError, OSError, TimeoutError):
            pass  # the process has ended, or the browser has left
        finally:
            for task in tasks:
                task.cancel()
            server.writer.close()
        await client.refuse(502)
        return False


def _make_headers(request: h11.Request, peer: str) -> Headers:
    """Return the headers of a forwarded request; only a proxy on this machine may say for whom it asks."""
    upgraded = any(name == b"upgrade" for name, _ in request.headers)
    headers = [pair for pair in request.headers if pair[0] not in _HOP]
    if peer.removeprefix("::ffff:") not in ("127.0.0.1", "::1"):
        headers = [pair for pair in headers if not pair[0].startswith(b"x-forwarded-")]
        headers.append((b"x-forwarded-for", peer.encode()))
    return [*headers, (b"connection", b"upgrade") if upgraded else CLOSE]


async def _send_body(client: End, server: End) -> None:
    """Send the body of a request; what the process does not take is dropped."""
    event = None
    try:
        while not isinstance(event, h11.EndOfMessage):
            event = await client.read()
            with contextlib.suppress(OSError, TimeoutError, h11.LocalProtocolError):
                await server.send(event)
    except (OSError, TimeoutError, h11.RemoteProtocolError):
        server.writer.close()  # the browser has left


async def _copy_bytes(source: End, target: End) -> None:
    data = source.http.trailing_data[0]
    with contextlib.suppress(OSError, TimeoutError):
        while data or (data := await source.reader.read(CHUNK)):
            await target.write(data)
            data = b""


async def run_workers(public: socket.socket, count: int, arguments: list[str]) -> int:
    """Serve on a socket through so many processes until a signal comes or one cannot start; return the exit status."""
    workers = [Worker(index, socket.create_server(("127.0.0.1", 0), backlog=512)) for index in range(count)]
    stopped = asyncio.get_running_loop().create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.cancel)
    with tempfile.TemporaryDirectory(prefix="sentiscope-") as shared:
        jobs = [asyncio.create_task(worker.keep_running(shared, arguments)) for worker in workers]
        server = await asyncio.start_server(Proxy(workers).serve, sock=public)
        done, _ = await asyncio.wait([stopped, *jobs], return_when=asyncio.FIRST_COMPLETED)
        server.close()
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
    return next((each.result() for each in done if not each.cancelled()), 128 + signal.SIGTERM)


def _raise_file_limit(wanted: int) -> None:
    """Let this process open so many files, if the system allows: a connection takes two, and 1 024 are usual."""
    import resource  # not on Windows, where there is one server process

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


def main(count: int, arguments: list[str]) -> int:
    """Run the server processes with the arguments of `dashboard.launcher`; return the exit status."""
    options = dict(each.split("=", 1) for each in arguments if each.startswith("--server.") and "=" in each)
    address, port = options.get("--server.address", "127.0.0.1"), int(options.get("--server.port", 8501))
    os.environ.setdefault("STREAMLIT_SERVER_COOKIE_SECRET", secrets.token_hex(32))
    _raise_file_limit(3 * CONNECTIONS)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        public = socket.create_server((address, port), family=family, backlog=512, dualstack_ipv6=":" in address)
    except OSError as error:
        sys.exit(f"Port {port} is not available: {error.strerror}")
    return asyncio.run(run_workers(public, count, arguments))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
