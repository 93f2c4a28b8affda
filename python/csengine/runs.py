"""A run by its folder: what its store (model_dir/run.db) holds, while it goes on and afterwards."""

import collections
import contextlib
import fcntl
import html
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import time

Point = collections.namedtuple("Point", "step value")
CheckpointFile = collections.namedtuple("CheckpointFile", "step path bytes digest")
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")
LOOK_SECONDS = 0.2


class Run:
    """A run.

    Args:
        model_dir: its folder.
        process: the subprocess.Popen that runs it, if this program started it.
    """

    def __init__(self, model_dir, process=None):
        self.model_dir = pathlib.Path(model_dir)
        self.process = process
        self._is_stopped = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None and self.process.poll() is None:
            self.stop()

    # ---- what the store says ----

    def _make_whole(self):
        """Moves what a run whose processes were all killed has left in run.db-wal into run.db
        (docs/run_store.md); not while it lives, nor from another host, which does not see that."""
        log = self.model_dir / "run.db-wal"
        try:
            if not log.exists() or log.stat().st_size == 0:
                return
            with open(self.model_dir / "run.lock", "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            store = sqlite3.connect(self.model_dir / "run.db", timeout=2)
            try:
                host = store.execute("SELECT value FROM run WHERE key = 'host'").fetchone()
                if host is not None and host[0] == socket.gethostname():
                    store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                store.close()
        except (OSError, sqlite3.Error):  # it lives, or may not be changed: it is read as it is
            pass

    def _query(self, text, *arguments):
        path = self.model_dir / "run.db"
        if not path.exists():
            return []
        self._make_whole()
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as store:
                return store.execute(text, arguments).fetchall()
        except sqlite3.OperationalError:  # it is just being made
            return []

    def facts(self):
        """The facts of the run by name: state, model, optimizer, batch_size, seed, last_step,
        ..."""
        return dict(self._query("SELECT key, value FROM run"))

    @property
    def state(self):
        """QUEUED, RUNNING, SUCCEEDED, FAILED, ...; "" before the store is there."""
        found = self._query("SELECT value FROM run WHERE key = 'state'")
        return str(found[0][0]) if found else ""

    @property
    def step(self):
        """The last step that was committed."""
        found = self._query("SELECT max(step) FROM points")
        return int(found[0][0]) if found and found[0][0] is not None else 0

    @property
    def weights_digest(self):
        """The digest of the states at the end; "" before."""
        return self.facts().get("weights_digest") or ""

    def series(self):
        """Names of the recorded series."""
        return [name for name, in self._query("SELECT name FROM series ORDER BY name")]

    def points(self, name="loss", after=-1):
        """Points of a series behind step `after`, one a step: of steps that were done again those
        of the newest attempt."""
        return [
            Point(*row[:2])
            for row in self._query(
                "SELECT step, value, max(attempt) FROM points JOIN series ON id = series "
                "WHERE name = ? AND step > ? GROUP BY step ORDER BY step",
                name,
                after,
            )
        ]

    def metrics(self, name="loss", timeout=None):
        """Points of a series as they come, to the end of the run.

        Raises csengine.CommandError behind the last point where the run failed, TimeoutError when
        no point comes for `timeout` seconds. KeyboardInterrupt in here stops a run of this program;
        one in the caller's own lines does not."""
        seen, waited = -1, time.monotonic()
        while True:
            # Reading the points is guarded as waiting is: a run with short steps is mostly read.
            with self._stopped_by_interrupt():
                over = self.ended
                found = self.points(name, seen)
            for point in found:
                yield point
                seen = point.step
                waited = time.monotonic()
            if over:
                self._raise_failure()
                return
            if timeout is not None and time.monotonic() - waited > timeout:
                raise TimeoutError(
                    f"{self.model_dir}: no point of {name!r} for {timeout} s; the run "
                    f"is {self.state or 'not begun'}"
                )
            if not found:
                with self._stopped_by_interrupt():
                    time.sleep(LOOK_SECONDS)

    def checkpoints(self):
        """The checkpoints that are there, oldest first. Those of a folder that was moved or copied
        are the files in it, whatever place its store was written for."""
        found = []
        for step, path, size, digest in self._query(
            "SELECT step, path, bytes, digest FROM checkpoints WHERE deleted = 0 ORDER BY step"
        ):
            here = self.model_dir / pathlib.Path(path).name
            path = os.fspath(here) if here.exists() else path
            found.append(CheckpointFile(step, path, size, digest))
        return found

    def graph(self, kind="training"):
        """The step graph as nested dictionaries and lists."""
        found = self._query("SELECT content FROM artefacts WHERE name = ?", f"graph.{kind}.json")
        if not found:
            raise LookupError(f"{self.model_dir}: no graph {kind!r} is recorded yet")
        content = found[0][0]
        return json.loads(content if isinstance(content, str) else content.decode())

    def numerics(self, step=None):
        """Tensor statistics: a list of dictionaries (docs/run_store.md), of one step or of all."""
        columns = [row[1] for row in self._query("PRAGMA table_info(numerics)")]
        where, values = ("", ()) if step is None else (" WHERE step = ?", (step,))
        return [
            dict(zip(columns, row))
            for row in self._query("SELECT * FROM numerics" + where, *values)
        ]

    # ---- the process ----

    @property
    def ended(self):
        """Whether it is over."""
        if self.process is not None:
            return self.process.poll() is not None
        return self.state in ENDED

    def wait(self, timeout=None):
        """Waits for the end; returns the exit code, which is not 0 where stop() ended it. Raises
        csengine.CommandError where it failed, TimeoutError where it goes on after `timeout`
        seconds. KeyboardInterrupt stops a run of this program."""
        begun = time.monotonic()
        with self._stopped_by_interrupt():
            while not self.ended:
                if timeout is not None and time.monotonic() - begun > timeout:
                    raise TimeoutError(f"{self.model_dir}: still {self.state or 'not begun'}")
                self._sleep()
        self._raise_failure()
        return 0 if self.process is None else self.process.returncode

    def _sleep(self):
        """Until something may have changed."""
        if self.process is None:
            time.sleep(LOOK_SECONDS)
            return
        try:
            self.process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            pass

    @contextlib.contextmanager
    def _stopped_by_interrupt(self):
        try:
            yield
        except KeyboardInterrupt:
            self.stop()
            raise

    def _raise_failure(self):
        """CommandError with the run's own error, where it has ended by a failure."""
        from csengine.program import CommandError

        if self.process is not None:
            code = self.process.returncode
            if code and not self._is_stopped:
                raise CommandError("start", code, self.output())
        elif self.state == "FAILED":
            found = self._query(
                "SELECT reason, message FROM transitions WHERE to_state = 'FAILED' "
                "ORDER BY seq DESC LIMIT 1"
            )
            reason, message = found[0] if found else ("", "")
            raise CommandError(
                "start", None, f"error: {self.model_dir}: the run failed ({reason}): {message}"
            )

    def at(self, step, num_csx=None):
        """A step of the past, as a csengine.Moment: run.at(700)["model.last_layer.weight"] is the
        weight after step 700, a NumPy array, by replay."""
        from csengine.moments import Moment

        return Moment(self.model_dir, step, num_csx)

    def output(self):
        """What the program printed so far."""
        return self.output_path.read_text(errors="replace") if self.output_path.exists() else ""

    @property
    def output_path(self):
        """Where that is kept."""
        return self.model_dir / "logs" / "output.log"

    def stop(self, timeout=60):
        """Ends it after the step in flight, with a checkpoint."""
        if self.process is not None and self.process.poll() is None:
            self._is_stopped = True
            self.process.terminate()
            self.process.wait(timeout)

    def open_dashboard(self):
        """Starts a server that shows the run; returns (address, process)."""
        from csengine.program import serve

        return serve(self.model_dir)

    # ---- notebooks ----

    def _repr_html_(self):
        """State and curve of the loss, for a notebook."""
        facts = self.facts()
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(str(k))}</th>"
            f"<td>{html.escape(str(facts[k]))}</td></tr>"
            for k in (
                "state",
                "model",
                "optimizer",
                "batch_size",
                "num_csx",
                "last_step",
                "weights_digest",
            )
            if facts.get(k)
        )
        return (
            f"<div><b>{html.escape(str(self.model_dir))}</b><table>{rows}</table>"
            f"{curve(self.points('loss'))}</div>"
        )

    def __repr__(self):
        return f"csengine.Run({os.fspath(self.model_dir)!r}, {self.state or 'not begun'})"


def curve(points, width=480, height=120):
    """An SVG of finite points."""
    kept = [p for p in points if p.value is not None and abs(p.value) < float("inf")]
    if len(kept) < 2:
        return ""
    if len(kept) > width:
        kept = kept[:: len(kept) // width + 1] + [kept[-1]]
    low, high = min(p.value for p in kept), max(p.value for p in kept)
    first, last = kept[0].step, max(kept[-1].step, kept[0].step + 1)
    spread = (high - low) or 1.0
    path = " ".join(
        f"{(p.step - first) / (last - first) * width:.1f},"
        f"{(high - p.value) / spread * height:.1f}"
        for p in kept
    )
    return (
        f"<svg width='{width}' height='{height + 18}' role='img'>"
        f"<title>loss: {kept[-1].value:.6g} at step {kept[-1].step}</title>"
        f"<polyline points='{path}' fill='none' stroke='#2563eb' stroke-width='1.5'/>"
        f"<text x='0' y='{height + 14}' font-size='11'>loss {kept[0].value:.4g} to "
        f"{kept[-1].value:.4g}, steps {first} to {last}</text></svg>"
    )
