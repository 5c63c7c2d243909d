"""Fake mirrors: they answer every query with its own number, and misbehave as the schedule says."""
import asyncio
import json
import re

from ledger import NUMBER, seeded

SHARDS, PLACES = 2, 3  # and mirrors of a shard
# With these faults a mirror still answers every query.
HARMLESS = ("well", "trickle", "interim", "chunked", "early")
HARMFUL = ("dead", "freeze", "reset", "too_long", "switch", "close_reused", "garbage")
# Bytes behind an answer: karmad then uses each connection to that mirror once, for ten minutes. Only the last mirror of
# a shard does this, so that connections to the others are reused.
SURPLUS = ("too_short", "twice")
LONG = 200_000  # bytes: more than reply_buffer_size

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)


def _columns(types, rows):
    """A result set of SQL as the search server writes it."""
    return {"columns": [{name: {"type": kind}} for name, kind in types.items()],
            "data": [dict(zip(types, row)) for row in rows], "total": len(rows), "error": "", "warning": ""}


def _page(status, body, fields="", length=None):
    """An answer of HTTP; `length` is what it says about the body instead of the truth."""
    length = len(body) if length is None else length
    return f"HTTP/1.1 {status} X\r\nX-Generation: 7\r\nContent-Length: {length}\r\n{fields}\r\n".encode() + body


def _in_chunks(body, draw):
    """The answer with a chunked body."""
    page = b"HTTP/1.1 200 OK\r\nX-Generation: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
    while body:
        size = draw.randint(1, max(1, len(body) // 3))
        page += b"%x\r\n%s\r\n" % (size, body[:size])
        body = body[size:]
    return page + b"0\r\n\r\n"


class Mirror:
    """One mirror of a shard at a port of its own, which it keeps while it is dead."""

    def __init__(self, shard, place, seed, ledger):
        self.shard, self.place = shard, place
        self.name = f"s{shard}m{place}"
        self.fault, self.share = "well", 1.0
        self.port = 0
        self._seed, self._ledger = seed, ledger
        self._server = None
        self._connections = set()
        self._thawed = asyncio.Event()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    async def change(self, fault, share=1.0):
        """From now on a `share` of the requests meets `fault`. A dead mirror refuses and resets connections."""
        self.fault, self.share = fault, share
        self._thawed.clear() if fault == "freeze" else self._thawed.set()
        if fault == "dead":
            self._ledger.faults["dead"] += 1
            await self.close()
        elif self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=500)
            self.port = self._server.sockets[0].getsockname()[1]

    async def close(self):
        """Closes its port and resets its connections."""
        if self._server is not None:
            self._server.close()
        self._server = None
        for connection in self._connections:
            connection.transport.abort()

    async def _serve(self, reader, writer):
        self._connections.add(writer)
        try:
            reused = False
            while await self._answer(reader, writer, reused):
                reused = True
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    def _fault_of(self, number):
        attempt = len(self._ledger.attempts[number])
        hit = seeded(self._seed, self.name, number, attempt).random() < self.share
        return self.fault if hit or self.fault in ("freeze", "dead") else "well"

    async def _answer(self, reader, writer, reused):
        """Answers one request. Returns whether the connection stays."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(found[1]) if (found := _LENGTH.search(head)) else 0
        body = b"" if NUMBER.search(head) else await reader.readexactly(length)  # a statement of MySQL has no id of ours
        if not (found := NUMBER.search(head + body)):  # a ping
            if self.fault == "freeze":
                await self._thawed.wait()
            writer.write(_page(200, b"{}"))
            return True
        number = int(found[1])
        fault = self._fault_of(number)
        self._ledger.attempt(number, self.name, fault)
        draw = seeded(self._seed, self.name, number)
        text = self._text(head, number if fault != "swap" else number + 1, draw)
        if fault == "early":
            writer.write(_page(200, text))
            await writer.drain()
        body = body or await reader.readexactly(length)
        if set(NUMBER.findall(head + body)) != {b"%d" % number}:
            self._ledger.fail(f"{self.name} got a request of several queries: {head + body[:200]!r}", number)
        refusal = draw.choice(("500", "503", "503 R", "429")) if fault == "garbage" else ""
        if b" /pass/write" in head and refusal not in ("503 R", "429"):
            self._ledger.execute(number)
        return await self._send(writer, fault, text, draw, reused, refusal)

    async def _send(self, writer, fault, text, draw, reused, refusal):
        """Sends the answer as the fault has it. Returns whether the connection stays."""
        whole = _page(200, text)
        match fault:
            case "early":
                return True
            case "freeze":
                await self._thawed.wait()
            case "reset":
                writer.transport.abort()
                return False
            case "close_reused" if reused:
                return False
            case "too_long":
                writer.write(_page(200, text, length=len(text) + draw.randint(1, 1000)))
                return False
            case "too_short":
                whole = _page(200, text, length=len(text) - draw.randint(1, 20))
            case "twice":
                whole *= 2
            case "interim":
                whole = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + whole
            case "switch":
                whole = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" + whole
            case "chunked":
                whole = _in_chunks(text, draw)
            case "garbage":
                rubbish = bytes(draw.randint(0x80, 0xff) for _ in range(draw.randint(0, 300)))
                whole = _page(refusal[:3], rubbish, "Retry-After: 1\r\n" if "R" in refusal else "")
            case "trickle":
                for begin in range(50):
                    writer.write(whole[begin:begin + 1])
                    await asyncio.sleep(0.001)
                whole = whole[50:]
        writer.write(whole)
        await writer.drain()
        return True

    def _text(self, head, number, draw):
        """The body: the number, and the shard that answers."""
        title = f"n{number}n s{self.shard}"
        document = number * 10 + self.shard
        path = head.split(b" ", 2)[1]
        if path.startswith(b"/sql"):
            rows = _columns({"id": "long long", "title": "string", "karmad_0": "long"}, [(document, title, 1)])
            meta = [("total", "1"), ("total_found", "1"), ("total_relation", "eq"), ("time", "0.000")]
            text = [rows, _columns({"Variable_name": "string", "Value": "string"}, meta)]
        elif path == b"/search":
            hit = {"_id": document, "_score": 1, "_source": {"title": title}}
            text = {"took": 1, "timed_out": False, "hits": {"total": 1, "total_relation": "eq", "hits": [hit]}}
        else:
            text = {"title": title, "fill": "." * (LONG if b"/long" in path else draw.randint(20, 3000))}
        return json.dumps(text).encode()
