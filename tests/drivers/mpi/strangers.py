"""Connections to rank 0 that are not of its job: strangers.py PORT KIND NUMBER.

Connects NUMBER times as soon as the port listens, prints "connected", and holds the connections
until rank 0 closes them or this process is ended. KIND: idle sends nothing; slow the right first
bytes, one each second; garbage random bytes; old the hello of the version without a token; wrong
that of rank 1 with another token. What rank 0 sends is printed in hexadecimal."""

import random
import socket
import struct
import sys
import time

port, kind, number = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
MAGIC = b"zeroprf"
HELLO = MAGIC + struct.pack("=B4IQ", 2, 0, 1, 2, 1, 7)
BYTES = {
    "idle": b"",
    "slow": b"",
    "garbage": random.Random(1).randbytes(4096),
    "old": struct.pack("=8s4I", MAGIC, 0, 1, 2, 1),
    "wrong": HELLO + b"x" * 64 + bytes(8),
}[kind]


def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=600)
        except OSError:
            time.sleep(0.01)


connections = []
for _ in range(number):
    connections.append(connect())
    try:
        connections[-1].sendall(BYTES)
    except OSError:
        pass  # rank 0 has closed it
print("connected", flush=True)
for byte in MAGIC if kind == "slow" else b"":
    for c in connections:
        try:
            c.send(bytes([byte]))
        except OSError:
            pass
    time.sleep(1)
got = b""
for c in connections:
    try:
        while more := c.recv(4096):
            got += more
    except OSError:
        pass
print(got.hex())
