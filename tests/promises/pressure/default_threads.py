#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The default number of threads keeps to an affinity mask and to a quota of the control group, end to end.

    default_threads.py PROGRAM [WEIR]

PROGRAM prints what a runtime has (default_threads.cc); WEIR is the command line, whose list of devices has to agree. The
quota is one that this process sees alone: in a mount namespace of its own /sys/fs/cgroup has it. Exit code 77
(skipped) where the machine has one processor, or lets nobody make such a namespace: then the mask alone was tried. What
was left out is printed with the reason."""
import json
import os
import shutil
import subprocess
import sys

SKIPPED = 77
PROBE = """
set -e
mount -t tmpfs none /sys/fs/cgroup
"""
QUOTAS = """
set -e
mount -t tmpfs none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/cpu
echo "{quota} 100000" >/sys/fs/cgroup/cpu.max
echo {quota} >/sys/fs/cgroup/cpu/cpu.cfs_quota_us
echo 100000 >/sys/fs/cgroup/cpu/cpu.cfs_period_us
exec "$@"
"""


def threads(prefix: tuple[str, ...] = ()) -> int:
    run = subprocess.run([*prefix, sys.argv[1]], capture_output=True, text=True)
    assert run.returncode == 0, f"exit code {run.returncode} behind {prefix[:2]}: {run.stderr.strip()}"
    counts = json.loads(run.stdout)
    assert counts["workers"] == counts["threads"] - 1, counts  # the caller is one
    if len(sys.argv) > 2:
        command = [*prefix, sys.argv[2], "devices", "--json"]
        devices = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["devices"]
        listed = next(device["threads"] for device in devices if device["name"] == "cpu")
        assert listed == counts["threads"], (listed, counts)
    return counts["threads"]


def main() -> int:
    usual = threads()
    assert 1 <= usual <= len(os.sched_getaffinity(0)), usual
    if usual == 1:
        print("There is one processor, or a quota of one already.")
        return SKIPPED
    allowed = os.sched_getaffinity(0)
    processor = min(allowed)
    os.sched_setaffinity(0, {processor})
    masked = threads()
    os.sched_setaffinity(0, allowed)
    assert masked == 1, f"{masked} threads under a mask of one processor"
    print(f"{usual} threads, {masked} under a mask of processor {processor}")

    if shutil.which("unshare") is None:
        print("There is no program 'unshare', so no quota was tried.")
        return SKIPPED
    namespace = ("unshare", "--mount") + (() if os.geteuid() == 0 else ("--map-root-user",))
    probe = subprocess.run([*namespace, "sh", "-c", PROBE], capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"No mount namespace with a /sys/fs/cgroup of its own is to be had, so no quota was tried: "
              f"{probe.stderr.strip()}")
        return SKIPPED
    for quota, expected in [(100000, 1), (20000, 1), (usual * 100000, usual), (usual * 100000 - 50000, usual)]:
        seen = threads((*namespace, "sh", "-c", QUOTAS.format(quota=quota), "sh"))
        assert seen == expected, f"{seen} threads under a quota of {quota / 100000} processors, not {expected}"
        print(f"{seen} threads under a quota of {quota / 100000} processors")
    return 0


sys.exit(main())
