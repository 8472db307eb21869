"""fingerprint_test.py LIBRARY DEVICE_LIBRARY: the kernel for devices, here on simdev, computes the
fingerprints of the library."""

import ctypes
import random
import sys

library, device = (ctypes.CDLL(name) for name in sys.argv[1:3])
arguments = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p]
library.zp_fingerprint_add.restype, library.zp_fingerprint_add.argtypes = None, arguments
device.zp_norm_fingerprint.argtypes = [ctypes.c_void_p, *arguments]
device.zp_norm_error.restype = ctypes.c_char_p
CHUNK = 1 << 17


def main():
    dice, failed, compared = random.Random(1), 0, 0
    data = ctypes.create_string_buffer(dice.randbytes(5 * CHUNK), 5 * CHUNK)
    at_word = -ctypes.addressof(data) % 4
    cases = [
        (size, start, at)
        for size in (1, 3, 4, 5, 2047, 2048, CHUNK, CHUNK + 1, 3 * CHUNK)
        for start, at in ((0, 0), (1, 0), (0, 1), (2, 6), (0, CHUNK - 4), (3, 7 * CHUNK + 3))
    ]
    for size, start, at in [*cases, (4 * CHUNK, 8, 1 << 50)]:
        x = ctypes.addressof(data) + at_word + start
        want, got = (ctypes.c_uint64 * 2)(1, 2), (ctypes.c_uint64 * 2)(1, 2)
        library.zp_fingerprint_add(x, size, at, want)
        error = device.zp_norm_fingerprint(None, x, size, at, got)
        compared += 1
        if error or list(want) != list(got):
            failed += 1
            text = device.zp_norm_error(error).decode() if error else ""
            print(f"{size} bytes at {at}, {start} after a word: {list(got)}, "
                  f"expected {list(want)} {text}")  # fmt: skip
    invalid = device.zp_norm_fingerprint(None, None, 4, 0, got)
    print(f"compared {compared}, {failed} differ, without memory: {invalid}")
    return failed > 0 or invalid != -1


if __name__ == "__main__":
    sys.exit(main())
