"""A fake API server of Kubernetes: the slices of one service, listed and watched, and the ways in which it fails."""
import asyncio
import json

FAULTS = ("broken_watch", "expired", "garbage", "refused", "endless_line")


class ApiServer:
    """Serves the slices of a service, each with one end point, to lists and watches."""

    def __init__(self):
        self.port = 0
        self._all, self._shown = [], []  # host:port of each mirror
        self._version, self._fault = 1, ""
        self._server, self._watches = None, set()

    async def start(self, addresses):
        """Opens its port. The service has these mirrors."""
        self._all = self._shown = list(addresses)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self):
        """Ends its connections."""
        if self._server is not None:
            self._server.close()
        for watch in self._watches:
            watch.transport.abort()

    async def show(self, without=None, fault=""):
        """From now on all mirrors but one are in the service, and the server has a fault."""
        before, self._shown = self._shown, [address for address in self._all if address != without]
        self._version += 1
        self._fault = fault
        for watch in list(self._watches):
            for address in self._all:
                if (address in before) != (address in self._shown):
                    kind = "ADDED" if address in self._shown else "DELETED"
                    self._send(watch, json.dumps({"type": kind, "object": self._slice(address)}))
            if fault == "expired":
                self._send(watch, json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410}}))
            elif fault == "endless_line":
                self._send(watch, "[" * 50_000, "")
            elif fault:
                watch.transport.abort()

    def _slice(self, address):
        host, port = address.split(":")
        return {"kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": f"slice-{port}", "resourceVersion": str(self._version)},
                "ports": [{"name": "http", "port": int(port)}],
                "endpoints": [{"addresses": [host], "conditions": {"ready": True}}]}

    @staticmethod
    def _send(writer, text, end="\n"):
        data = (text + end).encode()
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def _serve(self, reader, writer):
        try:
            while True:
                line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]
                if self._fault == "refused":
                    writer.write(b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops")
                elif b"watch=1" in line:
                    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    self._watches.add(writer)
                    await reader.read()  # until it leaves
                    return
                else:
                    listed = json.dumps({"kind": "EndpointSliceList", "metadata": {"resourceVersion": str(self._version)},
                                         "items": [self._slice(address) for address in self._shown]})
                    listed = listed[:len(listed) // 2] if self._fault == "garbage" else listed
                    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(listed)}\r\n\r\n{listed}".encode())
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._watches.discard(writer)
            writer.close()
