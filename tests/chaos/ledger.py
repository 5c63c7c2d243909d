"""What a campaign has seen: totals for its last line, and the failures that end it."""
import collections
import random
import re

NUMBER = re.compile(rb"n(\d+)n")  # as a query carries its number, and its answer carries it back
REMEMBERED = 20_000  # queries whose attempts are kept


def seeded(*key):
    """Random choices that depend on `key` only, not on the order in which queries happen to run."""
    return random.Random(":".join(map(str, key)))


class Ledger:
    """Counts of answers, faults and events, the attempts at each query, and all failures."""

    def __init__(self):
        self.answers = collections.Counter()  # by status, or by the way the client left
        self.faults = collections.Counter()
        self.events = collections.Counter()
        self.fair = collections.Counter()  # fair queries (clients.FAIR): True for 200, False for other answers
        self.unfair = []  # the latter, with their answers
        self.executed = collections.Counter()  # updates, by their number
        self.attempts = collections.defaultdict(list)
        self.failures = []
        self.now = "the warm-up"

    def fail(self, text, number=None):
        """Notes a failure with the step and, for a query, what its mirrors did."""
        tried = f" (attempts: {', '.join(self.attempts[number]) or 'none'})" if number else ""
        self.failures.append(f"{self.now}: {text}{tried}")

    def attempt(self, number, mirror, fault):
        """Notes that a mirror has got the query, and forgets those of long ago."""
        self.attempts[number].append(f"{mirror} {fault}")
        if fault != "well":
            self.faults[fault] += 1
        self.attempts.pop(number - REMEMBERED, None)
        self.executed.pop(number - REMEMBERED, None)

    def execute(self, number):
        """Notes that a mirror has carried out an update; a second time is a failure."""
        self.executed[number] += 1
        if self.executed[number] > 1:
            self.fail(f"update n{number}n was carried out twice", number)
