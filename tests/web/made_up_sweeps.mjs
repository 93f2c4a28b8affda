/* A made-up sweep by halving: eight trials of two settings, of which four went on and one failed. */
const RATES = [0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.6, 1];

const state = (i) => (i === 7 ? "failed" : i < 4 ? "done" : "stopped");
const trials = RATES.map((rate, i) => ({
  trial: i + 1,
  state: state(i),
  rung: i < 4 ? 1 : 0,
  steps: i < 4 ? 900 : 300,
  step: null,
  value: i === 7 ? null : 0.4 + 0.05 * Math.abs(i - 2),
  message: i === 7 ? "the loss is not finite" : null,
  job: `sweep-${i}`,
  settings: [String(rate), String(16 << (i % 3))],
}));
const rung = (steps, numbers) => ({
  steps,
  planned: numbers.length,
  tried: numbers.length,
  failed: numbers.includes(8) ? 1 : 0,
  trials: numbers,
});

export const SWEEP = {
  name: "rates",
  label: "rates",
  method: "halving",
  metric: "val_loss",
  goal: "min",
  state: "complete",
  updated_ms: 1.76e12,
  unreadable: 0,
  trial_count: 8,
  tried: 8,
  failed: 1,
  by_server: true,
  wanted: false,
  message: null,
  best: 3,
  best_value: 0.4,
  parameters: [
    { path: "optimizer.SGD.lr", kind: "log_uniform", low: 0.001, high: 1, values: null },
    {
      path: "model.hidden_sizes",
      kind: "choice",
      low: null,
      high: null,
      values: ["16", "32", "64"],
    },
  ],
  config: "configs/synthetic.yaml",
  seed: 1,
  settings: [],
  rung: null,
  next: null,
  rungs: [rung(300, [1, 2, 3, 4, 5, 6, 7, 8]), rung(900, [1, 2, 3, 4])],
  history: trials.map((one, i) => ({
    trial: one.trial,
    rung: one.rung,
    steps: one.steps,
    time_ms: 1.76e12 + 60_000 * i,
    value: one.value,
    failed: one.state === "failed",
    best: i < 2 ? 1 : 3,
  })),
  trials,
};

export const SWEEPS = { total: 1, sweeps: [SWEEP], unreadable: [] };
