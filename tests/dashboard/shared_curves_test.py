"""Curves of many runs over the same ranges of steps: each number is computed here again, from the
points of the run stores, by Python's own statistics."""
import math
import os
import sqlite3
import statistics
import subprocess
import sys
import urllib.parse

from support import *

COUNT = 12
STEPS = 100
LR = "trainer.init.optimizer.SGD.lr"
MANY = os.path.join(os.environ.get("top_srcdir", "."), "tests", "support", "many_runs.py")


def points(root, job, series):
    """{step: value} of all attempts; None: not a number."""
    with sqlite3.connect(f"file:{root}/{job}/run.db?mode=ro", uri=True) as db:
        rows = db.execute(
            "SELECT step, value FROM points WHERE series = (SELECT id FROM series WHERE name = ?)",
            (series,),
        ).fetchall()
    db.close()
    check(len(dict(rows)) == len(rows), job, "a step twice")
    return dict(rows)


def change(root, job, sql, *values):
    with sqlite3.connect(os.path.join(root, job, "run.db")) as db:
        db.execute(sql, values)
    db.close()


def make_root():
    root = os.path.join(folder(), "root")
    server = Server("--root", root)
    config = configuration(STEPS).replace(
        "{ SGD: { lr: 0.01 } }", "\n      SGD:\n        lr: 0.01"
    )
    submitted = server.request("PUT", f"{API}/jobs/seed", {"config": config})
    equal(submitted.status, 201, submitted.body)
    server.wait_for("seed", "SUCCEEDED", seconds=120)
    server.stop()
    subprocess.run([sys.executable, MANY, root, "seed", str(COUNT)], check=True)
    # A run that was stopped early, one with a NaN and an infinity, and one whose steps from 61 on are
    # of a second attempt: those of the first that it replaced are kept beside, and count nowhere.
    loss = "series = (SELECT id FROM series WHERE name = 'loss')"
    for table, rest in (("points", "step > 40"), ("buckets", "1")):
        change(root, "run-0002", f"DELETE FROM {table} WHERE {loss} AND {rest}")
    change(root, "run-0003", f"DELETE FROM buckets WHERE {loss}")
    change(root, "run-0003", f"UPDATE points SET value = NULL WHERE {loss} AND step = 7")
    change(root, "run-0003", f"UPDATE points SET value = 9e999 WHERE {loss} AND step = 8")
    change(root, "run-0004", f"DELETE FROM buckets WHERE {loss}")
    change(
        root,
        "run-0004",
        "INSERT INTO superseded SELECT series, attempt, step, time_ms, 1e6 FROM points "
        f"WHERE {loss} AND step > 60",
    )
    change(root, "run-0004", f"UPDATE points SET attempt = 2 WHERE {loss} AND step > 60")
    return root


def ask(server, **parameters):
    answer = server.get(f"{API}/curves?{urllib.parse.urlencode(parameters)}")
    equal(answer.status, 200, answer.body)
    return answer.json()


def near(got, wanted, *what):
    if got is None or wanted is None:
        check(got is None and wanted is None, *what, got, wanted)
        return
    check(abs(got - wanted) <= 1e-9 * max(1, abs(wanted)), *what, got, wanted)


def means_of(found, width, first):
    """{range: mean of the finite points of a run in it}."""
    ranges = {}
    for step, value in found.items():
        if step >= first and value is not None and math.isfinite(value):
            ranges.setdefault((step - first) // width, []).append(value)
    return {place: statistics.fmean(values) for place, values in ranges.items()}


def compare_line(root, answer, series, line, values):
    """One line of an answer against the stores."""
    width, steps = answer["width"], series["step"]
    first = 1
    runs = [points(root, job, series["name"]) for job in line["runs"]]
    means = [means_of(run, width, first) for run in runs]
    lost = sum(v is None or not math.isfinite(v) for run in runs for v in run.values())
    equal(values["not_finite"], lost, (line, "not finite"))
    for i, step in enumerate(steps):
        place = (step - first) // width
        here = [one[place] for one in means if place in one]
        near(values["mean"][i], statistics.fmean(here) if here else None, line, step, "mean")
        if line["key"] is None:
            check("deviation" not in values, "a single run has no deviation")
            continue
        equal(values["count"][i], len(here), (line, step, "count"))
        near(
            values["deviation"][i],
            statistics.stdev(here) if len(here) > 1 else None,
            line,
            step,
            "deviation",
        )
        near(values["minimum"][i], min(here, default=None), line, step, "minimum")
        near(values["maximum"][i], max(here, default=None), line, step, "maximum")


def compare_all(root, answer):
    check(len(answer["lines"]) > 0, "no line")
    for series in answer["series"]:
        own = [points(root, job["id"], series["name"]) for job in answer["runs"]]
        known = sorted({step for run in own for step in run})
        places = sorted({(step - 1) // answer["width"] for step in known})
        equal([(step - 1) // answer["width"] for step in series["step"]], places, "ranges")
        for i, place in enumerate(places):
            inside = [step for step in known if (step - 1) // answer["width"] == place]
            equal((series["step"][i], series["last_step"][i]), (inside[0], inside[-1]), "steps")
        for line, values in zip(answer["lines"], series["lines"], strict=True):
            compare_line(root, answer, series, line, values)


def numbers(root, server):
    for points_wanted in (7, 30, 250):
        for grouping in ({}, {"but": "seed"}, {"group_by": "team"}, {"group_by": "team,seed"}):
            answer = ask(
                server, names="loss,no_such", max_points=points_wanted, where="sweep=rates", **grouping
            )
            equal(answer["total"], COUNT, "runs")
            equal(len(answer["series"][1]["step"]), 0, "points of a series that no run has")
            check(len(answer["series"][0]["step"]) <= points_wanted, "too many ranges")
            compare_all(root, answer)
    equal(answer["width"], 1, "the width where each step has room")


def groups(server):
    seeds = ask(server, names="loss", but="seed", where="sweep=rates")
    equal(seeds["by"], [LR], "what the groups differ in")
    equal(sorted(len(line["runs"]) for line in seeds["lines"]), [2, 5, 5], "seeds of a group")
    together = ask(server, names="loss", but="seed,lr", where="sweep=rates")
    equal(together["by"], [], "what is left")
    equal([len(line["runs"]) for line in together["lines"]], [COUNT], "one group")
    named = ask(server, names="loss", runs="run-0001,run-0006", but="seed")
    equal({line["runs"][0] for line in named["lines"]}, {"run-0001", "run-0006"}, "runs by id")
    part = ask(server, names="loss", **{"from": 33, "to": 48})
    steps = part["series"][0]["step"]
    equal((steps[0], steps[-1], part["width"]), (33, 48, 1), "a part")


def refusals(server):
    for parameters, status, word in (
        ("names=loss&group_by=team&but=seed", 400, "two ways"),
        ("names=loss&runs=nobody", 404, "nobody"),
        ("names=loss&where=nothing%3D1", 400, "nothing"),
        ("", 400, "names"),
    ):
        answer = server.get(f"{API}/curves?{parameters}")
        equal(answer.status, status, parameters)
        check(word in answer.body.decode(), parameters, answer.body)


def curves_of_many_runs():
    root = make_root()
    server = Server("--root", root)
    try:
        numbers(root, server)
        groups(server)
        refusals(server)
    finally:
        server.stop()


if __name__ == "__main__":
    main([curves_of_many_runs])
