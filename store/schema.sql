-- The run store: what a run was, is and did, in model_dir/run.db. See store/store.h.
-- Times are Unix milliseconds unless the name ends in _ns. `attempt` counts the starts of a run from 1.

-- Facts about the run as a whole and its present attempt; the keys are listed in store/store.h.
CREATE TABLE IF NOT EXISTS run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;

-- Every change of state, in order; the last one is the state.
CREATE TABLE IF NOT EXISTS transitions(seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,
    from_state TEXT, to_state TEXT NOT NULL, reason TEXT, message TEXT, attempt INTEGER NOT NULL);

CREATE TABLE IF NOT EXISTS series(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);

-- value NULL: not a number.
CREATE TABLE IF NOT EXISTS points(series INTEGER, attempt INTEGER, step INTEGER, time_ms INTEGER,
    value REAL, PRIMARY KEY(series, attempt, step)) WITHOUT ROWID;

-- Bucket b of level k holds the points 8^k * b to 8^k * (b + 1) - 1 of a series, in the order in
-- which they came; minimum, maximum and sum are over its numbers (NaN is left out), time_ms is that
-- of the last.
CREATE TABLE IF NOT EXISTS buckets(series INTEGER, attempt INTEGER, level INTEGER, bucket INTEGER,
    first_step INTEGER, last_step INTEGER, count INTEGER, minimum REAL, maximum REAL, sum REAL,
    last REAL, time_ms INTEGER, PRIMARY KEY(series, attempt, level, bucket)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS closures(id INTEGER PRIMARY KEY, attempt INTEGER, step INTEGER,
    issued_ms INTEGER, delivered_ms INTEGER, name TEXT, payload TEXT);

CREATE TABLE IF NOT EXISTS checkpoints(id INTEGER PRIMARY KEY, attempt INTEGER, step INTEGER,
    time_ms INTEGER, path TEXT, bytes INTEGER, digest TEXT, write_ms INTEGER, verified INTEGER,
    deleted INTEGER);

CREATE TABLE IF NOT EXISTS logs(id INTEGER PRIMARY KEY, time_ms INTEGER, role TEXT, rank INTEGER,
    level TEXT, message TEXT);

-- What live readers are told, in order; old ones of frequent types are removed.
CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ms INTEGER, type TEXT,
    payload TEXT);

CREATE TABLE IF NOT EXISTS tensors(id INTEGER PRIMARY KEY, attempt INTEGER, name TEXT, scope TEXT,
    op TEXT, kind TEXT, source_dtype TEXT, dtype TEXT, backward INTEGER, file TEXT, line INTEGER);

CREATE TABLE IF NOT EXISTS numerics(tensor INTEGER, attempt INTEGER, step INTEGER, count INTEGER,
    nan INTEGER, inf INTEGER, saturated INTEGER, flushed INTEGER, zeros INTEGER,
    absorbed INTEGER, max_exponent INTEGER, first_microbatch INTEGER, digest BLOB, histogram BLOB,
    PRIMARY KEY(tensor, attempt, step)) WITHOUT ROWID;
-- The few rows that are looked for among the many; readers ask by this very condition.
CREATE INDEX IF NOT EXISTS numerics_bad ON numerics(step, attempt, tensor)
    WHERE nan > 0 OR inf > 0 OR saturated > 0;

-- What each process did in sampled steps; clock of the run's host.
CREATE TABLE IF NOT EXISTS timeline(attempt INTEGER, step INTEGER, process TEXT, kind TEXT,
    start_ns INTEGER, end_ns INTEGER);
CREATE INDEX IF NOT EXISTS timeline_by_step ON timeline(attempt, step);

-- How long the kernels of the plan took each process in sampled steps; `kernel` is the index of the
-- group in graph.training.json, a call a microbatch, the step, or a stretch of an update's lines.
CREATE TABLE IF NOT EXISTS kernels(attempt INTEGER, step INTEGER, process TEXT, kernel INTEGER,
    calls INTEGER, total_ns INTEGER, min_ns INTEGER, median_ns INTEGER);
CREATE INDEX IF NOT EXISTS kernels_by_step ON kernels(attempt, step);

CREATE TABLE IF NOT EXISTS topology(time_ms INTEGER PRIMARY KEY, payload TEXT);

CREATE TABLE IF NOT EXISTS artefacts(name TEXT PRIMARY KEY, time_ms INTEGER, media_type TEXT,
    content BLOB) WITHOUT ROWID;
