"""Event streams: live, resumed, ended; and clients that do not read."""
import json
import os
import socket
import time

import support
from jobs_test import act, put, root_server
from routes_test import finished_run
from support import API, LONG, Failure, Server, Stream, check, configuration, end_jobs, equal


def steps_of(events, series="loss"):
    return [p[0] for _, kind, e in events if kind == "metric" for p in e["payload"]["series"].get(series, [])]


def stored(server, id, kind):
    """Numbers of the events of a kind that the run keeps: read without the server."""
    import sqlite3

    path = server.job(id)["model_dir"] + "/run.db"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT id, payload FROM events WHERE type = ? ORDER BY id", (kind,))
        return {row[0]: json.loads(row[1]) for row in rows.fetchall()}


def take(stream, count):
    events = []
    while len(events) < count:
        event = stream.next()
        check(event is not None, "the stream ended early")
        events.append(event)
    return events


def a_stream_that_breaks_loses_nothing():
    """Cut at any event and taken up with its number, again and again: every step once, in order."""
    server = root_server()
    try:
        put(server, "a")
        server.wait_for("a", "RUNNING")
        stream = Stream(server, f"{API}/jobs/a/events?types=metric&after=0")
        events = take(stream, 20)
        for round in range(5):
            stream.close()
            stream = Stream(server, f"{API}/jobs/a/events?types=metric", last_id=events[-1][0])
            events += take(stream, 3 + 5 * round)
        stream.close()
        time.sleep(1)  # until the last of them are in the store as well
        ids = [id for id, _, _ in events]
        kept = stored(server, "a", "metric")
        equal(ids, [id for id in kept if id <= ids[-1]], "every event once, in order")
        check(all(e["payload"] == kept[id] for id, _, e in events), "as it is kept")
        steps = steps_of(events)
        check(steps == sorted(set(steps)), "steps rise")
        check(all(e["id"] == id and e["type"] == kind for id, kind, e in events), "data has the number")
    finally:
        end_jobs(server)
        server.stop()


def alerts_are_told():
    server = root_server()
    try:
        watched = configuration(40).replace("    seed: 1\n", "    seed: 1\n    alerts: {when: [loss < 100]}\n")
        check("alerts" in watched, watched)
        equal(server.request("PUT", f"{API}/jobs/a", {"config": watched}).status, 201)
        events = Stream(server, f"{API}/jobs/a/events?types=alert&after=0").all()
        equal([kind for _, kind, _ in events], ["alert", "end"], events)
        equal(events[0][2]["payload"], stored(server, "a", "alert")[events[0][0]])
        equal(events[0][2]["payload"]["condition"], "loss < 100", events[0])
    finally:
        end_jobs(server)
        server.stop()


def the_end_is_told_once():
    server = root_server()
    try:
        put(server, "a", steps=2000)
        stream = Stream(server, f"{API}/jobs/a/events?types=state,checkpoint&after=0")
        events = stream.all()
        kinds = [kind for _, kind, _ in events]
        equal(kinds[-1], "end")
        equal(kinds.count("end"), 1)
        equal(events[-1][2]["payload"]["state"], "SUCCEEDED")
        states = [e["payload"]["to_state"] for _, kind, e in events if kind == "state"]
        equal(states[-1], "SUCCEEDED", states)
        check("RUNNING" in states and "checkpoint" in kinds, kinds)
        last = events[-1][0]
        equal(server.get(f"{API}/jobs/a/events", Last_Event_ID=str(last)).status, 204, "nothing more")
        equal(server.get(f"{API}/jobs/a/events?after={last}").status, 204)
        late = Stream(server, f"{API}/jobs/a/events?types=metric&after=0").all()
        equal([id for id, _, _ in late[:-1]], list(stored(server, "a", "metric")), "all, afterwards")
        equal(late[-1][1], "end")
        only = Stream(server, f"{API}/jobs/a/events").all()
        equal([kind for _, kind, _ in only], ["end"], "nothing from now on but the end")
        equal(server.get(f"{API}/jobs/nobody/events").status, 404)
    finally:
        end_jobs(server)
        server.stop()


def a_job_in_the_queue_is_watched():
    server = root_server("--cores", "1")
    try:
        put(server, "runs")
        server.wait_for("runs", "RUNNING")
        put(server, "waits", steps=50)
        stream = Stream(server, f"{API}/jobs/waits/events?types=state")
        time.sleep(0.3)
        act(server, "runs", "cancel", {"save": False})
        events = stream.all()
        states = [e["payload"].get("to_state") for _, kind, e in events if kind == "state"]
        equal(states[0], "STARTING", states)
        check("RUNNING" in states, states)
        equal(events[-1][2]["payload"]["state"], "SUCCEEDED")
    finally:
        end_jobs(server)
        server.stop()


