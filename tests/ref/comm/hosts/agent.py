#!/usr/bin/python3 -B
"""The launch agent of Open MPI's daemons, in the place of ssh: agent.py HOST COMMAND…

Like ssh it needs the network: if that does not lead to the host, the exit code is 255. It asks the
process that made the hosts (world.py) to run the command there, with this process's
standard streams."""

import array
import json
import socket
import sys

SSH, PATIENCE_S = 22, 100


def is_reached(host):
    """Does the host answer? Nothing listens there: it refuses."""
    try:
        with socket.create_connection((host, SSH), PATIENCE_S):
            return True
    except ConnectionRefusedError:
        return True
    except OSError as why:
        print(f"agent: {host}: {why}", file=sys.stderr)
        return False


def main():
    """Exits with the command's exit code."""
    if not is_reached(sys.argv[1]):
        return 255
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect("/mnt/run/agent")
        streams = array.array("i", [0, 1, 2])
        request = json.dumps([sys.argv[1], " ".join(sys.argv[2:])]).encode()
        connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        code = connection.recv(1)
    return code[0] if code else 255


if __name__ == "__main__":
    sys.exit(main())
