"""Makes many ended runs out of one: a root of a server with a thousand jobs, for tests of the pages
and of the API that would take an hour if each run had to be trained.

    many_runs.py ROOT SEED COUNT

ROOT is a server's, which must not run; SEED is a job there that has ended. The copies are COUNT
jobs run-0001, run-0002, ...: five seeds for each learning rate, with labels, series that lie higher
the further the learning rate is from the best, and steps that have other bits than SEED's from a
step of their own on. The run stores are real ones with fewer rows: what the pages of a single run
alone show is left out."""
import json
import math
import os
import shutil
import sqlite3
import sys

SEEDS = 5
LEFT_OUT = (
    "events",
    "logs",
    "closures",
    "timeline",
    "kernels",
    "topology",
    "tensors",
    "numerics",
    "checkpoints",
    "superseded",
)


def open_store(path):
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode = DELETE")
    store.execute("PRAGMA synchronous = OFF")
    return store


def make_template(model_dir, path):
    whole = sqlite3.connect(os.path.join(model_dir, "run.db"))
    template = sqlite3.connect(path, isolation_level=None)
    whole.backup(template)
    whole.close()
    template.close()
    template = open_store(path)
    for table in LEFT_OUT:
        template.execute(f"DELETE FROM {table}")
    template.execute("DELETE FROM artefacts WHERE name != 'config.yaml'")
    template.execute("VACUUM")
    template.close()


def written(text, name, value):
    """The configuration with another value of a setting that stands on a line of its own."""
    lines = text.splitlines()
    places = [i for i, line in enumerate(lines) if line.strip().startswith(name + ":")]
    if not places:
        raise SystemExit(f"many_runs.py: the configuration has no line of {name}")
    for i in places:
        lines[i] = lines[i][: lines[i].index(":") + 1] + f" {value}"
    return "\n".join(lines) + "\n"


def change_store(path, number, lr, seed, steps):
    factor = 1 + 0.2 * abs(math.log10(lr / 0.03)) + 0.003 * seed
    parts_at = 1 + number % steps
    store = open_store(path)
    store.execute("BEGIN")
    losses = "(SELECT id FROM series WHERE name IN ('loss', 'val_loss'))"
    store.execute(f"UPDATE points SET value = value * ? WHERE series IN {losses}", (factor,))
    store.execute(
        "UPDATE buckets SET minimum = minimum * ?1, maximum = maximum * ?1, sum = sum * ?1, "
        f"last = last * ?1 WHERE series IN {losses}",
        (factor,),
    )
    store.execute("UPDATE chain SET states = randomblob(16) WHERE step >= ?", (parts_at,))
    (text,) = store.execute("SELECT content FROM artefacts WHERE name = 'config.yaml'").fetchone()
    text = text.decode() if isinstance(text, bytes) else text
    text = written(written(text, "lr", lr), "seed", seed)
    store.execute("UPDATE artefacts SET content = ? WHERE name = 'config.yaml'", (text.encode(),))
    store.execute("UPDATE run SET value = ? WHERE key = 'seed'", (str(seed),))
    store.execute("COMMIT")
    store.close()


def main(root, seed_job, count):
    jobs = sqlite3.connect(os.path.join(root, "jobs.db"), isolation_level=None)
    jobs.row_factory = sqlite3.Row
    found = jobs.execute("SELECT * FROM jobs WHERE id = ?", (seed_job,)).fetchone()
    if found is None:
        raise SystemExit(f"many_runs.py: {root} has no job {seed_job}")
    moves = jobs.execute("SELECT * FROM transitions WHERE job = ?", (seed_job,)).fetchall()
    folder = os.path.dirname(found["model_dir"])
    template = os.path.join(root, "template.db")
    make_template(found["model_dir"], template)
    with sqlite3.connect(template) as store:
        (steps,) = store.execute("SELECT max(step) FROM chain").fetchone()
    jobs.execute("BEGIN")
    for number in range(1, count + 1):
        name = f"run-{number:04d}"
        model_dir = os.path.join(folder, name)
        os.makedirs(model_dir)
        shutil.copyfile(template, os.path.join(model_dir, "run.db"))
        point, seed = (number - 1) // SEEDS, (number - 1) % SEEDS + 1
        lr = round(0.001 * 10 ** (2 * point / max(1, count / SEEDS)), 6)
        change_store(os.path.join(model_dir, "run.db"), number, lr, seed, steps or 1)
        job = dict(found)
        del job["seq"]
        labels = {"sweep": "rates", "team": ("vision", "language", "speech")[number % 3]}
        job.update(id=name, name=name, model_dir=model_dir, labels=json.dumps(labels))
        job["created_ms"] += number
        insert(jobs, "jobs", job)
        for move in moves:
            row = dict(move)
            del row["seq"]
            insert(jobs, "transitions", {**row, "job": name})
    jobs.execute("COMMIT")
    jobs.close()
    os.remove(template)


def insert(database, table, row):
    names = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    database.execute(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(row.values()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