def what_is_not_kept_is_told_as_a_gap():
    import sqlite3

    run = finished_run(support.folder())
    with sqlite3.connect(run + "/run.db") as db:
        newest = db.execute("SELECT max(id) FROM events").fetchone()[0]
        db.execute("DELETE FROM events WHERE id <= ?", (newest - 3,))
    server = Server("--run", run)
    try:
        events = Stream(server, f"{API}/jobs/run1/events?after=1").all()
        gap = events[0]
        equal((gap[1], gap[2]["payload"]["from"], gap[2]["payload"]["to"]), ("gap", 2, newest - 3))
        equal([id for id, kind, _ in events if kind not in ("gap", "end")], list(range(newest - 2, newest + 1)))
        # A number from another life of the run is no reason to wait for ever.
        equal(server.get(f"{API}/jobs/run1/events?after={newest + 1000}").status, 204)
    finally:
        server.stop()


def signs_of_life_come_and_vanished_readers_go():
    server = root_server("--heartbeat_seconds", "1")
    try:
        put(server, "a")
        server.wait_for("a", "RUNNING")
        act(server, "a", "pause")
        server.wait_for("a", "PAUSED")
        stream = Stream(server, f"{API}/jobs/a/events?types=closure")
        gone = [Stream(server, f"{API}/jobs/a/events?types=closure") for _ in range(20)]
        stream.socket.settimeout(0.5)
        for other in gone:
            other.close()
        until = time.monotonic() + 60
        while stream.comments < 3 and time.monotonic() < until:
            try:
                stream.next()
            except socket.timeout:
                pass
        check(stream.comments >= 3, "no heartbeat", stream.comments)
        until = time.monotonic() + 60
        while "csengine_event_streams 1\n" not in (figures := server.get("/metrics").body.decode()):
            check(time.monotonic() < until, [l for l in figures.splitlines() if "streams" in l])
            time.sleep(0.1)
        stream.close()
    finally:
        end_jobs(server)
        server.stop()


def slow_readers_cost_a_bounded_amount():
    """Readers that do not read: the server keeps a buffer's worth for them and serves the others."""
    server = root_server()

    def resident():
        with open(f"/proc/{server.process.pid}/status") as f:
            return next(int(l.split()[1]) for l in f if l.startswith("VmRSS:"))

    try:
        put(server, "a")
        server.wait_for("a", "RUNNING")
        quick = Stream(server, f"{API}/jobs/a/events?types=metric&after=0")
        take(quick, 5)
        before = resident()
        slow = [Stream(server, f"{API}/jobs/a/events?types=metric&after=0") for _ in range(30)]
        events = take(quick, 80)
        time.sleep(1)
        kept = [id for id in stored(server, "a", "metric") if events[0][0] <= id <= events[-1][0]]
        equal([id for id, _, _ in events], kept, "the quick one loses nothing")
        check(resident() - before < 30 * 700 + 12000, "KiB more:", resident() - before)
        for stream in slow:
            stream.close()
    finally:
        end_jobs(server)
        server.stop()


def readers_that_stand_still_are_dropped():
    """What is sent to them stays unread for longer than a client may take."""
    server = root_server("--client_seconds", "1")
    try:
        put(server, "a")
        server.wait_for("a", "RUNNING")
        still = []
        for _ in range(5):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect((server.host, server.port))
            # Pages of logs and curves, asked for but not read, fill what lies between.
            s.sendall(f"GET {API}/jobs/a/events?after=0 HTTP/1.1\r\nHost: localhost\r\n"
                      f"{support.lines_of(server.authorization)}\r\n".encode())
            still.append(s)
        until = time.monotonic() + 60 * support.SLOW
        while time.monotonic() < until:
            figures = server.get("/metrics").body.decode()
            if "csengine_event_streams 0\n" in figures:
                break
            time.sleep(0.5)
        check("csengine_event_streams 0\n" in figures, "streams that nobody reads stay")
        for s in still:
            s.close()
    finally:
        end_jobs(server)
        server.stop()


def lines_of_the_log_come_as_they_are_written():
    server = root_server()
    try:
        put(server, "a")
        server.wait_for("a", "RUNNING")
        stream = Stream(server, f"{API}/jobs/a/logs?level=info")
        act(server, "a", "checkpoint")
        kind, event = "log", {"payload": {"message": ""}}
        while "checkpoint" not in event["payload"]["message"]:
            _, kind, event = stream.next()
            equal(kind, "log")
        stream.close()
        time.sleep(1)
        lines = server.get(f"{API}/jobs/a/logs?tail=20").body.splitlines()
        check(any("checkpoint" in json.loads(line)["message"] for line in lines), lines)
        equal(server.get(f"{API}/jobs/a/logs?role=nobody").body, b"")
    finally:
        end_jobs(server)
        server.stop()


if __name__ == "__main__":
    support.main([
        a_stream_that_breaks_loses_nothing, alerts_are_told, the_end_is_told_once, a_job_in_the_queue_is_watched,
        what_is_not_kept_is_told_as_a_gap, signs_of_life_come_and_vanished_readers_go,
        slow_readers_cost_a_bounded_amount,
        readers_that_stand_still_are_dropped, lines_of_the_log_come_as_they_are_written,
    ])
