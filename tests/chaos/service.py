"""karmad as a service: its processes one after the other, its configuration, its admin calls."""
import asyncio
import contextlib
import inspect
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import time

from clients import ask
from mirrors import PLACES

SETTLED = 20.0  # seconds until nothing is in progress any more, a process has started or ended, a reload is done
READY = "a successor may connect"  # the last line of the log at a start
MORE = ("outlier = on", "breaker = 1", "agent_max_connections = 8", "persistent_connections_limit = 0",
        "adaptive_retries = 1", "max_in_flight = auto", "search_timeouts = 300ms, 1s, 3s", "slow_start = 2s")
STRATEGIES = ("random", "roundrobin", "nodeads", "noerrors", "leastops", "adaptive", "prequal", "ars")
IN_PROGRESS = re.compile(r"^karmad_(?:agent_in_flight|agent_waiting|connections_open|connections_queued|long_work_waiting|"
                         r"max_in_flight_waiting|pool_processing\{\S*(?:normal|low)|pool_tickets_queued|selections_waiting|"
                         r"(?:shard_)?retry_budget_(?:extras|live)|shard_waiting)\b.* [^0\n].*", re.M)


async def until(condition, patience=SETTLED):
    """Waits until the condition, a function or a coroutine, holds. Returns whether it does."""
    end = time.monotonic() + patience
    while True:
        holds = condition()
        if await holds if inspect.isawaitable(holds) else holds:
            return True
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.05)


