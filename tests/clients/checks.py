"""What the clients in Python share: the arguments, the expected rows, one line for each check."""

import contextlib
import os
import signal
import sys

port, table, mirror = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
added = (5001, 'Größe "M", it\'s 5\\6', 7, 2.5, "Zest", -5)  # id, title, price, rating, brand, stock
passed = failed = 0
unknown_column = (1054, 1064)  # of MySQL, of the engine

readers = {"int": int, "float": float, "text": str}
with open(os.path.join(os.path.dirname(__file__), "expected.tsv"), encoding="utf-8") as file:
    lines = [line.rstrip("\n").split("\t") for line in file]
columns = [name for name, _ in (head.split(":") for head in lines[0])]
types = [readers[kind] for _, kind in (head.split(":") for head in lines[0])]
expected = [tuple(read(cell) for read, cell in zip(types, line)) for line in lines[1:]]


@contextlib.contextmanager
def check(name):
    """Prints how the block ended; an exception in it is a failure, and the next check follows."""
    global passed, failed
    try:
        yield
        passed += 1
        print(f"ok {name}", flush=True)
    except Exception as error:  # pylint: disable=broad-except
        failed += 1
        text = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"FAILED {name}: {text[:600]}", flush=True)


def same(wanted, found):
    """Values and types are equal."""
    def typed(value):
        if isinstance(value, (list, tuple)):
            return [typed(one) for one in value]
        return type(value).__name__, value

    if typed(wanted) != typed(found):
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def one_of(wanted, found):
    """`found` is one of several right values."""
    if found not in wanted:
        raise AssertionError(f"{found!r} instead of one of {wanted!r}")


def page(number):
    """The rows of a page of four."""
    return expected[4 * number:4 * number + 4]


def asks_while_a_mirror_ends(ask):
    """`ask()` is called before and after the end of a mirror."""
    for turn in range(60):
        if turn == 20:
            os.kill(mirror, signal.SIGKILL)
        ask()


def finish():
    """Ends the program."""
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)
