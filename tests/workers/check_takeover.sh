#!/bin/sh
# A coordinator that is killed, or stopped for good, is replaced by another one, which goes on where
# the arena stands: the run ends with the weights and the losses of an undisturbed one, no step is
# done again, none is missing in the run store, and a run that stood still, or was about to end,
# still does. Skipped without python3 (its sqlite3).
set -u
csengine=${CSENGINE_EXECUTABLE:?}
config=${top_srcdir:?}/configs/synthetic.yaml
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || { echo 'there is no python3: skipped'; exit 77; }
work=$(mktemp -d)
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"
failed=0

complain() {
    echo "$*"
    failed=1
}

launch() { # name, arguments...
    name=$1
    shift
    CSE_DASHBOARD=0 "$csengine" start "$config" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --json --num_csx 2 --num_steps 60000 \
        --set checkpoint.steps=5000 --set loop.eval_frequency=20000 --set loop.eval_steps=3 \
        "$@" >"$work/$name.out" 2>"$work/$name.err" &
    process=$!
}

wait_for() { # command...
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || return 1
        sleep 0.01
    done
}

has() { grep -q -e "$2" "$1"; }
count() { grep -c -e "$2" "$1"; }
has_number() { [ "$(count "$1" "$2")" -ge "$3" ]; }
coordinator() { # of $process
    for status in /proc/[0-9]*/status; do
        grep -q "^PPid:[^0-9]*$process\$" "$status" 2>/dev/null &&
            sed -n 's/^Pid:[^0-9]*//p' "$status"
    done
}
has_coordinator() { [ -n "$(coordinator)" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
state_of() {
    "$python" - "$work/$1/run.db" <<'PYTHON'
import sqlite3
import sys

print(*sqlite3.connect(sys.argv[1]).execute(
    "select to_state from transitions order by seq desc limit 1").fetchone())
PYTHON
}
digest_of() { sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p' "$work/$1.out" | tail -n 1; }
losses_of() {
    "$python" - "$work/$1/run.db" <<'PYTHON'
import sqlite3
import sys

rows = sqlite3.connect(sys.argv[1]).execute(
    "select s.name, p.step, p.value from points p join series s on s.id = p.series "
    "where s.name in ('loss', 'val_loss') order by p.attempt, p.step").fetchall()
for (name, step), value in sorted({row[:2]: row[2] for row in rows}.items()):
    print(name, step, value)
PYTHON
}
# The step that each coordinator but the first went on after, and the last that was stored before.
ends_of() { # name
    sed -n 's/.*the run goes on after step \([0-9]*\).*/\1/p' "$work/$1.err" >"$work/begins"
    "$python" - "$work/$1/run.db" <<'PYTHON' | paste "$work/begins" -
import sqlite3
import sys

for row in sqlite3.connect(sys.argv[1]).execute(
        "select max(p.step) from points p join series s on s.id = p.series "
        "where s.name = 'loss' group by p.attempt order by p.attempt"):
    print(*row)
PYTHON
}

# Whether so many coordinators have stored losses.
has_stored() { # name, number
    [ "$("$python" - "$work/$1/run.db" <<'PYTHON'
import sqlite3
import sys

print(*sqlite3.connect(sys.argv[1]).execute(
    "select count(distinct p.attempt) from points p join series s on s.id = p.series "
    "where s.name = 'loss'").fetchone())
PYTHON
    )" -ge "$2" ]
}

same_as_plain() { # name
    [ "$(digest_of "$1")" = "$(digest_of plain)" ] || complain "$1: another digest"
    losses_of "$1" >"$work/losses"
    cmp -s "$work/losses" "$work/plain.losses" || complain "$1: other losses in the run store"
    [ -z "$(ls "$TMPDIR")" ] || complain "$1: files are left: $(ls "$TMPDIR")"
}

launch plain
wait $process || complain "plain: exit code $?: $(cat "$work/plain.err")"
losses_of plain >"$work/plain.losses"
[ "$(wc -l <"$work/plain.losses")" -ge 1000 ] || complain 'plain: few losses'

# Twice in one run, by signals of both kinds; the second coordinator as the first.
number=0
launch twice
for signal in KILL STOP; do
    number=$((number + 1))
    wait_for has_number "$work/twice.out" 'saved\|"event":"step"' $((number * 300)) ||
        complain "twice: no steps before $signal"
    wait_for has_stored twice $number || complain "twice: no losses stored before $signal"
    wait_for has_coordinator || complain "twice: no coordinator before $signal"
    victim=$(coordinator | head -n 1)
    kill -$signal "$victim"
    wait_for is_gone "$victim" || complain "twice: $signal: still there"
    wait_for has_number "$work/twice.err" 'another one takes the run over' $number ||
        complain "twice: $signal: nobody takes over: $(cat "$work/twice.err")"
done
wait $process || complain "twice: exit code $?: $(cat "$work/twice.err")"
same_as_plain twice
ends_of twice | awk 'NR < 3 && !(NF == 2 && $1 >= $2) { exit 1 } END { exit NR != 3 }' ||
    complain "twice: steps were done again: $(ends_of twice)"

# A run that stands still on request stands still.
launch paused
wait_for has "$work/paused.out" '"event":"step"' || complain 'paused: no steps'
"$csengine" pause "$work/paused" >"$work/pause.out" 2>&1 ||
    complain "pause: $(cat "$work/pause.out")"
is_paused() { [ "$(state_of paused)" = PAUSED ]; }
wait_for is_paused || complain "paused: $(state_of paused)"
kill -KILL "$(coordinator | head -n 1)"
wait_for has "$work/paused.err" 'another one takes the run over' || complain 'paused: no takeover'
sleep 0.2
wait_for is_paused || complain "paused, after it: $(state_of paused)"
"$csengine" resume "$work/paused" >"$work/pause.out" 2>&1 ||
    complain "resume: $(cat "$work/pause.out")"
wait $process || complain "paused: exit code $?: $(cat "$work/paused.err")"
same_as_plain paused

# One that was told to end does not go on.
launch told --num_steps 2000000
wait_for has "$work/told.out" '"event":"step"' || complain 'told: no steps'
victim=$(coordinator | head -n 1)
kill -STOP "$victim"
kill -TERM $process
is_told() { # SIGTERM waits, or it was stopped for so long that it was killed
    is_gone "$victim" ||
        grep -q '^ShdPnd:.*[4-7c-f][0-9a-f][0-9a-f][0-9a-f]$' "/proc/$victim/status" 2>/dev/null
}
wait_for is_told || complain 'told: the signal does not reach it'
kill -KILL "$victim" 2>"$work/kill.err"
wait $process
code=$?
[ $code -eq 137 ] || complain "told: exit code $code"
grep -q 'another one takes' "$work/told.err" && complain 'told: was taken over'

# One that dies again and again without a step ends.
cat >"$work/worker" <<'SCRIPT'
#!/bin/sh
kill -KILL $PPID
SCRIPT
chmod +x "$work/worker"
CSENGINE_EXECUTABLE=$work/worker
export CSENGINE_EXECUTABLE
launch deadly
wait $process
code=$?
[ $code -eq 137 ] || complain "deadly: exit code $code"
[ "$(count "$work/deadly.err" 'another one takes')" -eq 5 ] ||
    complain "deadly: $(cat "$work/deadly.err")"
rm -rf "$work"
exit $failed
