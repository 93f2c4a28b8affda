#!/bin/sh
# Limits that are too small: each is told at the start in one sentence, with what is needed and how
# it is set, by exit code 71, and nothing is left behind; limits that bound nothing of a run do not
# hinder it; a run under one that is lowered meanwhile ends with its last step saved.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
config=${top_srcdir:?}/configs/synthetic.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
TMPDIR=$work/tmp
CSE_DASHBOARD=0
export TMPDIR CSE_DASHBOARD
failed=0
tried=0

complain() {
    echo "FAIL: $*"
    failed=1
}

# under NAME COMMANDS... -- ARGUMENTS...: a run of a shell that sets the limits before. What it
# prints goes through a pipe: a limit of files is one of the file that would take it as well.
under() {
    name=$1 before=$2
    shift 2
    rm -rf "${work:?}/$name"
    tried=$((tried + 1))
    said=$( (sh -c "$before"'; exec "$@"' sh "$csengine" start "$config" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --num_steps 4 --set fit.val_dataloader=null "$@" 2>&1
        echo "exit code $?"))
    code=${said##*exit code }
}

nothing_left() {
    [ -z "$(ls "$work/tmp")" ] || complain "$name: left in TMPDIR: $(ls "$work/tmp")"
    [ -z "$(find "$work" -name '.new-*' -o -name '*.tmp' -o -name '.tried-*')" ] ||
        complain "$name: left: $(find "$work")"
}

refused() { # name, commands, exit code, sentence, arguments...
    name=$1 before=$2 wanted=$3 sentence=$4
    shift 4
    under "$name" "$before" "$@"
    [ "$code" = "$wanted" ] || complain "$name: exit code $code, not $wanted: $said"
    case $said in
    *"$sentence"*) ;;
    *) complain "$name: there is no \"$sentence\" in: $said" ;;
    esac
    [ "$(printf '%s\n' "$said" | grep -c 'csengine: error')" = 1 ] ||
        complain "$name: not one sentence: $said"
    nothing_left
}

succeeds() { # name, commands, arguments...
    under "$@"
    [ "$code" = 0 ] || complain "$1: exit code $code: $said"
    digest=$(printf '%s\n' "$said" | sed -n 's/^Weights digest: //p')
    [ "${first:=$digest}" = "$digest" ] || complain "$1: other weights: $said"
    nothing_left
}

# What does not hinder: locked memory, core files, surroundings that are used for nothing.
succeeds plain :
succeeds locked_memory 'ulimit -l 0'
succeeds core_files 'ulimit -c 0'
succeeds no_home 'unset HOME'
succeeds no_tmpdir "TMPDIR=$work/nowhere; export TMPDIR"
succeeds umask 'umask 0777'
# Soft limits are raised to what is needed.
succeeds soft_files 'ulimit -S -n 16'
succeeds soft_stack 'ulimit -S -s 64'

refused files_16 'ulimit -n 16' 71 'open files is 16, and 64 are needed'
refused files_24 'ulimit -n 24' 71 'set ulimit -n 64, in a unit of systemd LimitNOFILE=64'
refused files_of_processes 'ulimit -n 80' 71 'and 96 are needed for 8 worker processes' --num_csx 4
refused file_size_1k 'ulimit -f 2' 71 'the size of a file is'
refused file_size_of_checkpoint 'ulimit -f 4000' 71 'for shared memory and checkpoints' \
    --set 'model={name: fc_mnist, input_size: 16, hidden_sizes: [65536], num_classes: 4}'
refused stack 'ulimit -s 64' 71 'the stack is 65536 bytes, and 1048576 are needed'
refused processor_time 'ulimit -t 1' 71 'processor time is 1 s, and 10 are needed'
if [ "${CSE_SANITIZE:-no}" = no ]; then # which maps terabytes, and has larger frames
    refused address_space 'ulimit -v 120000' 71 'LimitAS='
    refused data 'ulimit -d 40000' 71 'LimitDATA='
fi
# The kernel counts the threads of a user; root has no such limit.
if ! command -v prlimit >/dev/null; then
    echo 'no prlimit: the number of processes is not limited'
elif [ "$(id -u)" != 0 ]; then
    threads=$(ps -L -u "$(id -u)" -o pid= | wc -l)
    refused threads "prlimit --pid \$\$ --nproc=$((threads + 8))" 71 'more processes and threads'
elif setpriv --reuid 61937 --clear-groups true 2>/dev/null; then
    chmod 777 "$work" "$work/tmp"
    csengine_of_root=$csengine
    csengine=$work/other_user
    cat >"$csengine" <<SCRIPT
