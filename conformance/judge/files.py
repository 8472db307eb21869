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
                # a short name: the target's may have all the bytes that a name can have
                folder = os.path.dirname(target)
                beside = os.path.join(folder, f".zp-{os.getpid()}-{len(written)}.tmp")
                written.append((name, beside, target))
                write_beside(beside, target, parts)
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


def write_beside(beside, target, parts):
    with open(beside, "w", encoding="utf-8") as file:
        if os.path.exists(target):
            os.chmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())


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
