"""The command: `zeroproof` and `python -m zeroproof`. It becomes the C program of the wheel."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

from . import _native


def command_path() -> pathlib.Path:
    """The C program. Raises OSError if it is missing."""
    places = [_native.INSTALLED / "bin" / "zeroproof"]
    root = _native.checkout()
    if root is not None:
        places.append(root / "build" / "zeroproof")
    for place in places:
        if place.is_file():
            return place
    raise OSError(f"zeroproof: the program {places[-1]} is missing: run make, or install the wheel")


def main() -> int:
    """Runs `zeroproof ...`. Exit codes: those of the command; 3 if it cannot be started."""
    try:
        path = command_path()
        if not os.access(path, os.X_OK):  # some installers drop the permission
            path.chmod(path.stat().st_mode | 0o111)
        os.environ.setdefault("ZEROPROOF_PYTHON", sys.executable or shutil.which("python3") or "")
        sys.stdout.flush()
        os.execv(path, ["zeroproof", *sys.argv[1:]])
    except OSError as error:
        print(f"zeroproof: cannot start: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