#!/bin/sh
exec setpriv --reuid 61937 --clear-groups -- prlimit --nproc=8 "$csengine_of_root" "\$@"
SCRIPT
    chmod 755 "$csengine"
    refused threads : 71 'more processes and threads can be made'
    csengine=$csengine_of_root
else
    echo 'no other user: the number of processes is not limited'
fi

# A server and a worker of another command are told, too.
for command in serve 'predict x.yaml' 'eval x.yaml'; do
    said=$( (ulimit -n 16; exec "$csengine" $command) 2>&1)
    code=$?
    [ $code = 71 ] || complain "$command: exit code $code: $said"
done
# What only looks needs nothing of it.
(ulimit -n 16; exec "$csengine" list losses) >/dev/null 2>&1 ||
    (ulimit -n 16; exec "$csengine" list models) >/dev/null || complain 'list fails'
(ulimit -n 128; exec "$csengine" doctor) | grep -q 'warn  limits .*open files is 128' ||
    complain "doctor: $( (ulimit -n 128; exec "$csengine" doctor))"

# A compiler whose disk is full, or broken; it may remove what it has written before it ends.
cat >"$work/cc" <<'SCRIPT'
#!/bin/sh
[ "$1" != --version ] || { echo "cc 1"; exit 0; }
echo call >>"$CALLS"
echo "ld: final link failed: $SAID" >&2
exit 1
SCRIPT
chmod +x "$work/cc"
CALLS=$work/calls
export CALLS
for SAID in 'No space left on device' 'Input/output error' 'File too large'; do
    export SAID
    rm -f "$CALLS"
    refused compiler "CSE_CC=$work/cc; export CSE_CC" 74 "step.c: cannot be written: $SAID"
    [ "$(wc -l <"$CALLS")" -eq 1 ] || complain "the compiler was asked again for: $SAID"
    case $said in *'ld: '*) complain "the compiler's own text: $said" ;; esac
done
SAID='cannot execute cc1: vfork: Resource temporarily unavailable'
refused compiler_processes "CSE_CC=$work/cc; export CSE_CC" 75 'memory or processes are short'

# A small disk needs root or a user namespace; sizes at which each of the entry's files is the first
# that does not fit.
cat >"$work/small_disk" <<'SCRIPT'
#!/bin/sh
mount -t tmpfs -o "size=$1k" none "$2" || exit 99
shift 2
"$@"
SCRIPT
chmod +x "$work/small_disk"
mkdir "$work/disk"
if unshare -rm "$work/small_disk" 64 "$work/disk" true 2>/dev/null; then
    for size in 16 64 96 112 128; do
        said=$( (unshare -rm "$work/small_disk" $size "$work/disk" "$csengine" start "$config" \
            --model_dir "$work/small_$size" --compile_dir "$work/disk" --num_steps 4 \
            --set fit.val_dataloader=null 2>&1
            echo "exit code $?"))
        case $said in
        *'cannot be written: No space left on device; make room'*'exit code 74') ;;
        *'Weights digest: '*'exit code 0') [ $size -gt 96 ] || complain "no error with $size KiB" ;;
        *) complain "disk of $size KiB: $said" ;;
        esac
    done
else
    echo 'no small disk: the compiler alone says that there is no room'
fi

# A process that has nearly used up its processor time: the run is saved, and ends. Threads that
# read input are not waited for.
if command -v prlimit >/dev/null; then
    "$csengine" start "$config" --model_dir "$work/time" --compile_dir "$work/compiled" \
        --num_steps 100000000 --set fit.val_dataloader=null >"$work/out" 2>"$work/err" &
    process=$!
    tries=0
    worker=
    until [ -n "$worker" ] && grep -q 'Step=' "$work/out"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { complain 'no worker'; break; }
        sleep 0.1
        coordinator=$(cut -d ' ' -f 1 "/proc/$process/task/$process/children")
        worker=$(ps -eo pid=,ppid=,args= |
            awk -v p="$coordinator" '$2 == p && /role=replica/ { print $1; exit }')
    done
    prlimit --pid "$worker" --cpu=1:600
    wait $process
    code=$?
    [ $code = 130 ] || complain "processor time: exit code $code: $(cat "$work/err")"
    grep -q 'nearly used up its processor time' "$work/err" ||
        complain "processor time: $(cat "$work/err")"
    ls "$work"/time/checkpoint_*.mdl >/dev/null || complain 'processor time: no checkpoint'
fi

[ $tried -ge 20 ] || complain "only $tried runs"
exit $failed
