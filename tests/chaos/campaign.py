"""A seeded campaign of faults against real karmad processes, described in docs/chaos.md."""
import argparse
import asyncio
import collections
import logging
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

from clients import Clients, check_answer, open_connection, query_of, read_answer
from kubernetes import FAULTS, ApiServer
from ledger import Ledger, seeded
from mirrors import HARMFUL, HARMLESS, PLACES, SHARDS, SURPLUS, Mirror
from mysql import MysqlClients
from service import Service, free_port, until, write

STEP, WARM_UP, CALM = 2.0, 5.0, 5.0  # seconds
LEAST_FAIR = 0.99  # share of answers 200 to fair queries; docs/chaos.md has the reason
MORE_MEMORY, MORE_DESCRIPTORS = 32, 4  # MiB and descriptors beyond those after the warm-up
FEW_DESCRIPTORS = 100  # of which clients get 75
EVENTS = {"none": 3, "reload": 3, "broken_reload": 2, "takeover": 2, "broken_takeover": 1, "drain": 3, "discovery": 3,
          "kubernetes_changes": 3, "starve": 2, "scarce": 1, "clock": 2}
JUMPS = (-400 * 86400, -3600, -1, 1, 3600, 400 * 86400)  # seconds
Step = collections.namedtuple("Step", "number faults event fair draw")


def schedule(seed, count):
    """The steps: for each mirror a fault and the share of requests that meet it, and one event. One mirror of each shard
    works in this step and the next; in a dark step none of a shard need to."""
    plan = seeded(seed, "schedule")
    working, dark = [[0] * SHARDS], [None]
    for _ in range(count):
        working.append([place if plan.random() < 0.6 else plan.randrange(PLACES) for place in working[-1]])
        dark.append(plan.randrange(SHARDS) if plan.random() < 0.1 else None)
    steps = []
    for number in range(1, count + 1):
        draw = seeded(seed, "step", number)
        faults = {}
        for shard, place in ((shard, place) for shard in range(SHARDS) for place in range(PLACES)):
            kinds = HARMFUL + SURPLUS * (place == PLACES - 1) + HARMLESS * (shard != dark[number])
            if shard != dark[number] and place in (working[number - 1][shard], working[number][shard]):
                kinds = HARMLESS
            faults[shard, place] = draw.choice(kinds), draw.choice((0.1, 0.5, 1.0))
        # karmad has to find out that mirrors work again, and a query may last until the next step.
        fair = set(dark[max(0, number - 2):number + 2]) == {None}
        event = draw.choices(list(EVENTS), EVENTS.values())[0]
        steps.append(Step(number, faults, event if fair or event != "scarce" else "none", fair, draw))
    return steps


