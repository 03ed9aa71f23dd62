# SPDX-License-Identifier: Apache-2.0
"""`mine --on slurm` against real daemons: munged, slurmctld and slurmd of one node.

The test runs itself again in namespaces of its own (mounts, network, host name, processes), so that
nothing of it is seen outside and nothing outlives it. Slurm wants an address that is not loopback:
a dummy interface has one. Exit code 77: skipped, with the reason.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOFMARK = os.environ.get("ROOFMARK", str(ROOT / "build/bin/roofmark"))
PROFILES = ROOT / "examples/profiles"
ADDRESS = "10.77.0.1"
NODE = "node1"
INSIDE = "ROOFMARK_CLUSTER_TEST_INSIDE"


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(77)


def enter() -> None:
    """Checks what is needed and runs this file again inside."""
    if os.geteuid() != 0:
        skip("needs root, for namespaces and Slurm's daemons")
    for program in ("munged", "slurmctld", "slurmd", "sbatch", "unshare", "ip"):
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            skip(f"{program} is not installed (apt-get install slurm-wlm munge iproute2)")
    inside = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child"]
    if subprocess.run(inside + ["true"], check=False, capture_output=True).returncode != 0:
        skip("this machine permits no private namespaces")
    environment = dict(os.environ, **{INSIDE: "1"})
    done = subprocess.run(inside + [sys.executable, __file__], env=environment, check=False)
    sys.exit(done.returncode)


def run(*command: str, check: bool = True) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(what: str, condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen in {seconds} s")
        time.sleep(0.2)


def private_network(folder: pathlib.Path) -> None:
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    # slurmd looks for control groups when it starts, though nothing here is configured to use them.
    run("mount", "-t", "sysfs", "sysfs", "/sys", check=False)
    run("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/cgroup")
    run("hostname", NODE)
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} {NODE}\n", encoding="utf-8")
    run("mount", "--bind", str(hosts), "/etc/hosts")
    run("ip", "link", "set", "lo", "up")
    added = subprocess.run(["ip", "link", "add", "roofmark0", "type", "dummy"], check=False,
                           capture_output=True)
    device = "roofmark0" if added.returncode == 0 else "lo"
    run("ip", "address", "add", f"{ADDRESS}/24", "dev", device)
    run("ip", "link", "set", device, "up")


class Cluster:
    """munged, slurmctld and slurmd in one folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir()
        key = folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        os.chmod(folder / "munge", 0o755)
        socket = folder / "munge/socket"
        config = folder / "slurm.conf"
        config.write_text(
            f"""ClusterName=roofmark
SlurmctldHost={NODE}({ADDRESS})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={socket}
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=100000,batch_sched_delay=0
NodeName={NODE} NodeAddr={ADDRESS} CPUs=2 State=UNKNOWN
PartitionName=cpu Nodes={NODE} Default=YES MaxTime=INFINITE State=UP
""",
            encoding="utf-8",
        )
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")
        os.environ["SLURM_CONF"] = str(config)
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        self.start("munged", "--foreground", "--force", f"--socket={socket}", f"--key-file={key}",
                   f"--pid-file={folder}/munge/pid", f"--log-file={folder}/munge/log",
                   f"--seed-file={folder}/munge/seed")
        wait_for("the socket of munged", socket.exists)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", NODE)
        wait_for("an idle node", lambda: "idle" in run("sinfo", "-h", "-o", "%T", check=False))

    def start(self, *command: str) -> None:
        with open(self.folder / (command[0] + ".out"), "wb") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def logs(self) -> str:
        return "\n".join(
            f"--- {log.name}\n" + log.read_text(encoding="utf-8", errors="replace")[-3000:]
            for log in sorted(self.folder.glob("*.out"))
        )


class MiningOnSlurm(unittest.TestCase):
    cluster: Cluster
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        private_network(cls.folder)
        try:
            cls.cluster = Cluster(cls.folder)
        except AssertionError:
            for log in sorted(cls.folder.glob("*.out")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")
            raise
        run(ROOFMARK, "mine", str(PROFILES / "manifest.csv"), "-o", str(cls.folder / "here.json"))
        cls.here = (cls.folder / "here.json").read_bytes()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.cluster.stop()
        cls.scratch.cleanup()

    def mine(self, out: str, *options: str) -> subprocess.Popen:
        return subprocess.Popen(
            [ROOFMARK, "mine", str(PROFILES / "manifest.csv"), "--on", "slurm", "-o",
             str(self.folder / out), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, mining: subprocess.Popen, out: str) -> str:
        printed, errors = mining.communicate(timeout=150)
        self.assertEqual(mining.returncode, 0, printed + errors + self.cluster.logs())
        self.assertEqual((self.folder / out).read_bytes(), self.here)
        self.assertFalse((self.folder / (out + ".parts")).exists())
        return printed

    def test_gives_the_same_bytes_as_here(self) -> None:
        self.finish(self.mine("whole.json"), "whole.json")
        printed = self.finish(self.mine("three.json", "--parts", "3", "--json"), "three.json")
        self.assertEqual(json.loads(printed)["profiles"], 8)

    def test_runs_a_killed_part_again_and_counts_nothing_twice(self) -> None:
        # A drained node keeps the tasks waiting, so that one of them is surely killed.
        run("scontrol", "update", f"NodeName={NODE}", "State=DRAIN", "Reason=test")
        mining = self.mine("killed.json", "--parts", "4")
        jobs = lambda: run("squeue", "-h", "-r", "-o", "%F %K", check=False).split("\n")
        wait_for("four waiting tasks", lambda: len([job for job in jobs() if job]) == 4)
        job = jobs()[0].split()[0]
        run("scancel", f"{job}_2")
        run("scontrol", "update", f"NodeName={NODE}", "State=RESUME")
        # The second round is another job, with this part alone.
        others = lambda: any(line and line.split()[0] != job for line in jobs())
        wait_for("a job for the killed part", lambda: others() or mining.poll() is not None)
        self.finish(mining, "killed.json")

    def test_goes_on_after_its_own_death(self) -> None:
        run("scontrol", "update", f"NodeName={NODE}", "State=DRAIN", "Reason=test")
        mining = self.mine("resumed.json", "--parts", "2")
        waiting = lambda: run("squeue", "-h", "-o", "%F", check=False).split()
        wait_for("a waiting job", waiting)
        mining.kill()
        mining.communicate()
        job = waiting()[0]
        run("scontrol", "update", f"NodeName={NODE}", "State=RESUME")
        wait_for("the end of the job", lambda: job not in waiting())
        parts = self.folder / "resumed.json.parts"
        self.assertEqual(len(list(parts.glob("part-?.json"))), 2)
        self.finish(self.mine("resumed.json", "--parts", "2"), "resumed.json")

    def test_says_what_slurm_refuses(self) -> None:
        mining = self.mine("refused.json", "--slurm", "--partition=nowhere")
        _, errors = mining.communicate(timeout=60)
        self.assertEqual(mining.returncode, 3)
        self.assertIn("sbatch refused", errors)
        self.assertIn("partition", errors)


if __name__ == "__main__":
    if os.environ.get(INSIDE) != "1":
        enter()
    unittest.main(verbosity=2)
