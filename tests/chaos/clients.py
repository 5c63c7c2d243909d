"""Clients: kept connections with every manner of sending, and what must be true of each answer."""
import asyncio
import contextlib
import itertools
import json
import socket
from dataclasses import dataclass

from ledger import NUMBER, seeded
from mirrors import HARMLESS

# Kinds of queries with their weights, and the shards that must be in the answer.
KINDS = {"get": (20, 1), "read": (10, 1), "write": (10, 1), "long": (3, 1), "both": (20, 2), "sql": (10, 2),
         "raw": (10, 2), "near": (8, 1), "found": (8, 1), "kube": (8, 1), "agreed": (5, 1)}
# A working mirror of each shard is enough for these. An update may not be repeated after a broken connection, a long
# answer not after its beginning, and a quorum needs two mirrors.
FAIR = set(KINDS) - {"write", "long", "agreed"}
MANNERS = {"plain": 860, "trickle": 40, "pipeline": 60, "leave": 35, "never_read": 5}
CONNECTIONS = 20


@dataclass
class Query:
    """A request with a number, and the manner in which a client sends it."""
    number: int
    kind: str
    manner: str
    request: bytes
    fair: bool = False


def query_of(seed, number, kind=None):
    """The query with this number; the same in every run of the seed."""
    draw = seeded(seed, "query", number)
    kind = kind or draw.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    mark, body = f"n{number}n", ""
    if kind in ("get", "long"):
        line = f"GET /pass/{kind}?q={mark}"
    elif kind in ("read", "write"):
        line, body = f"POST /pass/{kind}", mark + "." * draw.choice((0, 100, 5000, 300_000))
    elif kind in ("sql", "raw"):
        line = "POST /sql" if kind == "sql" else "POST /sql?mode=raw"
        body = "query=" * (kind == "sql") + f"SELECT id, title FROM both WHERE MATCH('{mark}')"
    else:
        line, body = "POST /search", json.dumps({"table": kind, "query": {"match": {"*": mark}}})
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    request = f"{line} HTTP/1.1\r\nHost: chaos\r\nX-Request-Id: {mark}\r\n{length}\r\n{body}"
    return Query(number, kind, draw.choices(list(MANNERS), MANNERS.values())[0], request.encode())


