"""What the MySQL protocol carries, without a driver: python3 protocol.py PORT RECORDING SHARDS

Sends the recorded statements of one real server and compares column definitions (name, type, flags, length, decimals,
charset), numbers of rows, affected rows, warnings, inserted ids and status flags. The documents are not placed by
`shard_by`, so with SHARDS other than 0 only statements that read are sent.
"""

import json
import socket
import struct
import sys

passed = failed = 0

CHANGES = ("INSERT", "REPLACE", "UPDATE", "DELETE")
# What is answered otherwise, and why: the beginnings of the statement and of the difference.
ON_PURPOSE = [
    ("SHOW WARNINGS", "", "columns also without a warning, as MySQL"),
    ("SELECT VERSION()", "version(): name", "as MySQL"),
    ("DESC", "", "a distributed table lists its mirrors, also at the engine"),
    ("SHOW THREADS", "", "the demo agent shows other columns"),
    ("SELECT PERCENTILES", "error", "not of the demo agent, and refused for several shards"),
    ("SELECT * FROM pq", "affected", "the demo agent has stored queries"),
    ("SELECT brand, COUNT(*) AS c, weight() AS karmad_", "error 1064", "reserved names"),
    ("SELECT *, weight() AS karmad_", "error 1064", "reserved names"),
    ("SELECT t.id", "no error", "the name of a table before a column is left out, as MySQL means it"),
    ("SELECT `t`.`id`", "no error", "the name of a table before a column is left out, as MySQL means it"),
    (CHANGES, "status 3", "a transaction lasts until COMMIT, as at MySQL; PDO refuses to commit otherwise"),
]

CAPABILITIES = 0x0001 | 0x0002 | 0x0004 | 0x0200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000


class Reader:
    """Reads a packet from its beginning."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, size):
        self.at += size
        return int.from_bytes(self.data[self.at - size:self.at], "little")

    def length(self):
        """A length in one to nine bytes; None is NULL."""
        first = self.number(1)
        return None if first == 0xFB else self.number({0xFC: 2, 0xFD: 3, 0xFE: 8}[first]) if first > 0xFB else first

    def text(self):
        size = self.length()
        if size is None:
            return None
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def until_zero(self):
        end = self.data.index(0, self.at)
        found, self.at = self.data[self.at:end], end + 1
        return found


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.file = self.socket.makefile("rb")
        self.greeting = self.packet()
        user = struct.pack("<IIB23x", CAPABILITIES, 1 << 24, 33) + b"any\0" + b"\0" + b"mysql_native_password\0"
        self.send(user, 1)
        answer = self.packet()
        if answer[0] != 0:
            raise AssertionError(f"no OK after the handshake: {answer!r}")

    def packet(self):
        head = self.file.read(4)
        if len(head) < 4:
            raise AssertionError("the connection has ended")
        return self.file.read(int.from_bytes(head[:3], "little"))

    def send(self, data, sequence=0):
        self.socket.sendall(struct.pack("<I", len(data))[:3] + bytes([sequence]) + data)

    def query(self, statement):
        """The first result of a statement, in the form of the recording."""
        self.send(b"\x03" + statement.encode())
        first, status = self.result()
        while status & 8:  # SERVER_MORE_RESULTS_EXISTS
            _, status = self.result()
        return first

    def result(self):
        packet = self.packet()
        reader = Reader(packet)
        count = reader.length() if packet[0] != 0xFF else 0
        if packet[0] == 0xFF:
            return {"error": {"code": struct.unpack("<H", packet[1:3])[0], "text": packet[9:].decode()}}, 0
        if count == 0:
            affected, insert_id = reader.length(), reader.length()
            status, warnings = reader.number(2), reader.number(2)
            ok = {"affected": affected, "warnings": warnings, "insert_id": insert_id, "status": status}
            return {"ok": ok, "columns": []}, status
        columns = [self.column() for _ in range(count)]
        self.packet()  # EOF behind the columns
        rows = 0
        while True:
            packet = self.packet()
            if packet[0] == 0xFE and len(packet) < 9:
                break
            if packet[0] == 0xFF:
                raise AssertionError(f"an error behind {rows} rows: {packet[9:]!r}")
            rows += 1
        warnings, status = struct.unpack("<HH", packet[1:5])
        ok = {"affected": rows, "warnings": warnings, "insert_id": None, "status": None}
        return {"ok": ok, "columns": columns}, status

    def column(self):
        reader = Reader(self.packet())
        texts = [reader.text() for _ in range(6)]
        reader.number(1)
        charset, length, kind, flags, decimals = (reader.number(size) for size in (2, 4, 1, 2, 1))
        return {"name": texts[4], "type": kind, "flags": flags, "length": length, "decimals": decimals, "charset": charset}


def differences(wanted, found):
    """What is not as recorded: names of the parts."""
    if "error" in wanted:
        return [] if "error" in found else ["no error"]
    if "error" in found:
        return [f"error {found['error']['code']}: {found['error']['text']}"]
    parts = []
    for name, value in wanted["ok"].items():
        about_itself = name == "affected" and case["statement"].startswith(("SHOW", "DESC"))
        if found["ok"][name] != value and not about_itself:
            parts.append(f"{name} {found['ok'][name]} instead of {value}")
    if wanted["ok"]["affected"] == 0 and wanted["columns"]:
        return parts  # the columns of a result without rows mean nothing
    for old, new in zip(wanted["columns"], found["columns"]):
        parts += [f"{old['name']}: {part} {new[part]} instead of {old[part]}" for part in old if old[part] != new[part]]
    if len(wanted["columns"]) != len(found["columns"]):
        parts.append(f"{len(found['columns'])} columns instead of {len(wanted['columns'])}")
    return parts


port, recording, shards = int(sys.argv[1]), sys.argv[2], sys.argv[3]
with open(recording, encoding="utf-8") as file:
    cases = [json.loads(line) for line in file]
connection = Connection(port)
for case in cases:
    statement = case.get("statement", "")
    if not statement or (shards != "0" and statement.startswith(CHANGES)):
        continue
    case.setdefault("columns", [])
    parts = differences(case, connection.query(statement))
    explained = [(statement.startswith(one), part, reason) for one, part, reason in ON_PURPOSE]
    reasons = [[reason for begins, one, reason in explained if begins and part.startswith(one)] for part in parts]
    if all(reasons):
        passed += 1
        print(f"ok {statement}" + (f" (otherwise: {reasons[0][0]})" if reasons else ""))
    else:
        failed += 1
        print(f"FAILED {statement}: {'; '.join(parts)[:600]}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
