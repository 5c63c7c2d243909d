"""Clients of the MySQL protocol on kept connections, half of them encrypted, and those that kill their statements."""
import asyncio
import contextlib
import itertools
import ssl
import struct

from clients import Query, check_answer
from ledger import seeded

FIRST = 5 * 10 ** 8  # their numbers begin here
CONNECTIONS = 6
MANNERS = {"plain": 85, "kill": 10, "leave": 5}
PROTOCOL_41, ENCRYPTED, SECURE_CONNECTION, PLUGIN = 0x200, 0x800, 0x8000, 0x80000
ENDS, KILLED = 1053, 1317  # errors: the program ends or was replaced; the statement was killed


class Ended(Exception):
    """The connection was ended in order: the client connects again."""


class Connection:
    """One connection, from the handshake on."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.id = reader, writer, 0

    async def packet(self):
        """The next packet."""
        head = await self.reader.readexactly(4)
        return await self.reader.readexactly(int.from_bytes(head[:3], "little"))

    def send(self, data, sequence=0):
        """Sends one packet."""
        self.writer.write(struct.pack("<I", len(data))[:3] + bytes([sequence]) + data)

    async def greet(self, encrypts):
        """The handshake."""
        greeting = await self.packet()
        raise_error(greeting)
        self.id = struct.unpack_from("<I", greeting, greeting.index(b"\0") + 1)[0]
        abilities = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN | (ENCRYPTED if encrypts else 0)
        start = struct.pack("<IIB23x", abilities, 1 << 24, 33)
        if encrypts:
            self.send(start, 1)
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            await self.writer.start_tls(context)
        self.send(start + b"chaos\0\0mysql_native_password\0", 1 + encrypts)
        raise_error(await self.packet())

    async def rows(self):
        """The packets of the rows of an answer; raises what an error packet says."""
        raise_error(await self.packet())
        found, ends = [], 0
        while ends < 2:  # behind the columns, and behind the rows
            packet = await self.packet()
            raise_error(packet)
            if packet[:1] == b"\xfe" and len(packet) < 9:
                ends += 1
            elif ends:
                found.append(packet)
        return found


class ServerError(Exception):
    """An error packet: its number and its text."""


def raise_error(packet):
    """Raises the error if the packet is one."""
    if packet[:1] != b"\xff":
        return
    number = struct.unpack_from("<H", packet, 1)[0]
    raise Ended() if number == ENDS else ServerError(number, packet[3:])


class MysqlClients:
    """They send at a steady rate until they are told to stop."""

    def __init__(self, port, seed, rate, ledger, patience, encrypts):
        self.fair = True  # as that of the other clients
        self._port, self._seed, self._ledger, self._patience, self._encrypts = port, seed, ledger, patience, encrypts
        self._pause = CONNECTIONS / rate
        self._numbers = itertools.count(FIRST)
        self._tasks = []

    def start(self):
        """Opens the connections and begins to send."""
        self._running = True
        self._tasks = [asyncio.create_task(self._send_steadily(place)) for place in range(CONNECTIONS)]

    async def stop(self):
        """Ends when every client has its answers and has left. A client that fails is a failure."""
        self._running = False
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                self._ledger.fail(f"a client of MySQL failed: {outcome!r}")

    async def _send_steadily(self, place):
        while self._running:
            try:
                async with self._open(self._encrypts and place % 2 == 0) as connection:
                    while self._running and await self._exchange(connection):
                        await asyncio.sleep(self._pause)
            except (Ended, ServerError) as error:
                self._ledger.answers[f"MySQL, at the handshake: {error}"] += 1
                await asyncio.sleep(0.1)
            except (OSError, asyncio.IncompleteReadError) as error:
                self._ledger.fail(f"no connection to karmad's MySQL: {error!r}")
                await asyncio.sleep(0.1)

    @contextlib.asynccontextmanager
    async def _open(self, encrypts=False):
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            connection = Connection(reader, writer)
            await asyncio.wait_for(connection.greet(encrypts), self._patience)
            yield connection
        finally:
            writer.close()

    async def _exchange(self, connection):
        """Sends one statement and reads its answer. Returns whether the connection stays."""
        number = next(self._numbers)
        draw = seeded(self._seed, "mysql", number)
        manner = draw.choices(list(MANNERS), MANNERS.values())[0]
        query = Query(number, "sql", manner, b"", self.fair and manner == "plain")
        mark = f"n{number}n"
        connection.send(f"\x03SELECT id, title FROM both WHERE MATCH('{mark}')".encode())
        if manner == "leave":
            self._ledger.answers["MySQL, left"] += 1
            await asyncio.sleep(draw.uniform(0, 0.01))
            return False
        try:
            if manner == "kill":
                await self._kill(connection.id, draw)
            rows = await asyncio.wait_for(connection.rows(), self._patience)
        except TimeoutError:
            self._ledger.fail(f"{mark} (MySQL) has no answer after {self._patience} s", number)
            return False
        except Ended:
            self._ledger.answers["MySQL, ended for a successor"] += 1
            if self._ledger.attempts[number]:
                self._ledger.fail(f"{mark} (MySQL) was asked, and is not answered", number)
            return False
        except ServerError as error:
            code, text = error.args
            if code == KILLED and manner == "kill":
                self._ledger.answers["MySQL, killed"] += 1
                return True
            check_answer(self._ledger, query, f"MySQL {code}", {}, text)
            return True
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self._ledger.fail(f"{mark} (MySQL) is lost, the connection ended: {error!r}", number)
            return False
        check_answer(self._ledger, query, 200, {}, b"\n".join(rows))
        return True

    async def _kill(self, connection, draw):
        """Another connection ends what this one does, if it still does."""
        await asyncio.sleep(draw.uniform(0, 0.005))
        with contextlib.suppress(Ended, ServerError):
            async with self._open() as other:
                other.send(f"\x03KILL QUERY {connection}".encode())
                raise_error(await asyncio.wait_for(other.packet(), self._patience))