@contextlib.asynccontextmanager
async def open_connection(port, context=None):
    """A connection that is closed at the end of the block, with TLS if there is a context for it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        yield reader, writer
    finally:
        writer.close()


async def read_answer(reader):
    """Status, fields (names in lower case) and body of the next answer that is final."""
    status = 100
    while status < 200:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    if fields.get("transfer-encoding") != "chunked":
        return status, fields, await reader.readexactly(int(fields.get("content-length", 0)))
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return status, fields, body


async def ask(port, request, patience):
    """Sends one request on a connection of its own. Returns status and text."""
    async with open_connection(port) as (reader, writer):
        writer.write(request.encode())
        status, _, body = await asyncio.wait_for(read_answer(reader), patience)
        return status, body.decode()


def check_answer(ledger, query, status, fields, body):
    """Counts the answer; fails if it is of another query, or if a shard is missing or there twice."""
    mark = f"n{query.number}n"
    wrong = ({f"n{number.decode()}n" for number in NUMBER.findall(body)} | {fields.get("x-request-id", mark)}) - {mark}
    if wrong:
        ledger.fail(f"{mark} ({query.kind}) got an answer of {wrong}", query.number)
    hits = [body.count(f"{mark} s{shard + 1}".encode()) for shard in range(KINDS[query.kind][1])]
    if status == 200 and set(hits) != {1} and not wrong:
        ledger.fail(f"{mark} ({query.kind}): {hits} hits of its shards: {body[:300]!r}", query.number)
    ledger.answers[status] += 1
    if query.fair:
        ledger.fair[status == 200] += 1
        if status != 200:
            ledger.unfair.append(f"{mark} ({query.kind}) at {ledger.now}: {status} {body[:200]!r}")


class Clients:
    """Clients on kept connections that send at a steady rate until they are told to stop."""

    def __init__(self, port, seed, rate, ledger, patience, kinds=None, encrypted=None):
        """`encrypted`: a second port, which half of the connections use, and how they use it."""
        self._ways = [(port, None), encrypted or (port, None)]
        self.fair = True  # whether each shard has had a working mirror for a while
        self._port, self._seed, self._ledger, self._patience, self._kinds = port, seed, ledger, patience, kinds
        self._pause = CONNECTIONS / rate
        self._numbers = itertools.count(1)
        self._tasks, self._leaving = [], set()

    def start(self):
        """Opens the connections and begins to send."""
        self._running = True
        self._tasks = [asyncio.create_task(self._send_steadily(place)) for place in range(CONNECTIONS)]

    async def stop(self):
        """Ends when every client has its answers and has left. A client that fails is a failure."""
        self._running = False
        for outcome in await asyncio.gather(*self._tasks, *self._leaving, return_exceptions=True):
            if isinstance(outcome, Exception):
                self._ledger.fail(f"a client failed: {outcome!r}")

    def _next(self):
        number = next(self._numbers)
        query = query_of(self._seed, number, self._kinds and self._kinds[number % len(self._kinds)])
        query.fair = self.fair and query.kind in FAIR
        return query

    async def _send_steadily(self, place):
        """One kept connection after the other."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._pause * place / CONNECTIONS
        while self._running:
            try:
                async with open_connection(*self._ways[place % 2]) as (reader, writer):
                    while self._running:
                        await asyncio.sleep(max(0, due - loop.time()))
                        due = max(due + self._pause, loop.time())
                        query = self._next()
                        if query.manner in ("leave", "never_read"):
                            task = asyncio.create_task(self._leave(query))
                            self._leaving.add(task)
                            task.add_done_callback(self._leaving.discard)
                        elif await self._is_over(reader) or not await self._exchange(query, reader, writer):
                            break
                    else:
                        await self._is_over(reader)
            except OSError as error:
                self._ledger.fail(f"no connection to karmad: {error}")
                await asyncio.sleep(0.1)

    async def _is_over(self, reader):
        """Whether karmad has closed the idle connection. Bytes on it are an answer too many."""
        try:
            surplus = await asyncio.wait_for(reader.read(1000), 0.001)
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        if surplus:
            self._ledger.fail(f"an answer twice: {surplus!r}")
        return True

    async def _exchange(self, query, reader, writer):
        """Sends the query, maybe others with it, and reads an answer to each. Returns whether the connection stays."""
        queries = [query] + [self._next() for _ in range(3) if query.manner == "pipeline"]
        request = b"".join(each.request for each in queries)
        piece = len(request) // 15 if query.manner == "trickle" else len(request)
        try:
            for begin in range(0, len(request), piece):
                writer.write(request[begin:begin + piece])
                if piece < len(request):
                    await asyncio.sleep(0.005)
            for place, each in enumerate(queries):
                answer = await asyncio.wait_for(read_answer(reader), self._patience)
                check_answer(self._ledger, each, *answer)
                if answer[1].get("connection", "").lower() == "close":
                    self._ledger.answers["pipelined behind a close"] += len(queries) - place - 1
                    return False
            return True
        except TimeoutError:
            self._ledger.fail(f"n{each.number}n ({each.kind}) has no answer after {self._patience} s", each.number)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            # A long answer is passed on while it arrives, so it may break off with its mirror.
            tried = self._ledger.attempts[each.number]
            if each.kind == "long" and any(attempt.split()[1] not in HARMLESS for attempt in tried):
                self._ledger.answers["broken off"] += 1
            else:
                self._ledger.fail(f"n{each.number}n ({each.kind}) is lost, the connection ended: {error!r}", each.number)
        return False

    async def _leave(self, query):
        """Sends some of the query, or many queries for long answers that it never reads, and leaves."""
        draw = seeded(self._seed, "leave", query.number)
        request, stay = query.request[:draw.choice((10, len(query.request) // 2, None))], draw.uniform(0, 0.05)
        loop = asyncio.get_running_loop()
        with socket.socket() as channel, contextlib.suppress(ConnectionError, TimeoutError):
            channel.setblocking(False)
            if query.manner == "never_read":
                channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                request, stay = query_of(self._seed, query.number, "long").request * 10, draw.uniform(1, 4)
            await loop.sock_connect(channel, ("127.0.0.1", self._port))
            await asyncio.wait_for(loop.sock_sendall(channel, request), 5)
            await asyncio.sleep(stay)
        self._ledger.answers[query.manner] += 1
