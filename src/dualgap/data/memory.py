"""How much memory this process may still take."""

import os
from contextlib import suppress
from pathlib import Path

UNKNOWN = 1 << 30


def available_memory() -> int:
    """Bytes: what the system has left, within the limits of the process (`ulimit`) and of its control group where there are such."""
    found = [*_system(), *_limits(), *_control_group()]
    return max(0, min(found)) if found else UNKNOWN


def _system() -> list[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return [1024 * int(line.split()[1])]
    with suppress(OSError, ValueError, AttributeError):
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2]
    return []


def _limits() -> list[int]:
    """What `ulimit -v` and `ulimit -d` leave."""
    found = []
    with suppress(ImportError, OSError, ValueError):
        import resource

        used = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
        for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
            most = resource.getrlimit(limit)[0]
            if most != resource.RLIM_INFINITY:
                found.append(most - 1024 * int(used[name].split()[0]))
    return found


def _control_group() -> list[int]:
    """What the memory limit of the control group leaves, in either version of these."""
    for folder, most, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            return [int(Path(folder, most).read_text()) - int(Path(folder, used).read_text())]
    return []
