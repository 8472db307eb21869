#!/usr/bin/python3 -B
"""The launch agent of Open MPI's daemons, in the place of ssh: agent.py HOST COMMAND…

It asks the process that made the hosts (world.py) to run the command there, with this process's
standard streams."""

import array
import json
import socket
import sys


def main():
    """Exits with the command's exit code."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect("/mnt/run/agent")
        streams = array.array("i", [0, 1, 2])
        request = json.dumps([sys.argv[1], " ".join(sys.argv[2:])]).encode()
        connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        code = connection.recv(1)
    return code[0] if code else 255


if __name__ == "__main__":
    sys.exit(main())