class Campaign:
    """The mirrors, clients and processes of one campaign, and its events."""

    def __init__(self, options, folder):
        self.seed, self.folder = options.seed, pathlib.Path(folder)
        programs = [pathlib.Path(folder, "karmad") for folder in options.programs.split(",")]
        self.sanitized = any(re.search(rb"__[at]san_init", program.read_bytes()) for program in programs)
        patience = 40 if self.sanitized else 15
        self.ledger = Ledger()
        self.mirrors = {(shard, place): Mirror(shard + 1, place + 1, self.seed, self.ledger)
                        for shard in range(SHARDS) for place in range(PLACES)}
        self.kubernetes = ApiServer()
        self.service = Service(programs, self.folder, self.mirrors, patience, self.kubernetes)
        self.rate, self.patience, self.clients = options.rate, patience, []
        self.levels = "not measured"

    def require(self, holds, text):
        """What does not hold is a failure."""
        if not holds:
            self.ledger.fail(text)

    async def require_status(self, wanted, path, members):
        """Makes an admin call that has to have one of these statuses. Returns it."""
        status, text = await self.service.call(path, members)
        self.require(status in wanted, f"{path} {members}: {status} instead of {wanted}: {text[:500]}")
        return status

    def spare(self, step):
        """A mirror that need not work in this step, if there is one."""
        harmful = [key for key, (fault, _) in step.faults.items() if fault not in HARMLESS]
        return step.draw.choice(harmful) if harmful else None

    # --- events -------------------------------------------------------------------------------

    async def none(self, step):
        """Faults alone."""

    async def reload(self, step):
        """Another configuration, without one of the mirrors; then one with all of them."""
        for without in (self.spare(step), None):
            self.service.configure(step.draw, without)
            await self.require_status([200], "/admin/reload", {})
            await asyncio.sleep(0.5)

    async def broken_reload(self, step):
        """A broken configuration is refused, and the one in use stays."""
        good = self.service.file.read_text()
        loaded = await self.service.number("karmad_config_loaded_timestamp_seconds")
        refused = await self.service.number("karmad_config_reload_failures_total")
        write(self.service.file, step.draw.choice(
            (good + "table {", good.replace("127.0.0.1:", "127.0.0.1:x", 5), "", good.replace("hedge", "hegde"))))
        self.service.hang_up()

        async def is_refused():
            return await self.service.number("karmad_config_reload_failures_total") > refused
        self.require(await until(is_refused), "a broken configuration was not refused")
        await self.require_status([422], "/admin/reload", {})
        self.require(await self.service.number("karmad_config_loaded_timestamp_seconds") == loaded,
                     "a broken configuration has replaced the one in use")
        write(self.service.file, good)

    async def takeover(self, step):
        """A new process takes over. `finish` requires that the former one has ended with 0."""
        self.service.configure(step.draw)
        if not await self.service.launch("--takeover"):
            self.ledger.fail(f"no takeover: {self.service.served[-1].text()[-2000:]}")

    async def broken_takeover(self, step):
        """A successor with a broken configuration ends with 78, and the current process goes on."""
        write(self.folder / "broken.conf", self.service.configuration(step.draw) + "table {")
        process = await self.service.spawn(self.folder / "broken.conf", "--takeover")
        self.require(await process.end() == 78, f"a successor with a broken configuration: {process.text()[-2000:]}")

    async def drain(self, step):
        """One mirror is drained or put into maintenance, and comes back."""
        if (spare := self.spare(step)) is None:
            return
        mirror = {"mirror": self.mirrors[spare].address}
        # 409: no other mirror of the shard can serve.
        status = await self.require_status([200, 409], f"/admin/{step.draw.choice(('drain', 'maint'))}", mirror)
        self.ledger.events["drain refused"] += status == 409
        await asyncio.sleep(1)
        await self.require_status([200], "/admin/ready", mirror)

    async def discovery(self, step):
        """The file of mirrors changes, is empty or broken, and in the end is as before."""
        spare, found = self.spare(step), self.service.found
        match step.draw.choice(("fewer", "weights", "empty", "broken")):
            case "fewer":
                self.service.discover([place for place in range(PLACES) if (0, place) != spare])
            case "weights":
                self.service.discover(weight=step.draw.randint(1, 1000))
            case "empty":
                write(found, "[]")
            case "broken":
                write(found, found.read_text()[:step.draw.randint(1, 40)])
        await asyncio.sleep(1.5)
        self.service.discover()

    async def starve(self, step):
        """Busy processes take the processors for a second."""
        busy = [await asyncio.create_subprocess_exec("nice", "-n", "2", sys.executable, "-c", "while True: pass")
                for _ in range(2 * os.cpu_count())]
        try:
            await asyncio.sleep(1)
        finally:
            for process in busy:
                process.kill()
                await process.wait()

    async def scarce(self, step):
        """Another karmad with few descriptors, whose access log is on a full disk, gets too many connections."""
        port, admin = free_port(), free_port()
        file = self.folder / "scarce.conf"
        write(file, self.service.configuration(ports=(port, admin), more="  workers = 1\n  access_log = /dev/full\n"))
        process = await self.service.spawn(file, descriptors=FEW_DESCRIPTORS)
        self.require(await process.has_logged(f"127.0.0.1:{admin}:admin"), "karmad with few descriptors did not start")
        first = 10 ** 9 + step.number * 1000
        crowd = (self.ask_once(port, number) for number in range(first, first + 2 * FEW_DESCRIPTORS))
        answered = sum(await asyncio.gather(*crowd))
        self.ledger.events["answers with few descriptors"] += answered
        self.require(answered, "no answer with few descriptors")
        self.require(await until(lambda: self.ask_once(port, first + 999)), "no answer once descriptors are free")
        process.child.terminate()
        self.require(await process.end() == 0, f"karmad with few descriptors: {process.text()[-2000:]}")

    async def ask_once(self, port, number):
        """One query over a connection that stays for a while. Returns whether it got 200."""
        query = query_of(self.seed, number, "both")
        try:
            async with open_connection(port) as (reader, writer):
                writer.write(query.request)
                answer = await asyncio.wait_for(read_answer(reader), 3)
                check_answer(self.ledger, query, *answer)
                await asyncio.sleep(0.5)
                return answer[0] == 200
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            return False

    async def kubernetes_changes(self, step):
        """The service in Kubernetes loses a mirror, or its API server fails, and in the end is as before."""
        spare = self.spare(step)
        await self.kubernetes.show(without=spare and self.mirrors[spare].address, fault=step.draw.choice(("", *FAULTS)))
        await asyncio.sleep(1.5)
        await self.kubernetes.show()

    async def clock(self, step):
        """The wall clock jumps, twice; no duration may depend on it."""
        for jump in step.draw.sample(JUMPS, 2):
            self.service.jump(jump)
            await asyncio.sleep(STEP / 2)

    # --- the course of it ---------------------------------------------------------------------

    async def change(self, faults):
        """Gives each mirror its fault, or none."""
        for key, mirror in self.mirrors.items():
            await mirror.change(*faults.get(key, ("well",)))

    def enter(self):
        """The clients begin."""
        for clients in self.clients:
            clients.start()

    async def leave(self):
        """The clients have their answers and leave."""
        for clients in self.clients:
            await clients.stop()

    def require_fairness(self, fair):
        """Whether queries have to be answered from now on."""
        for clients in self.clients:
            clients.fair = fair

    async def measure(self):
        """MiB and descriptors without clients and without kept connections to mirrors. Nothing may be in progress then."""
        await self.leave()

        async def is_idle():
            return not await self.service.in_progress()
        if not await until(is_idle):
            self.ledger.fail(f"still in progress: {await self.service.in_progress()}")
        await asyncio.sleep(2)  # the allocator gives memory back within about a second
        memory, descriptors = self.service.served[-1].levels()
        return memory, descriptors - int(await self.service.number("karmad_agent_open_connections"))

    async def run(self, steps):
        """Warm-up, the steps until one fails, a calm end, and the checks of what is left."""
        await self.change({})
        await self.kubernetes.start(mirror.address for (shard, _), mirror in self.mirrors.items() if shard == 0)
        self.service.discover()
        if not await self.service.take_over_clock():
            self.ledger.events["no compiler: the clock is left alone"] += 1
        context = await self.service.certify()
        self.service.configure()
        if not await self.service.launch():
            return self.ledger.fail(f"karmad did not start: {self.service.served[0].text()[-2000:]}")
        encrypted = context and (self.service.encrypted, context)
        self.clients = [
            Clients(self.service.port, self.seed, self.rate, self.ledger, self.patience, encrypted=encrypted),
            MysqlClients(self.service.mysql, self.seed, self.rate / 5, self.ledger, self.patience, bool(encrypted))]
        self.enter()
        await asyncio.sleep(WARM_UP)
        before = await self.measure()
        self.enter()
        for step in steps:
            self.ledger.now = f"step {step.number} ({step.event})"
            self.require_fairness(step.fair)
            await self.change(step.faults)
            outcome, _ = await asyncio.gather(getattr(self, step.event)(step), asyncio.sleep(STEP), return_exceptions=True)
            self.require(not isinstance(outcome, Exception), f"the event failed: {outcome!r}")
            self.ledger.events[step.event] += 1
            if self.ledger.failures:
                break
        current = self.service.served[-1]
        if current.child.returncode is None:
            return await self.finish(before)
        self.ledger.fail(f"{current.log.name} ended with {current.child.returncode}: {current.text()[-3000:]}")
        await self.leave()

    async def finish(self, before):
        """Ends the faults, the clients and the processes; then nothing may be left."""
        ledger, fair = self.ledger, self.ledger.fair
        ledger.now = "the calm end"
        self.require_fairness(False)
        await self.change({})
        self.service.configure()
        await self.require_status([200], "/admin/reload", {})
        await asyncio.sleep(CALM)
        self.require_fairness(True)
        failed = fair[False]
        await asyncio.sleep(CALM)
        self.require(fair[False] == failed, f"without faults queries fail: {ledger.unfair[-3:]}")
        self.require(fair[True] >= LEAST_FAIR * fair.total(), f"fair queries fail: {fair[False]} of {fair.total()}: "
                                                              f"{ledger.unfair[:10]}")
        after = await self.measure()
        self.levels = f"memory {before[0]} to {after[0]} MiB, descriptors {before[1]} to {after[1]}"
        self.require(self.sanitized or after[0] <= before[0] + MORE_MEMORY, self.levels)
        self.require(abs(after[1] - before[1]) <= MORE_DESCRIPTORS, self.levels)
        self.service.served[-1].child.terminate()
        for process in self.service.served:
            self.require(await process.end() == 0, f"{process.log.name} ended with {process.child.returncode}")
        for process in self.service.all:
            found = re.search(r".*(Sanitizer|runtime error:|terminate called|Assertion .* failed).*", process.text())
            self.require(not found, f"{process.log.name}: {found and found[0]}")

    async def clean_up(self):
        """Ends all processes and mirrors that are left."""
        for process in self.service.all:
            await process.end(0)
        for mirror in self.mirrors.values():
            await mirror.close()
        await self.kubernetes.close()

    def totals(self):
        """One line of what has happened."""
        ledger, parts = self.ledger, []
        for name, counts in (("answers", ledger.answers), ("faults", ledger.faults), ("events", ledger.events)):
            parts.append(f"{name}: " + ", ".join(f"{key} {counts[key]}" for key in sorted(counts, key=str)))
        return "; ".join((*parts, f"fair queries: {ledger.fair[True]} of {ledger.fair.total()}", self.levels))

    def report(self):
        """Prints the failures, with what the access log has about their queries, and keeps the logs."""
        access = self.folder / "access.log"
        lines = access.read_text(errors="replace").splitlines() if access.exists() else []
        for text in self.ledger.failures[:10] + self.ledger.failures[10:][-2:]:  # the last ones may be the crash behind them
            print(f"FAILED: {text}")
            for mark in set(re.findall(r"n\d+n", text)):
                print("".join(f"  {line[:1500]}\n" for line in lines if f'"{mark}"' in line), end="")
        kept = pathlib.Path("build/chaos", str(self.seed))
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder, kept, ignore=shutil.ignore_patterns("takeover"))
        print(f"logs: {kept}")


