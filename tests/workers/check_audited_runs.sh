#!/bin/sh
# Audits (audit_fraction) in whole runs: the same digest with and without them, for any number of
# replicas and hosts, with kills. A kernel that computes wrongly in one process, once or from a
# moment on, is found: the process and its core are named in what the run prints and in its store,
# the process leaves, and the run ends with the digest of one without faults; where nobody can tell
# who is wrong, or the only replica is wrong again, it ends with exit code 69 and commits nothing.
#
# The op of a library calls a function of a preloaded one, which is wrong where CSE_TEST_FAULT says.
set -u
if [ "${CSE_SANITIZE:-no}" != no ]; then
    echo "skipped: a sanitizer wants to be the first library that is loaded"
    exit 77
fi
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
"${PYTHON:-python3}" -c 'import sqlite3' 2>/dev/null || { echo "skipped: no python3"; exit 77; }
csengine=${CSENGINE_EXECUTABLE:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CSE_DASHBOARD=0
failed=0
complain() {
    echo "FAIL: $*"
    [ -f "$folder/$name.out" ] && tail -n 12 "$folder/$name.out"
    failed=1
}

# ---- a model with an op whose kernel can be wrong ----
call='({ extern float cse_test_softsign(float); cse_test_softsign($0); })'
sed -e "s/\.expression = \".*\"/.expression = \"$call\"/" \
    "${top_srcdir:?}/examples/outside/custom_kinds.c" >"$folder/model.c"
grep -q cse_test_softsign "$folder/model.c" || { echo 'FAIL: the example has no such op'; exit 1; }
cat >"$folder/fault.c" <<'END'
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* CSE_TEST_FAULT is "SLOT FROM COUNT": calls [FROM, FROM + COUNT) of that slot's processes are
 * wrong; with CSE_TEST_ONCE, a file, only those of the first process that comes so far. */
static long from = -1, end;
static int slot_of_process(void)
{
    char line[4096] = "";
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = read(file, line, sizeof line - 1);
    close(file);
    for (ssize_t i = 0; i < size; i++)
        line[i] = line[i] == '\0' ? ' ' : line[i];
    const char *slot = strstr(line, "--slot=");
    return slot != NULL && strstr(line, "--role=replica") != NULL ? atoi(slot + 7) : -1;
}
static void begin(void)
{
    const char *text = getenv("CSE_TEST_FAULT");
    int slot;
    long first, count;
    from = end = 0;
    if (text != NULL && sscanf(text, "%d %ld %ld", &slot, &first, &count) == 3 &&
        slot == slot_of_process()) {
        from = first;
        end = first + count;
    }
}
float cse_test_softsign(float x)
{
    static atomic_long calls;
    static int struck = -1;
    const float right = x / (1.0f + (x < 0.0f ? -x : x));
    if (from < 0)
        begin();
    const long call = atomic_fetch_add(&calls, 1);
    if (end == 0 || call < from || call >= end)
        return right;
    if (struck < 0) {
        const char *once = getenv("CSE_TEST_ONCE");
        const int file = once != NULL ? open(once, O_WRONLY | O_CREAT | O_EXCL, 0600) : 0;
        struck = file >= 0;
    }
    return struck ? right + 0.0078125f : right;
}
END
flags=$(for f in "$top_srcdir/include" "${top_builddir:?}/include"; do echo "-I$f"; done)
# shellcheck disable=SC2086 # flags
$compiler -std=c11 -shared -fPIC $flags -o "$folder/model.so" "$folder/model.c" ||
    { echo 'FAIL: the model'; exit 1; }
$compiler -shared -fPIC -o "$folder/fault.so" "$folder/fault.c" ||
    { echo "FAIL: fault.so"; exit 1; }
cat >"$folder/config.yaml" <<END
trainer:
  init:
    backend: {cluster_config: {num_csx: 2, num_workers_per_csx: 1}}
    model: {library: $folder/model.so, name: softsign_net, input_size: 16, num_classes: 4}
    optimizer: {SGD: {lr: 0.1, momentum: 0.9}}
    loop: {num_steps: 40}
    checkpoint: {steps: 10}
    logging: {log_steps: 10}
    seed: 1
  fit:
    train_dataloader: {data_processor: synthetic, features: [16], classes: 4, samples: 1024,
                       batch_size: 64, micro_batch_size: 8, shuffle: true}
END

start() { # name, options...
    name=$1
    shift
    LD_PRELOAD=$folder/fault.so timeout 120 "$csengine" start "$folder/config.yaml" \
        --compile_dir "$folder/compiled" --model_dir "$folder/$name" "$@" >"$folder/$name.out" 2>&1
}
audited="--set backend.cluster_config.audit_fraction"
digest() { sed -n 's/^Weights digest: //p' "$folder/$name.out"; }
says() { grep -q -- "$1" "$folder/$name.out" || complain "$name does not say: $1"; }
has_right_bits() { [ "$(digest)" = "$expected" ] || complain "$name: another digest"; }

# ---- no faults ----
start plain --num_csx 1 || complain 'a run without audits'
expected=$(digest)
[ -n "$expected" ] || complain 'no digest'
for replicas in 1 2 3; do
    for fraction in 0.01 1; do
        # shellcheck disable=SC2086 # options
        start "clean$replicas$fraction" --num_csx $replicas $audited=$fraction ||
            complain "$name: exit code $?"
        has_right_bits
        grep -q 'audit of step' "$folder/$name.out" && complain "$name: a finding, and no fault"
        [ $fraction != 1 ] || says '^Audits: 320 microbatch(es) computed again, 0 comp'
    done
done

# ---- one call that is wrong ----
for replicas in 1 2 3; do
    rm -f "$folder/once"
    # shellcheck disable=SC2086 # options
    CSE_TEST_ONCE=$folder/once CSE_TEST_FAULT='0 6000 1' \
        start "once$replicas" --num_csx $replicas $audited=1 || complain "$name: exit code $?"
    [ -f "$folder/once" ] || complain "$name: the fault did not strike"
    has_right_bits
    says 'audit of step [0-9]*, microbatch [0-7]: replica 0 (process [0-9]* on core [0-9]* of .*) c'
    says 'its bits were last confirmed in step'
    [ $replicas = 1 ] || says "its place stays empty, and $((replicas - 1)) replica"
    [ $replicas != 1 ] || says 'a new process takes its place'
    "$csengine" logs "$folder/$name" 2>&1 | grep -q 'audit of step' ||
        complain "$name: the run's log has no finding"
    "${PYTHON:-python3}" - "$folder/$name/run.db" <<'END' || complain "$name: no event of it"
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT payload FROM events WHERE type = 'audit'")
found = [json.loads(row[0]) for row in rows]
assert [(f["process"], f["undecided"]) for f in found] == [("replica 0", False)], found
assert found[0]["core"] >= 0 and 0 < found[0]["confirmed_step"] <= found[0]["step"], found
END
done

# ---- on two hosts, each of which audits what it computes ----
for struck in none one; do
    rm -f "$folder/once"
    [ $struck = none ] && touch "$folder/once"
    # shellcheck disable=SC2086 # options
    CSE_TEST_ONCE=$folder/once CSE_TEST_FAULT='0 6000 1' start "hosts$struck" --num_csx 3 \
        --hosts a,b --host_launcher local $audited=1 || complain "$name: exit code $?"
    has_right_bits
    [ $struck = none ] || says 'audit of step [0-9]*, microbatch [0-7]: replica 0 '
done

# ---- wrong from a moment on ----
# shellcheck disable=SC2086 # options
CSE_TEST_FAULT='1 10240 100000000' start always3 --num_csx 3 $audited=1 ||
    complain "always3: exit code $?"
has_right_bits
says 'replica 1 (process [0-9]* on core [0-9]* of .*) computed'
says 'its place stays empty, and 2 replicas go on'
# shellcheck disable=SC2086 # options
CSE_TEST_FAULT='1 0 100000000' start always2 --num_csx 2 $audited=1
[ $? = 69 ] || complain 'always2: another exit code'
says 'no two agree, and who is wrong cannot be told'
says 'the step is not committed'
start always2 --num_csx 2 || complain "always2 does not go on: exit code $?"
has_right_bits

# ---- of the one replica that is left, again ----
# shellcheck disable=SC2086 # options
CSE_TEST_FAULT='0 6000 1' start again1 --num_csx 1 $audited=1
[ $? = 69 ] || complain 'again1: another exit code'
says 'it is the only replica, and was found wrong before'

# ---- refused ----
# shellcheck disable=SC2086 # options
start refused $audited=1.5 && complain 'a fraction above 1'
says 'audit_fraction'
# shellcheck disable=SC2086 # options
start file $audited=0.5 --set states.keep_in=file --set states.directory="$folder" \
    --set states.memory=12MiB && complain 'audits with states in a file'
says 'audit_fraction is 0.5 and states.keep_in is file'
exit $failed
