/* Made-up answers about several runs: the table of experiments, and runs beside each other. */

const LR = "trainer.init.optimizer.SGD.lr";
const HIDDEN = "trainer.init.model.hidden_sizes";

/* What a run has, by name. */
function valuesOf(job, i) {
  return {
    [LR]: 0.1 / (i + 1),
    [HIDDEN]: `[${256 << (i % 3)}, 128]`,
    ...job.labels,
    loss: job.progress.loss,
    "min(loss)": job.progress.minimum_loss,
    "min(val_loss)": job.progress.minimum_loss && job.progress.minimum_loss * 1.05,
    val_loss: job.progress.loss === null ? null : job.progress.loss * 1.07,
    state: job.state,
  };
}

const numbersOf = (values) => values.filter((value) => typeof value === "number");

function figuresOf(values) {
  const numbers = numbersOf(values);
  if (numbers.length === 0) return null;
  const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const squares = numbers.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return {
    mean,
    deviation: numbers.length > 1 ? Math.sqrt(squares / (numbers.length - 1)) : null,
    minimum: Math.min(...numbers),
    maximum: Math.max(...numbers),
    count: numbers.length,
  };
}

function groupsOf(runs, columns, by) {
  const groups = new Map();
  for (const run of runs) {
    const key = by.map((name) => run.all[name] ?? null);
    const text = JSON.stringify(key);
    groups.set(text, [...(groups.get(text) ?? []), run]);
  }
  return [...groups].map(([key, own]) => ({
    key: JSON.parse(key),
    count: own.length,
    columns: columns.map((name) => figuresOf(own.map((run) => run.all[name]))),
  }));
}

function inOrder(sort) {
  const name = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  return (a, b) => {
    const [x, y] = [a.all[name] ?? null, b.all[name] ?? null];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return (x < y ? -1 : x > y ? 1 : 0) * sign;
  };
}

/** What GET /api/v1/experiments says of these jobs. */
export function experimentsOf(jobs, query) {
  const labels = [...new Set(jobs.flatMap((job) => Object.keys(job.labels)))];
  const runs = jobs.map((job, i) => ({ job, all: valuesOf(job, i) }));
  const columns = query.get("columns")?.split(",") ?? [LR, HIDDEN, ...labels, "loss", "val_loss"];
  const baseline = runs.find(({ job }) => job.id === query.get("baseline"));
  const rowOf = ({ job, all }) => ({
    id: job.id,
    name: job.name,
    state: job.state,
    values: columns.map((name) => all[name] ?? null),
  });
  const deltaOf = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : null);
  const deltasOf = ({ all }) => columns.map((name) => deltaOf(all[name], baseline.all[name]));
  if (query.has("sort")) runs.sort(inOrder(query.get("sort")));
  const by = query.get("group_by")?.split(",");
  return {
    total: runs.length,
    columns,
    names: {
      settings: ["trainer.init.seed", LR, HIDDEN],
      labels,
      series: ["loss", "val_loss", "samples_per_second"],
      differing: [LR, HIDDEN, ...labels],
    },
    rows: runs.map((run) => ({
      ...rowOf(run),
      ...(baseline ? { deltas: deltasOf(run) } : {}),
    })),
    groups: by ? groupsOf(runs, columns, by) : null,
    baseline: baseline ? rowOf(baseline) : null,
  };
}

const plugin = (kind, name, digit) => ({
  kind,
  name,
  library: `/srv/plugins/${name}.so`,
  digest: `5e8f0c${digit}`.padEnd(64, "a"),
});

/** What GET /api/v1/jobs/ID/compiled says. */
export function compiledOf(i, part) {
  const lines = Array.from({ length: 60 }, (_, n) => `    v${n} = a[${n}] * b[${n}];`);
  if (part === "plan") lines[10] = `    matmul: float32 [16, 32]  at replica+${4096 * i}`;
  lines[30] =
    i % 2 ? '    y = x / (1 + expf(-x)); /* </script> & "quoted" */' : "    y = x < 0 ? 0 : x;";
  return { text: `${lines.join("\n")}\n`, missing: null };
}

/** What GET /api/v1/comparison says of them. */
export function comparisonOf(jobs) {
  const settings = [
    { path: LR, changes_bits: true, values: jobs.map((_, i) => String(0.1 / (i + 1))) },
    {
      path: "trainer.init.backend.cluster_config.num_csx",
      changes_bits: false,
      values: jobs.map((_, i) => (i === 0 ? null : String(i))),
    },
  ];
  const origins = [
    {
      path: "build of csengine",
      changes_bits: true,
      values: jobs.map((_, i) => (i === 0 ? null : `137c680b7033${i % 2}`)),
    },
  ];
  return {
    settings,
    origins,
    runs: jobs.map(({ id, name, state, batch_size }, i) => ({
      id,
      name,
      state,
      batch_size,
      plugins:
        i === 2
          ? null
          : [
              plugin("optimizer", "damped", `${i % 2}`),
              plugin("op", "swish_of_ours", "7"),
              ...(i === 1 ? [plugin("metric", "top_3", "b")] : []),
            ],
      bits:
        i === 0
          ? null
          : { common: 41, same_to: 40, differs_at: 41, differs_in: i % 2 ? "states" : "samples" },
    })),
  };
}

/* The series of a run over the same steps as that of all others. */
const LAST = 400;
const RANGES = 100;
const valueAt = (i, name, step) =>
  (name.startsWith("val_") ? 1.05 : 1) * (2.3 * Math.exp(-step / (120 + 20 * i)) + 0.1 * i);

/** What GET /api/v1/curves says of them. */
export function curvesOf(jobs, query) {
  const names = (query.get("names") ?? "").split(",").filter((name) => /^(val_)?loss$/.test(name));
  const steps = Array.from({ length: RANGES }, (_, i) => ((i + 1) * LAST) / RANGES);
  const by = query.has("but") ? [LR] : (query.get("group_by")?.split(",") ?? null);
  const groups = new Map();
  jobs.forEach((job, i) => {
    const key = by && [by[0] === LR ? 0.1 / ((i % 2) + 1) : (job.labels[by[0]] ?? null)];
    const text = key ? JSON.stringify(key) : job.id;
    groups.set(text, { key, members: [...(groups.get(text)?.members ?? []), i] });
  });
  const all = [...groups.values()];
  const valuesOf = (name, { members }) => {
    const figures = steps.map((step) => figuresOf(members.map((i) => valueAt(i, name, step))));
    const column = (member) => figures.map((one) => one[member]);
    const values = { runs: members.length, not_finite: 0, mean: column("mean") };
    if (!by) return values;
    const more = ["deviation", "minimum", "maximum", "count"];
    return { ...values, ...Object.fromEntries(more.map((one) => [one, column(one)])) };
  };
  return {
    total: jobs.length,
    width: LAST / RANGES,
    names: ["loss", "val_loss"],
    by,
    runs: jobs.map(({ id, name, state }) => ({ id, name, state })),
    lines: all.map(({ key, members }) => ({
      key,
      runs: members.map((i) => jobs[i].id),
      batch_size: 64,
    })),
    series: names.map((name) => ({
      name,
      step: steps.map((step) => step - LAST / RANGES + 1),
      last_step: steps,
      lines: all.map((one) => valuesOf(name, one)),
    })),
  };
}
