/* Made-up curves with the pyramid of buckets that the run store keeps: level k holds 8^k points a
 * bucket. A curve is a function of the step, so that millions of points cost nothing until asked.
 */

function noise(seed, step) {
  let x = (Math.imul(step, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b)) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d) >>> 0;
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39) >>> 0;
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32 - 0.5;
}

const shapes = {
  loss: (seed, s) => 0.35 + 5.2 / (1 + s / (300 + 40 * seed)) ** 0.5 + 0.25 * noise(seed, s),
  val_loss: (seed, s) => 0.5 + 5.3 / (1 + s / (300 + 40 * seed)) ** 0.5 + 0.05 * noise(seed, s),
  "lr/0": (seed, s) => (s < 200 ? s / 200 : 0.5 + 0.5 * Math.cos(s / 40000)) * 1e-3 + 1e-9,
  loss_scale: (seed, s) => 2 ** (12 + Math.floor((s % 8000) / 2000)),
  gradient_norm: (seed, s) => 0.8 + 2 / (1 + s / 500) + 0.5 * Math.abs(noise(seed + 7, s)),
  samples_per_second: (seed, s) => 2400 + 300 * noise(seed + 3, s),
  /* What a chart must not get wrong. */
  one_point: () => 0.75,
  constant: () => 0.1,
  with_nan: (seed, s) => (s >= 40 && s < 43 ? NaN : 3 / (1 + s / 20)),
  with_zeros: (seed, s) => (s % 50 === 10 ? 0 : 2.5 / (1 + s / 10)),
  tokens_per_second: (seed, s) => 64 * (2400 + 300 * noise(seed + 3, s)),
};

function shapeOf(name) {
  const known = shapes[name];
  if (known) return known;
  const phase = [...name].reduce((sum, c) => sum + c.charCodeAt(0), 0);
  return (seed, s) => Math.sin(s / (5000 + 37 * phase)) + 0.4 * noise(seed + phase, s);
}

/** Steps [first, last] of a series at every `stride`, started at `start_ms`, `rate` steps a
 * second. */
export class MadeUpSeries {
  constructor({ name, attempt, seed, first, last, stride = 1, start_ms, rate }) {
    Object.assign(this, {
      name,
      attempt,
      seed,
      first,
      last,
      stride,
      start_ms,
      rate,
    });
    this.shape = shapeOf(name);
    this.levels = new Map();
  }

  value(step) {
    return this.shape(this.seed, step);
  }

  time(step) {
    return Math.round(this.start_ms + ((step - this.first) / this.rate) * 1000);
  }

  get count() {
    return this.last < this.first ? 0 : Math.floor((this.last - this.first) / this.stride) + 1;
  }

  buckets(level) {
    const known = this.levels.get(level);
    if (known && known.last === this.last) return known;
    const size = 8 ** level;
    const made = {
      last: this.last,
      step: [],
      last_step: [],
      value: [],
      minimum: [],
      maximum: [],
      mean: [],
    };
    for (let at = 0; at < this.count; at += size) {
      const end = Math.min(this.count, at + size);
      let low = Infinity,
        high = -Infinity,
        sum = 0,
        value = 0;
      for (let i = at; i < end; i++) {
        value = this.value(this.first + i * this.stride);
        if (value < low) low = value;
        if (value > high) high = value;
        sum += value;
      }
      made.step.push(this.first + at * this.stride);
      made.last_step.push(this.first + (end - 1) * this.stride);
      made.value.push(value);
      made.minimum.push(low);
      made.maximum.push(high);
      made.mean.push(sum / (end - at));
    }
    this.levels.set(level, made);
    return made;
  }

  /** As GET /metrics answers: at most `most` rows of the steps [from, to]. */
  query(from, to, most) {
    const low = Math.max(0, Math.ceil((from - this.first) / this.stride));
    const high = Math.min(this.count - 1, Math.floor((to - this.first) / this.stride));
    const count = Math.max(0, high - low + 1);
    let level = 0;
    while (count / 8 ** level > most) level++;
    const head = { name: this.name, attempt: this.attempt, level, count };
    if (level === 0) {
      const step = Array.from({ length: count }, (_, i) => this.first + (low + i) * this.stride);
      return {
        ...head,
        step,
        time_ms: step.map((s) => this.time(s)),
        value: step.map((s) => this.value(s)),
      };
    }
    const all = this.buckets(level);
    const a = Math.floor(low / 8 ** level);
    const b = Math.floor(high / 8 ** level) + 1;
    const cut = (column) => column.slice(a, b);
    return {
      ...head,
      step: cut(all.step),
      last_step: cut(all.last_step),
      time_ms: cut(all.last_step).map((step) => this.time(step)),
      value: cut(all.value),
      minimum: cut(all.minimum),
      maximum: cut(all.maximum),
      mean: cut(all.mean),
    };
  }
}
