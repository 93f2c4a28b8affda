#!/bin/sh
# A damaged jobs.db keeps no server from starting: it is set aside, jobs that can be read are there
# again, and folders of those that cannot are told.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:-./csengine}")
config=$(cd "${top_srcdir:-.}" && pwd)/configs/synthetic.yaml
work=$(mktemp -d)
TMPDIR=$work
export TMPDIR
server=
trap '[ -z "$server" ] || kill -TERM "$server" 2>/dev/null; wait; rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
wait_for() { # up to 60 s
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.1
    done
}
answers() { "$csengine" get jobs --server root >jobs.txt 2>/dev/null; }
serve() {
    "$csengine" serve --root root --listen unix:listen.sock >"$1.log" 2>&1 &
    server=$!
    wait_for answers || fail "$1: the server does not answer: $(cat "$1.log")"
}
stop() {
    kill -TERM "$server"
    wait "$server"
    server=
}
rows() { # all that is known of jobs, and who asked for them
    python3 -c '
import sqlite3
for table in "jobs", "transitions", "audit":
    for row in sqlite3.connect("root/jobs.db").execute("SELECT * FROM " + table):
        print(table, row)'
}
ended() { "$csengine" get job one --server root 2>/dev/null | grep -q SUCCEEDED; }

serve first
"$csengine" submit "$config" --id one --server root --set loop.num_steps=4 >submitted.txt 2>&1 ||
    fail "not submitted: $(cat submitted.txt)"
wait_for ended || fail "the job does not end: $("$csengine" get job one --server root)"
stop
python3 -c '
import sqlite3
jobs = sqlite3.connect("root/jobs.db")
jobs.execute("UPDATE jobs SET owner = ?", ("nadia",))
jobs.execute("UPDATE audit SET token = ?", ("nadia",))
jobs.commit()'
rows >rows_before.txt

dd if=/dev/zero of=root/jobs.db bs=100 count=1 conv=notrunc 2>/dev/null
serve header
grep -q one jobs.txt || fail "the job is gone: $(cat jobs.txt header.log)"
grep -q 'jobs.db: .*set aside as .*jobs.db.damaged-1.* 1 jobs' header.log ||
    fail "$(cat header.log)"
[ -f root/jobs.db.damaged-1 ] || fail 'nothing is set aside'
wait_for ended || fail "the job has another state: $("$csengine" get job one --server root 2>&1)"
stop
rows | diff rows_before.txt - || fail 'rows have changed'

head -c 100 root/jobs.db >cut
cp cut root/jobs.db
rm -f root/jobs.db-wal root/jobs.db-shm
serve cut
grep -q 'set aside as .*jobs.db.damaged-2' cut.log || fail "$(cat cut.log)"
grep -q 'folders of runs without a job: one' cut.log ||
    fail "the folder is not told: $(cat cut.log)"
"$csengine" submit "$config" --id two --server root --set loop.num_steps=4 >submitted.txt 2>&1 ||
    fail "the new one takes no job: $(cat submitted.txt)"
two_ended() { "$csengine" get job two --server root 2>/dev/null | grep -q SUCCEEDED; }
wait_for two_ended || fail 'its job does not end'
stop
[ $failures -eq 0 ]
