#!/bin/sh
# docs/run_store.md: its SQL queries give rows for a real run, and its tables and keys exist.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
tree=${top_srcdir:-.}
python=${PYTHON:-python3}
"$python" -c 'import sqlite3' 2>/dev/null || {
    echo 'python has no sqlite3'
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CSE_DASHBOARD=0 timeout 100 "$csengine" start "$tree/configs/synthetic.yaml" --max_steps 60000 \
    --set loop.num_steps=null --log_steps 1000 --model_dir "$work/run" >"$work/out" 2>&1 || {
    cat "$work/out"
    exit 1
}
cat >"$work/ask.py" <<'END'
"""Asks a run store what the page says that can be asked."""
import re
import sqlite3
import sys

page = open(sys.argv[1]).read()
store = sqlite3.connect(sys.argv[2])
failures = 0
questions = re.findall(r"```sql\n(.*?)```", page, re.S)
for question in questions:
    rows = store.execute(question).fetchall()
    if not rows or any(value is None for row in rows for value in row):
        print("no answer:", question, rows)
        failures += 1
names = set()
for row in re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \|", page, re.M):
    names.update(re.findall(r"`([a-z]+)`", row))
tables = {row[0] for row in store.execute(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")}
if names != tables:
    print("tables of the page and of the store differ:", names ^ tables)
    failures += 1
keys = set(re.findall(r"`([a-z_]+)`", re.search(r"facts by key: (.*?) \|", page).group(1)))
stored = {row[0] for row in store.execute("SELECT key FROM run")}
if not keys <= stored:
    print("keys that are not there:", keys - stored)
    failures += 1
print(len(questions), "questions,", len(tables), "tables,", failures, "failures")
sys.exit(failures > 0 or len(questions) < 5)
END
"$python" "$work/ask.py" "$tree/docs/run_store.md" "$work/run/run.db"
