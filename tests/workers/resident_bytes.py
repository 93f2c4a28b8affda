"""Prints the most bytes of a run's file of states that were in memory at a time.

    resident_bytes.py DIRECTORY COMMAND...

Runs the command and looks, every few milliseconds, at the file without a name in DIRECTORY that its
processes hold open: how many of its pages are in the kernel's cache (mincore). Prints the most, the
file's bytes and the number of looks; its exit code is the command's.
"""

import ctypes
import mmap
import os
import subprocess
import sys
import time

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def find(directory):
    """A descriptor of the file, which has no name; None while there is none."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            for name in os.listdir(f"/proc/{process}/fd"):
                path = f"/proc/{process}/fd/{name}"
                target = os.readlink(path)
                if target.startswith(directory + "/") and target.endswith(" (deleted)"):
                    return os.open(path, os.O_RDONLY)
        except OSError:
            continue
    return None


def main():
    directory = os.path.realpath(sys.argv[1])
    child = subprocess.Popen(sys.argv[2:])
    descriptor, address, most, size, looks = None, None, 0, 0, 0
    while child.poll() is None:
        if descriptor is None:
            descriptor = find(directory)
        elif address is None:
            size = os.fstat(descriptor).st_size
            if size > 0:
                address = libc.mmap(None, size, 1, 1, descriptor, 0)
                pages = ctypes.create_string_buffer((size + PAGE - 1) // PAGE)
        else:
            libc.mincore(address, size, pages)
            most = max(most, pages.raw.count(b"\x01") * PAGE)
            looks += 1
        time.sleep(0.005)
    print(most, size, looks)
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
