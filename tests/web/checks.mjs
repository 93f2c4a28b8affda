/* Counts what held and what did not; the exit code says it.
 *
 * Limits in time are those of a machine that has nothing else to do. Where other processes take the
 * processors away, a limit is stretched by as much as a fixed piece of work takes longer than its
 * processor time, and the line says so. */

const SPIN_MS = 60;

/* Elapsed time of a busy loop over its processor time: 1 on an idle machine. */
function slowdown() {
  const cpu = process.cpuUsage();
  const start = performance.now();
  while (true) {
    const { user, system } = process.cpuUsage(cpu);
    if ((user + system) / 1000 >= SPIN_MS) break;
  }
  const { user, system } = process.cpuUsage(cpu);
  return Math.max(1, ((performance.now() - start) * 1000) / (user + system));
}

export class Checks {
  passed = 0;
  failed = [];

  that(holds, what, more = "") {
    if (holds) this.passed++;
    else {
      this.failed.push(what);
      console.log(
        `FAILED: ${what}${more ? `\n    ${String(more).replaceAll("\n", "\n    ")}` : ""}`,
      );
    }
  }

  /** A measured value with the most it may be. */
  figure(what, value, limit, unit) {
    console.log(
      `${what}: ${Number(value.toPrecision(4))} ${unit} (at most ${limit})`,
    );
    this.that(value <= limit, `${what}: at most ${limit} ${unit}`, `${value}`);
  }

  /** Measures, again when it took too long: `take` gives milliseconds, or with `least` a rate. */
  async timed(what, take, { most, least, unit = "ms", tries = 3 }) {
    let best = null;
    let slack = 1;
    const holds = () =>
      most !== undefined ? best <= most * slack : best >= least / slack;
    for (let i = 0; i < tries && (best === null || !holds()); i++) {
      slack = slowdown();
      const value = await take();
      slack = Math.max(slack, slowdown());
      best =
        best === null
          ? value
          : most !== undefined
            ? Math.min(best, value)
            : Math.max(best, value);
    }
    const limit = most !== undefined ? `at most ${most}` : `at least ${least}`;
    const busy =
      slack > 1.1
        ? `; the machine is ${slack.toFixed(1)} times slower than when idle`
        : "";
    console.log(
      `${what}: ${Number(best.toPrecision(4))} ${unit} (${limit}${busy})`,
    );
    this.that(holds(), `${what}: ${limit} ${unit}`, `${best}`);
  }

  end() {
    console.log(`${this.passed} checks held, ${this.failed.length} failed`);
    process.exit(this.failed.length === 0 ? 0 : 1);
  }
}
