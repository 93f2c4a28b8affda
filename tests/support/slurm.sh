# Slurm on the hosts of a test: a controller on this script's side and a slurmd on each host. To be
# sourced after tests/support/hosts.sh, of which it uses the hosts:
#
#     slurm_enter "$0" "$@"    # hosts_enter, or skips the test; sets csengine, to an absolute path
#     hosts_make 2
#     slurm_start              # srun, sbatch and the rest work on n1 and n2 from here on
#
# Nothing needs to be stopped: the namespace ends all. The settings fit Debian's Slurm 22.05, no
# accounting; processes are only tracked by their parents (linuxproc): what a
# container's machine has of control groups is left alone. Each slurmd has a /tmp of its own, since
# two that share one make the same names for PMIx.

slurm_obstacle() {
    for slurm_tool in slurmctld slurmd srun sbatch munged; do
        command -v "$slurm_tool" >/dev/null || { echo "no $slurm_tool"; return; }
    done
}

slurm_need() {
    slurm_why=$(slurm_obstacle)
    [ -z "$slurm_why" ] || hosts_skip "Slurm is not installed: $slurm_why"
}

slurm_enter() { # script, arguments...
    [ "${CSE_SANITIZE:-no}" = no ] || hosts_skip 'a sanitizer makes jobs slow'
    slurm_need
    csengine=${CSENGINE_EXECUTABLE:?}
    case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
    CSENGINE_EXECUTABLE=$csengine
    export CSENGINE_EXECUTABLE
    hosts_enter "$@"
}

slurm_configure() {
    {
        echo 'ClusterName=test'
        echo 'SlurmctldHost=head(10.99.0.1)'
        echo 'SlurmUser=root'
        echo 'AuthType=auth/munge'
        echo "AuthInfo=socket=$slurm_folder/munge.socket"
        echo 'ProctrackType=proctrack/linuxproc'
        echo 'TaskPlugin=task/none'
        echo 'SwitchType=switch/none'
        echo 'SelectType=select/cons_tres'
        echo 'MpiDefault=none'
        echo 'JobAcctGatherType=jobacct_gather/none'
        echo 'AccountingStorageType=accounting_storage/none'
        echo "StateSaveLocation=$slurm_folder/state"
        echo "SlurmctldPidFile=$slurm_folder/slurmctld.pid"
        echo "SlurmctldLogFile=$slurm_folder/slurmctld.log"
        echo "SlurmdSpoolDir=$slurm_folder/spool.%n"
        echo "SlurmdLogFile=$slurm_folder/slurmd.%n.log"
        echo "SlurmdPidFile=$slurm_folder/slurmd.%n.pid"
        echo 'SlurmdParameters=config_overrides'
        echo 'ReturnToService=2'
        echo "SlurmdTimeout=${SLURM_NODE_SECONDS:-300}"
        echo 'KillWait=5'
        for slurm_k in $(seq "$hosts_count"); do
            echo "NodeName=n$slurm_k NodeAddr=10.99.0.$((10 + slurm_k)) CPUs=2 RealMemory=1000" \
                'State=UNKNOWN'
        done
        echo "PartitionName=all Nodes=n[1-$hosts_count] Default=YES State=UP OverSubscribe=YES"
    } >"$slurm_folder/slurm.conf"
    printf 'CgroupPlugin=cgroup/v1\nIgnoreSystemd=yes\n' >"$slurm_folder/cgroup.conf"
}

slurm_start() {
    slurm_folder=$hosts_folder/slurm
    mkdir -p "$slurm_folder/state"
    for slurm_k in $(seq "$hosts_count"); do mkdir -p "$slurm_folder/spool.n$slurm_k"; done
    slurm_configure
    SLURM_CONF=$slurm_folder/slurm.conf
    export SLURM_CONF
    head -c 1024 /dev/urandom >"$slurm_folder/munge.key"
    chmod 400 "$slurm_folder/munge.key"
    munged --force --foreground --key-file="$slurm_folder/munge.key" \
        --socket="$slurm_folder/munge.socket" --pid-file="$slurm_folder/munged.pid" \
        --seed-file="$slurm_folder/munged.seed" --log-file="$slurm_folder/munged.log" \
        >/dev/null 2>&1 &
    slurm_wait 10 "munged does not start" test -S "$slurm_folder/munge.socket"
    slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
    for slurm_k in $(seq "$hosts_count"); do slurm_boot "n$slurm_k"; done
    slurm_wait 60 "the nodes are not idle" slurm_idle "$hosts_count"
}

slurm_boot() { # host: its slurmd, after hosts_boot
    hosts_on "$1" slurmd -D -N "$1" -f "$SLURM_CONF" >/dev/null 2>&1 &
}

slurm_idle() { # how many nodes
    [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" -ge "$1" ]
}

slurm_run_began() { # model_dir: whether its run takes steps, or has taken some
    python3 - "$1/run.db" 2>/dev/null <<'STATE'
import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as db:
    sys.exit("'RUNNING'" not in str(db.execute("SELECT * FROM transitions").fetchall()))
STATE
}

slurm_wait() { # seconds, what to say, command...
    slurm_until=$(($(date +%s) + $1))
    slurm_what=$2
    shift 2
    until "$@"; do
        if [ "$(date +%s)" -gt $slurm_until ]; then
            echo "Slurm: $slurm_what"
            tail -n 20 "$slurm_folder"/*.log
            for slurm_log in "$hosts_folder"/*/logs/*.log "$hosts_folder"/*/*/logs/*.log; do
                [ ! -e "$slurm_log" ] || { echo "==> $slurm_log <==" && tail -n 20 "$slurm_log"; }
            done
            exit 1
        fi
        sleep 0.1
    done
}