def free_port():
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write(path, text):
    """Replaces a file in one step."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


class Process:
    """One karmad, with its log in a file."""

    def __init__(self, program, log):
        self.log, self._program = log, program

    async def start(self, config, *options, descriptors=None, environment):
        """Starts it, with a limit of descriptors if one is given."""
        limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        with open(self.log, "wb") as log:
            self.child = await asyncio.create_subprocess_exec(
                self._program, "--config", config, *options, stdout=log, stderr=log, preexec_fn=limit,
                env={**os.environ, **environment})
        return self

    def text(self):
        """Its log until now."""
        return self.log.read_text(errors="replace")

    async def has_logged(self, words):
        """Waits until its log has these words, or the process has ended. Returns whether it has them."""
        await until(lambda: words in self.text() or self.child.returncode is not None)
        return words in self.text()

    async def end(self, patience=SETTLED):
        """Its exit code once it has ended. It is killed if that takes too long."""
        try:
            return await asyncio.wait_for(self.child.wait(), patience)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.child.kill()
            return await self.child.wait()

    def levels(self):
        """Resident MiB and open descriptors."""
        of = pathlib.Path(f"/proc/{self.child.pid}")
        pages = int((of / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20, len(os.listdir(of / "fd"))


class Service:
    """The processes that serve the clients, of which the last one is current, and their configuration file."""

    def __init__(self, programs, folder, mirrors, patience, kubernetes):
        self.port, self.admin, self.mysql, self.encrypted = (free_port() for _ in range(4))
        self.certificate = None  # a file, with its key: then there is TLS
        self.file, self.found = folder / "karmad.conf", folder / "found.json"
        self.all, self.served = [], []  # `all`: also those that never served the clients
        self._programs, self._folder, self._mirrors, self._patience = programs, folder, mirrors, patience
        self._kubernetes, self._environment = kubernetes, {}

    async def take_over_clock(self):
        """From then on the wall clock of new processes is set by `jump`. Returns whether there is a compiler for that."""
        library, ahead = self._folder / "wall_clock.so", self._folder / "ahead"
        if shutil.which("cc") is None:
            return False
        source = pathlib.Path(__file__).with_name("wall_clock.c")
        compiler = await asyncio.create_subprocess_exec("cc", "-shared", "-fPIC", "-O1", "-o", library, source)
        if await compiler.wait() != 0:
            return False
        ahead.write_bytes(bytes(8))
        self._environment = {"LD_PRELOAD": str(library), "KARMAD_WALL_CLOCK": str(ahead)}
        return True

    def jump(self, seconds):
        """The wall clock of all processes is ahead by these seconds at once."""
        if self._environment:
            with open(self._folder / "ahead", "r+b") as file:
                file.write(struct.pack("=q", seconds))

    async def certify(self):
        """Makes a certificate, and then has TLS. Returns how clients use it; nothing without the program `openssl`."""
        if shutil.which("openssl") is None:
            return None
        file = self._folder / "certificate.pem"
        await (await asyncio.create_subprocess_exec(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=chaos", "-keyout", file, "-out", self._folder / "public.pem",
            stderr=asyncio.subprocess.DEVNULL)).wait()
        write(file, file.read_text() + (self._folder / "public.pem").read_text())
        self.certificate = file
        context = ssl.create_default_context(cafile=file)
        context.check_hostname = False
        return context

    async def spawn(self, config, *options, descriptors=None):
        """Starts a karmad of any purpose."""
        program = self._programs[len(self.all) % len(self._programs)]
        process = Process(program, self._folder / f"karmad{len(self.all)}.log")
        self.all.append(process)
        return await process.start(config, *options, descriptors=descriptors, environment=self._environment)

    async def launch(self, *options):
        """Starts the next process of the service. Returns whether it serves."""
        self.served.append(await self.spawn(self.file, *options))
        return await self.served[-1].has_logged(READY)

    def configuration(self, draw=None, without=None, ports=None, more=None):
        """A configuration; `draw` chooses what a reload changes, `without` is a mirror that a table lacks."""
        port, admin = ports or (self.port, self.admin)
        fronts = "" if ports else f"  listen = 127.0.0.1:{self.mysql}:mysql\n"
        if self.certificate and not ports:
            fronts += f"  listen = 127.0.0.1:{self.encrypted}:https\n  tls_certificate = {self.certificate}\n"
        strategy, hedge, timeout = [draw.choice(values) if draw else values[2] for values in (
            STRATEGIES, ("p95", "30ms", "off"), ("1500ms", "1200ms", "1s"))]
        drawn = f"  {draw.choice(MORE)}\n" if draw else ""
        weights = [f"[weight={draw.randint(1, 5)}]" if draw else "" for _ in range(PLACES)]
        more = more or f"  takeover_socket = {self._folder}/takeover\n  access_log = {self._folder}/access.log\n"

        def line(shard, options=("", "", ""), without=None):
            mirrors = [self._mirrors[shard, place].address + options[place] for place in range(PLACES)
                       if (shard, place) != without]
            return f"  agent = {'|'.join(mirrors)}\n"

        tables = {"pass": line(0) + "  dialect = http\n  route = /pass/\n  reads = /pass/read*\n  updates = any\n",
                  "both": line(0, weights, without) + line(1, weights, without),
                  "near": line(0, ("[role=primary]", "[role=replica]", "[role=replica]"))
                  + "  read_preference = secondaryPreferred\n",
                  "agreed": line(0) + "  consistency = quorum\n",
                  "found": line(0) + f"  discovery = file {self.found}\n",
                  "kube": line(0) + f"  discovery = kubernetes prod/search http://127.0.0.1:{self._kubernetes.port}\n"}
        return (f"searchd {{\n  listen = 127.0.0.1:{port}\n  listen = 127.0.0.1:{admin}:admin\n"
                f"{fronts}{drawn}  ha_strategy = {strategy}\n  hedge = {hedge}\n  agent_query_timeout = {timeout}\n"
                "  ha_ping_interval = 500ms\n  request_timeout = 5s\n  shutdown_linger = 3s\n"
                f"  shutdown_timeout = 10s\n  partial_results = deny\n  reply_buffer_size = 64k\n{more}}}\n"
                + "".join(f"table {name} {{\n  type = distributed\n{text}}}\n" for name, text in tables.items()))

    def configure(self, draw=None, without=None):
        """Writes the configuration file."""
        write(self.file, self.configuration(draw, without))

    def discover(self, places=range(PLACES), weight=1):
        """Writes the mirrors of the table `found`."""
        write(self.found, json.dumps([{"address": self._mirrors[0, place].address, "weight": weight} for place in places]))

    def hang_up(self):
        """Asks the current process to read its configuration again."""
        self.served[-1].child.send_signal(signal.SIGHUP)

    async def call(self, path, members=None):
        """A call of the admin listener; GET without members. Returns status and text."""
        body = "" if members is None else json.dumps(members)
        request = (f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: chaos\r\nConnection: close\r\n"
                   f"Content-Length: {len(body)}\r\n\r\n{body}")
        return await ask(self.admin, request, self._patience)

    async def number(self, name):
        """The sum of a metric over its labels."""
        _, text = await self.call("/metrics")
        return sum(map(float, re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M)))

    async def in_progress(self):
        """The metrics of what is in progress now, if any is."""
        return IN_PROGRESS.findall((await self.call("/metrics"))[1])
