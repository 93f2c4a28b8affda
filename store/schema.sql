-- The run store: configuration, state and history of a run, in model_dir/run.db. See store/store.h.
-- Times are Unix milliseconds unless the name ends in _ns. `attempt` counts the starts of a run from 1.

-- Properties of the run and its current attempt; the keys are listed in store/store.h.
CREATE TABLE IF NOT EXISTS run(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;

-- Every change of state, in order; the last row is the current state.
CREATE TABLE IF NOT EXISTS transitions(seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,
    from_state TEXT, to_state TEXT NOT NULL, reason TEXT, message TEXT, attempt INTEGER NOT NULL);

CREATE TABLE IF NOT EXISTS series(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);

-- One row a step of each series: steps that are done again take the place of those of earlier
-- attempts. value NULL: not a number.
CREATE TABLE IF NOT EXISTS points(series INTEGER, attempt INTEGER, step INTEGER, time_ms INTEGER,
    value REAL, PRIMARY KEY(series, attempt, step)) WITHOUT ROWID;

-- Points that were left: somebody started the run again from before their steps.
CREATE TABLE IF NOT EXISTS superseded(series INTEGER, attempt INTEGER, step INTEGER, time_ms INTEGER,
    value REAL, PRIMARY KEY(series, attempt, step)) WITHOUT ROWID;

-- Bucket b of level k holds the points 8^k * b to 8^k * (b + 1) - 1 of a series, in the order of
-- arrival; minimum, maximum and sum are those of the finite ones; time_ms is that of the last point.
CREATE TABLE IF NOT EXISTS buckets(series INTEGER, attempt INTEGER, level INTEGER, bucket INTEGER,
    first_step INTEGER, last_step INTEGER, count INTEGER, minimum REAL, maximum REAL, sum REAL,
    last REAL, time_ms INTEGER, finite INTEGER, PRIMARY KEY(series, attempt, level, bucket)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS closures(id INTEGER PRIMARY KEY, attempt INTEGER, step INTEGER,
    issued_ms INTEGER, delivered_ms INTEGER, name TEXT, payload TEXT);

CREATE TABLE IF NOT EXISTS checkpoints(id INTEGER PRIMARY KEY, attempt INTEGER, step INTEGER,
    time_ms INTEGER, path TEXT, bytes INTEGER, digest TEXT, write_ms INTEGER, verified INTEGER,
    deleted INTEGER);

-- `host` NULL: of a run of one host, or before the hosts were known. Ids follow the order in which lines
-- reach the leading host.
CREATE TABLE IF NOT EXISTS logs(id INTEGER PRIMARY KEY, time_ms INTEGER, role TEXT, rank INTEGER,
    level TEXT, message TEXT, host TEXT);

-- The published events, in order; old ones of frequent types are removed.
CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ms INTEGER, type TEXT,
    payload TEXT);

CREATE TABLE IF NOT EXISTS tensors(id INTEGER PRIMARY KEY, attempt INTEGER, name TEXT, scope TEXT,
    op TEXT, kind TEXT, source_dtype TEXT, dtype TEXT, backward INTEGER, file TEXT, line INTEGER);

CREATE TABLE IF NOT EXISTS numerics(tensor INTEGER, attempt INTEGER, step INTEGER, count INTEGER,
    nan INTEGER, inf INTEGER, saturated INTEGER, flushed INTEGER, zeros INTEGER,
    absorbed INTEGER, max_exponent INTEGER, first_microbatch INTEGER, digest BLOB, histogram BLOB,
    PRIMARY KEY(tensor, attempt, step)) WITHOUT ROWID;
-- Partial index of the rare bad rows; queries must repeat this condition to use it.
CREATE INDEX IF NOT EXISTS numerics_bad ON numerics(step, attempt, tensor)
    WHERE nan > 0 OR inf > 0 OR saturated > 0;

-- What each process did in sampled steps; clock of the run's host.
CREATE TABLE IF NOT EXISTS timeline(attempt INTEGER, step INTEGER, process TEXT, kind TEXT,
    start_ns INTEGER, end_ns INTEGER);
CREATE INDEX IF NOT EXISTS timeline_by_step ON timeline(attempt, step);

-- Kernel times by process in sampled steps; `kernel` is the index of the group in
-- graph.training.json; one call is a microbatch, the step, or a range of lines of an update.
CREATE TABLE IF NOT EXISTS kernels(attempt INTEGER, step INTEGER, process TEXT, kernel INTEGER,
    calls INTEGER, total_ns INTEGER, min_ns INTEGER, median_ns INTEGER);
CREATE INDEX IF NOT EXISTS kernels_by_step ON kernels(attempt, step);

CREATE TABLE IF NOT EXISTS topology(time_ms INTEGER PRIMARY KEY, payload TEXT);

-- Where the time of each attempt went, from start_ms to time_ms: the bins add up to it.
CREATE TABLE IF NOT EXISTS goodput(attempt INTEGER PRIMARY KEY, start_ms INTEGER, time_ms INTEGER,
    starting_ms INTEGER, compute_ms INTEGER, input_ms INTEGER, update_ms INTEGER,
    communication_ms INTEGER, save_ms INTEGER, validation_ms INTEGER, recovery_ms INTEGER,
    paused_ms INTEGER, idle_ms INTEGER);

-- The chain of digests (run/session/step_chain.h), a row a step of training; and from which step on
-- what else enters it: `links`, and the chain before that step.
CREATE TABLE IF NOT EXISTS chain(step INTEGER PRIMARY KEY, attempt INTEGER, states BLOB,
    samples BLOB, chain BLOB);
CREATE TABLE IF NOT EXISTS links(step INTEGER PRIMARY KEY, attempt INTEGER, before BLOB,
    links TEXT);

CREATE TABLE IF NOT EXISTS artefacts(name TEXT PRIMARY KEY, time_ms INTEGER, media_type TEXT,
    content BLOB) WITHOUT ROWID;
