#!/bin/sh
# Faults of a run with states in a file, aimed at its calls: a preloaded library kills a process, or
# has the disk fail, at the n-th time that it reads ahead, makes pages ready, writes behind or drops
# what it has written; of each role, and of the coordinator while it writes a checkpoint. After a
# kill the run ends with the digest of a run in memory; after EIO or ENOSPC it ends with exit code
# 74 and the name of the setting, and goes on from its checkpoint to the same digest.
#
# KILLS and ERRORS say how many, 6 and 3 if they are not set; a campaign is 200 and 50.
set -eu
if [ "${CSE_SANITIZE:-no}" != no ]; then
    echo "skipped: a sanitizer wants to be the first library that is loaded"
    exit 77
fi
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CSE_DASHBOARD=0
config=$top_srcdir/configs/gpt2_tiny.yaml

cat >"$folder/fault.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* CSE_TEST_FAULT is "kill|EIO|ENOSPC CALL NTH ROLE"; 0: nothing, -1: it is a kill, else errno. */
static int fault(const char *call)
{
    static atomic_int calls;
    char kind[16], wanted[16], role[32], line[4096];
    const char *text = getenv("CSE_TEST_FAULT");
    int nth, file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = read(file, line, sizeof line - 1);
    close(file);
    if (text == NULL || size <= 0 ||
        sscanf(text, "%15s %15s %d %31s", kind, wanted, &nth, role) != 4 ||
        strcmp(call, wanted) != 0)
        return 0;
    for (ssize_t i = 0; i < size; i++)
        line[i] = line[i] == '\0' ? ' ' : line[i];
    line[size] = '\0';
    const char *own = strstr(line, "--role=");
    if (own == NULL ? strcmp(role, "coordinator") != 0
                    : strncmp(own + 7, role, strlen(role)) != 0)
        return 0;
    if (atomic_fetch_add(&calls, 1) + 1 < nth)
        return 0;
    file = open(getenv("CSE_TEST_STRUCK"), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0)
        return 0;
    close(file);
    if (strcmp(kind, "kill") == 0)
        kill(getpid(), SIGKILL);
    return strcmp(kind, "EIO") == 0 ? EIO : ENOSPC;
}
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int madvise(void *at, size_t size, int advice)
{
    const int error = advice == 22 || advice == 23 ? fault("populate") : 0;
    errno = EFAULT;
    return error != 0 ? -1 : NEXT(madvise)(at, size, advice);
}
int sync_file_range(int file, off64_t from, off64_t size, unsigned flags)
{
    const int error = fault(flags & SYNC_FILE_RANGE_WAIT_AFTER ? "drop" : "write");
    errno = error;
    return error != 0 ? -1 : NEXT(sync_file_range)(file, from, size, flags);
}
int posix_fadvise64(int file, off64_t from, off64_t size, int advice)
{
    fault(advice == POSIX_FADV_WILLNEED ? "read" : "leave");
    return NEXT(posix_fadvise64)(file, from, size, advice);
}
int posix_fadvise(int file, off_t from, off_t size, int advice)
{
    return posix_fadvise64(file, from, size, advice);
}
END
$compiler -shared -fPIC -o "$folder/fault.so" "$folder/fault.c" -ldl

start() { # model_dir, options
    model_dir=$1
    shift
    timeout 120 "$CSENGINE_EXECUTABLE" start "$config" --compile_dir "$folder/compiled" \
        --model_dir "$folder/$model_dir" --num_steps 12 --set checkpoint.steps=4 \
        --set checkpoint.keep=2 --set model.num_layers=2 --set model.hidden_size=64 \
        --set logging.log_steps=4 "$@" >"$folder/output" 2>&1
}
in_file="--set states.keep_in=file --set states.directory=$folder"
streamed() { # model_dir, number of processes that compute, schedule
    options="--num_csx 1 --set states.memory=4MiB"
    [ "$2" = 1 ] || options="--num_csx 2 --max_wgt_servers 1 --set states.memory=12MiB"
    # shellcheck disable=SC2086 # options
    start "$1" $options $in_file --set states.schedule="$3"
}
fail() { echo "FAIL: $*"; cat "$folder/output"; exit 1; }
digest() { sed -n 's/^Weights digest: //p' "$folder/output"; }
start memory --num_csx 1 || fail 'a run in memory'
expected=$(digest)

struck=0 missed=0 seed=${SEED:-1}
random() { # n: sets `drawn` to a number below it
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}
choose() { # words
    random $#
    shift $drawn
    chosen=$1
}
# One fault: kind; where: by the seed.
strike() { # kind, calls
    kind=$1
    shift
    choose "$@"
    call=$chosen
    choose replica replica weight_server coordinator
    role=$chosen
    choose layers microbatches
    schedule=$chosen
    processes=1
    [ "$role" != weight_server ] || processes=3
    case $call-$role in
    *-coordinator) most=30 ;;
    read-*) most=400 ;;
    populate-*) most=200 ;;
    *) most=60 ;;
    esac
    random $most
    nth=$((drawn + 1))
    rm -rf "$folder/faulty" "$folder/struck"
    status=0
    LD_PRELOAD=$folder/fault.so CSE_TEST_FAULT="$kind $call $nth $role" \
        CSE_TEST_STRUCK=$folder/struck streamed faulty $processes $schedule || status=$?
    what="$kind at $call $nth of a $role by $schedule"
    if [ ! -e "$folder/struck" ]; then
        missed=$((missed + 1))
    elif [ "$kind" != kill ] && [ "$status" -ne 0 ]; then
        struck=$((struck + 1))
        [ "$status" -eq 74 ] || fail "$what: exit code $status"
        grep -q 'states.directory: .*of the file of states cannot be' "$folder/output" ||
            fail "$what: it is not said what failed"
        streamed faulty $processes $schedule || fail "$what: the run does not go on"
    else
        struck=$((struck + 1))
        [ "$status" -eq 0 ] || fail "$what: exit code $status"
    fi
    [ "$(digest)" = "$expected" ] || fail "$what: $(digest), not $expected"
}
done_kills=0
while [ $done_kills -lt "${KILLS:-6}" ]; do
    strike kill read populate write drop leave
    done_kills=$((done_kills + 1))
done
kills=$struck
errors=0
while [ $errors -lt "${ERRORS:-3}" ]; do
    choose EIO ENOSPC
    strike $chosen populate write drop
    errors=$((errors + 1))
done
[ "$kills" -gt 0 ] && [ "$struck" -gt "$kills" ] || fail "too few struck: $kills, then $struck"
echo "$kills kills and $((struck - kills)) errors struck, $missed runs ended before;" \
    "the same weights"
