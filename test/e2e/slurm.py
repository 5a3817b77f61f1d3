"""A Slurm of one node on this machine, in a folder: Debian's slurmctld and slurmd, without munge."""
import getpass
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import time

CONFIGURATION = """ClusterName=ming
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=1
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Slurm:
    """with Slurm(folder) as slurm: slurm.env is the environment for its commands, or slurm.reason says why it
    cannot be started here."""

    def __init__(self, folder):
        self.folder, self.reason, self.started = pathlib.Path(folder), None, []
        self.env = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"), PATH=SBIN)

    def __enter__(self):
        lacking = [name for name in ("slurmctld", "slurmd", "sbatch", "sinfo") if not shutil.which(name, path=SBIN)]
        if lacking:
            self.reason = f"{', '.join(lacking)} not installed"
            return self
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=platform.node().split(".")[0], port=free_port(), node_port=free_port(), folder=self.folder,
            user=getpass.getuser(), cpus=os.cpu_count()))
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        end = time.monotonic() + 30
        while time.monotonic() < end:
            state = subprocess.run(["sinfo", "-h", "-o", "%t"], env=self.env, capture_output=True, text=True,
                                   check=False).stdout.strip()
            if state in ("idle", "mix"):
                return self
            if any(process.poll() is not None for process in self.started):
                break
            time.sleep(0.2)
        self.reason = "the daemons do not start: " + self.last_words()
        return self

    def start(self, *command):
        with open(self.folder / f"{command[0]}.out", "wb") as out:
            self.started.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                                 stderr=out))

    def last_words(self):
        for name in ("slurmctld.log", "slurmd.log"):
            path = self.folder / name
            text = path.read_text(errors="replace") if path.exists() else ""
            wrong = [line for line in text.splitlines() if "error" in line or "fatal" in line]
            if wrong:
                return wrong[-1]
        return "no error in their logs"

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