async def self_test(options, folder):
    """Whether the checks see mistakes: of a mirror without karmad, and in a campaign. Returns what they do not see."""
    for fault, words in {"well": "", "swap": "got an answer of", "twice": "an answer twice", "reset": "is lost"}.items():
        ledger = Ledger()
        mirror = Mirror(1, 1, options.seed, Ledger())
        await mirror.change(fault)
        clients = Clients(mirror.port, options.seed, 200, ledger, 5, ["get", "read", "found"])
        clients.start()
        await asyncio.sleep(1)
        await clients.stop()
        await mirror.close()
        if any(words in text for text in ledger.failures) != bool(words):
            return f"{fault}: {ledger.failures[:3]}"
    campaign = Campaign(options, folder)
    try:
        await campaign.run([Step(1, {(0, 0): ("swap", 0.05)}, "none", True, None)])
    finally:
        await campaign.clean_up()
    return "" if any("got an answer of" in text for text in campaign.ledger.failures) else "a campaign with a wrong mirror"


async def main(options):
    """Runs the campaign. Returns the exit code."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # mirrors write to connections that karmad has closed
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    with tempfile.TemporaryDirectory(prefix="chaos") as folder:
        if options.self_test:
            unseen = await self_test(options, folder)
            print(f"self-test: {unseen or 'every mistake was seen'}")
            return bool(unseen)
        command = f"scripts/chaos.sh --seed {options.seed} --rate {options.rate} {options.minutes:g}"
        print(command, flush=True)
        campaign = Campaign(options, folder)
        try:
            await campaign.run(schedule(options.seed, max(1, int(options.minutes * 60 / STEP))))
            if campaign.ledger.failures:
                campaign.report()
        finally:
            await campaign.clean_up()
        print(campaign.totals())
        if campaign.ledger.failures:
            print(f"failed; the same again: {command}")
        return bool(campaign.ledger.failures)


def read_options():
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/chaos.sh", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=1, help="how long faults last, 1 by default")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10 ** 6, help="decides all faults and events")
    parser.add_argument("--programs", default="build/release", help="folder with karmad, build/release by default; of several, with commas between them, each "
                        "new process takes the next")
    parser.add_argument("--rate", type=int, default=200, help="requests per second, 200 by default")
    parser.add_argument("--self-test", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(read_options())))
    except (asyncio.CancelledError, KeyboardInterrupt):
        sys.exit(130)
