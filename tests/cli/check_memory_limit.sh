#!/bin/sh
# The memory limit of a cgroup: a run whose plan does not fit is refused before it starts; one whose
# processes the kernel kills for lack of memory survives that, and ends where it does not help, with
# its last step saved. Needs root and a hierarchy of cgroups that can be written.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
config=${top_srcdir:?}/configs/synthetic.yaml
name=csengine-test-$$
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -d $root ] && mkdir $root/$name 2>/dev/null || continue
    group=$root/$name
    limit=
    [ -e "$group/memory.limit_in_bytes" ] && limit=$group/memory.limit_in_bytes
    [ -e "$group/memory.max" ] && limit=$group/memory.max
    [ -n "$limit" ] && echo 64M 2>/dev/null >"$limit" && break
    rmdir "$group"
    group=
done
[ -n "$group" ] || { echo 'no cgroup can be made: skipped'; exit 77; }
work=$(mktemp -d)
hog=
trap '[ -z "$hog" ] || kill -KILL $hog 2>/dev/null
    for pid in $(cat "$group/cgroup.procs"); do kill -KILL "$pid"; done 2>/dev/null
    tries=0; until rmdir "$group" 2>/dev/null || [ $tries -ge 100 ]; do
        tries=$((tries + 1)); sleep 0.1; done
    rm -rf "$work"' EXIT
CSE_DASHBOARD=0
export CSE_DASHBOARD
failed=0

complain() {
    echo "FAIL: $*"
    failed=1
}

start() { # name, arguments...
    name=$1
    shift
    sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$csengine" start "$config" \
        --model_dir "$work/$name" --compile_dir "$work/compiled" --set fit.val_dataloader=null \
        "$@" >"$work/$name.out" 2>"$work/$name.err"
}

ends() { # name, exit code, sentence
    [ "$code" = "$2" ] || complain "$1: exit code $code, not $2: $(cat "$work/$1.err")"
    [ -z "$3" ] || grep -q "$3" "$work/$1.err" || complain "$1: no \"$3\": $(cat "$work/$1.err")"
}

kills() { cat "$group/memory.oom_control" "$group/memory.events" 2>/dev/null |
    sed -n 's/^oom_kill //p'; }

start fits --num_steps 4
code=$?
ends fits 0 ''

# The plan alone: nothing is killed.
before=$(kills)
start too_large --num_steps 4 \
    --set 'model={name: fc_mnist, input_size: 16, hidden_sizes: [4000, 2000], num_classes: 4}'
code=$?
ends too_large 71 'the memory does not hold the run: it needs at least .* MiB (shared by'
ends too_large 71 "$limit allows 64.0 MiB; lower batch_size"
[ "$(kills)" = "$before" ] || complain 'a process of the run that was refused was killed'
start checked --validate_only
code=$?
ends checked 0 ''

"$csengine" doctor | grep -q "memory  .*by $limit" && complain 'doctor is not in the cgroup'
sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$csengine" doctor |
    grep -q "memory  .*64 MiB, .* by $limit" || complain 'doctor does not tell the limit'

# Deaths in a run that goes on, by memory that another process takes for a moment: one is survived,
# nine are not.
cat >"$work/hog.py" <<'SCRIPT'
import os, signal, sys, time
group, deaths, run = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def kills():
    for name in "memory.oom_control", "memory.events":
        try:
            with open(os.path.join(group, name)) as file:
                return int(dict(line.split() for line in file)["oom_kill"])
        except (OSError, KeyError):
            pass
def wait_until(holds): # or the run ends, which ends this process
    until = time.monotonic() + 60
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
def hold(taken, before): # less than a worker seems to have, which offers itself
    held = []
    while kills() == before and len(held) < 60: # more would kill the next worker, too
        held.append(b"x" * 100000)
    os.write(taken, b"x")
    time.sleep(60)
    os._exit(0)
def add_to(children, before): # returns when it holds its share: several at once kill several
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        hold(writes, before)
    children.append(child)
    os.close(writes)
    os.read(reads, 1) # nothing where it was killed itself
    os.close(reads)
def end(children):
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
def told():
    with open(run + ".err") as file:
        return file.read().count("a new process takes its place")
with open(os.path.join(group, "cgroup.procs"), "w") as file:
    file.write(str(os.getpid()))
for death in range(deaths):
    before, said, children = kills(), told(), []
    while kills() == before and len(children) < 40:
        add_to(children, before)
    end(children)
    wait_until(lambda: told() > said)
    steps = os.path.getsize(run + ".out")
    wait_until(lambda: os.path.getsize(run + ".out") > steps) # done by the new process
SCRIPT
echo 64M >"$limit"
goes_on() { # name
    start "$1" --num_steps 100000000 &
    process=$!
    tries=0
    until grep -q 'Step=' "$work/$1.out" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { complain "$1: no step"; break; }
        sleep 0.1
    done
}
goes_on survives
python3 "$work/hog.py" "$group" 1 "$work/survives" || complain 'no process takes memory'
tries=0
until grep -q 'killed by the kernel for lack of memory in step' "$work/survives.err"; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { complain "no death: $(cat "$work/survives.err")"; break; }
    sleep 0.1
done
for pid in $(cat "$group/cgroup.procs"); do
    tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q 'csengine start' && kill -INT "$pid" && break
done
wait $process
code=$?
ends survives 130 ''
ls "$work"/survives/checkpoint_*.mdl >/dev/null || complain 'survives: no checkpoint'

goes_on gives_up
python3 "$work/hog.py" "$group" 9 "$work/gives_up" &
hog=$!
tries=0
while kill -0 $process 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 900 ] || { complain 'gives_up: it goes on'; kill -KILL $process; break; }
    sleep 0.1
done
wait $process
code=$?
kill -KILL $hog 2>/dev/null
hog=
ends gives_up 75 'out of memory: the kernel has killed 9 processes of this run'
grep -q 'steps that were done are saved' "$work/gives_up.err" ||
    complain "gives_up: $(cat "$work/gives_up.err")"
exit $failed
