#!/bin/sh
# `csengine sql`: rows as a table, CSV and JSON, of a run and of a server's root; what would change
# something or reach another file is refused, and the file stays as it is.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

cat >"$work/config.yaml" <<END
trainer:
  init:
    model_dir: $work/run
    backend: {compile_dir: $work/compiled}
    model: {name: fc_mnist, input_size: 4, hidden_sizes: [8], num_classes: 2, dropout: 0.0}
    optimizer:
      SGD: {lr: 0.5}
    loop: {num_steps: 7}
  fit:
    train_dataloader:
      {data_processor: synthetic, samples: 32, features: [4], classes: 2, batch_size: 8}
END
"$csengine" start "$work/config.yaml" --no_dashboard >"$work/out" 2>&1 || fail "$(cat "$work/out")"

ask() { # answer's file, exit code, arguments
    answer=$1
    wanted=$2
    shift 2
    "$csengine" sql "$@" >"$answer" 2>"$work/errors"
    code=$?
    [ "$code" = "$wanted" ] || fail "sql $*: exit code $code, not $wanted: $(cat "$work/errors")"
}

losses="SELECT step, value FROM points JOIN series ON id = series WHERE name = 'loss'
    ORDER BY step"
ask "$work/csv" 0 "$work/run" "$losses" --format csv
[ "$(wc -l <"$work/csv")" = 8 ] || fail "7 steps and a head: $(cat "$work/csv")"
[ "$(head -n 1 "$work/csv")" = step,value ] || fail "head: $(head -n 1 "$work/csv")"
ask "$work/json" 0 "$work/run" "$losses" --json
# The same numbers, to the last bit.
numbers() {
    awk -F, '{ printf "%d,%.17g\n", $1, $2 }'
}
sed 's/{"step"://; s/,"value":/,/; s/}$//' "$work/json" | numbers >"$work/numbers"
tail -n +2 "$work/csv" | numbers | diff - "$work/numbers" >&2 ||
    fail "JSON and CSV differ"

strange="SELECT NULL AS n, 7 AS i, -0.5 AS r, 'a,\"b' AS t, x'00ff' AS b, 'c
d' AS l"
ask "$work/strange" 0 "$work/run" "$strange" --format csv
printf 'n,i,r,t,b,l\n,7,-0.5,"a,""b",00ff,"c\nd"\n' | diff - "$work/strange" >&2 ||
    fail "CSV of values"
ask "$work/strange" 0 "$work/run" "$strange"
printf 'n  i  r     t     b     l\n-  7  -0.5  a,"b  00ff  c;d\n' |
    diff - "$work/strange" >&2 || fail "a table of values"
ask "$work/strange" 0 "$work/run" "$strange" --json
printf '%s\n' '{"n":null,"i":7,"r":-0.5,"t":"a,\"b","b":"00ff","l":"c\nd"}' |
    diff - "$work/strange" >&2 || fail "JSON of values"
ask "$work/escape" 0 "$work/run" "SELECT char(27) || '[31m' AS e"
grep -q '\\x1b' "$work/escape" || fail "a terminal is driven: $(cat "$work/escape")"
ask "$work/none" 0 "$work/run" "SELECT step FROM points WHERE step < 0" --json
[ -s "$work/none" ] && fail "no rows: $(cat "$work/none")"

# The list of jobs of a server, while it runs.
"$csengine" serve --root "$work/root" --listen 127.0.0.1:0 >"$work/server" 2>&1 &
server=$!
for _ in $(seq 200); do
    grep -qs token= "$work/server" && break
    sleep 0.05
done
ask "$work/jobs" 0 "$work/root" "SELECT count(*) AS jobs FROM jobs" --json
[ "$(cat "$work/jobs")" = '{"jobs":0}' ] || fail "jobs of a server: $(cat "$work/jobs")"
kill $server
wait $server 2>/dev/null

# Nothing but reading, and nothing but this file.
cksum "$work/run/run.db" >"$work/before"
for bad in "DELETE FROM points" "DROP TABLE points" "PRAGMA user_version = 1" \
    "PRAGMA table_info(points)" "ATTACH '$work/other.db' AS other" \
    "VACUUM INTO '$work/other.db'" "CREATE TABLE t (a)" \
    "INSERT INTO run VALUES ('a', 'b')" "SELECT load_extension('x')"; do
    ask "$work/out" 64 "$work/run" "$bad"
done
ask "$work/out" 64 "$work/run" "SELECT 1; SELECT 2"
grep -q 'one statement is accepted, not several' "$work/errors" || fail "$(cat "$work/errors")"
ask "$work/out" 64 "$work/run" ""
ask "$work/out" 64 "$work/run" "SELEC 1"
grep -q 'syntax error' "$work/errors" || fail "$(cat "$work/errors")"
ask "$work/out" 64 "$work/run" "SELECT absent FROM points"
grep -q 'no such column: absent' "$work/errors" || fail "$(cat "$work/errors")"
ask "$work/out" 64 "$work/run" "SELECT 1" --format xml
ask "$work/out" 66 "$work" "SELECT 1"
grep -q 'neither run.db nor jobs.db' "$work/errors" || fail "$(cat "$work/errors")"
cksum "$work/run/run.db" | diff - "$work/before" >&2 || fail "the run store was changed"
[ -e "$work/other.db" ] && fail "another file was made"
echo garbage >"$work/garbage" && mkdir "$work/damaged" && cp "$work/garbage" "$work/damaged/run.db"
ask "$work/out" 65 "$work/damaged" "SELECT 1 FROM points"

[ "$failed" = 0 ] && echo 'as expected'
exit "$failed"
