"""Reads and writes files: inputs have a limit, outputs are complete or absent."""

import contextlib
import json
import os
import stat


def opened(name):
    """Opens a regular file. A FIFO or device of that name could block or never end."""
    handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(0, "not a regular file", name)


def read_whole(name, most):
    with opened(name) as file:
        raw = file.read(most + 1)
        if len(raw) > most:
            size = max(len(raw), os.fstat(file.fileno()).st_size)
            raise OSError(0, f"got {size} bytes, expected at most {most}", name)
    return raw


def read_json(name, most):
    return json.loads(read_whole(name, most).decode("utf-8"))


def write(name, parts):
    """Writes a file from parts of text."""
    write_all([(name, parts)])


def write_all(files):
    """Writes files: [(name, parts of text)]. Each is written beside its name; when all are written,
    they are renamed. So after an error or a crash the former files are still whole. Raises OSError
    with the file's name."""
    written = []
    try:
        for name, parts in files:
            with naming(name):
                target = os.path.realpath(name)
                if os.path.exists(target) and not os.path.isfile(target):
                    raise OSError(0, "not a regular file")
                # short, as a name may be as long as the file system permits; a name that others
                # cannot predict, so that nothing waits there
                beside = os.path.join(
                    os.path.dirname(target), f"zeroproof-{os.urandom(8).hex()}.tmp"
                )
                mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                handle = os.open(beside, flags, 0o666 if mode is None else mode)
                written.append((name, beside, target))
                write_to(handle, mode, parts)
        for name, beside, target in written:
            with naming(name):
                os.rename(beside, target)
                sync_folder(os.path.dirname(target))
    finally:
        for _, beside, _ in written:
            with contextlib.suppress(OSError):
                os.unlink(beside)


@contextlib.contextmanager
def naming(name):
    try:
        yield
    except OSError as error:
        raise OSError(0, f"cannot write {name}: {error.strerror}") from None


def write_to(handle, mode, parts):
    """Writes a new file. mode: of the file that it replaces, or None."""
    with open(handle, "w", encoding="utf-8") as file:
        if mode is not None:
            os.chmod(handle, mode)  # open() has left out the bits of the umask
        file.writelines(parts)
        file.flush()
        os.fsync(handle)


def sync_folder(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def same(one, other):
    """True if both names lead to one file, whether it exists or not."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
