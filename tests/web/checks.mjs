/* Counts what held and what did not; the exit code says it.
 *
 * Limits in time are those of a machine that has nothing else to do, and the benchmarks, which run
 * alone, hold them as they are (CSE_TIME_LIMITS=strict). Beside other tests a limit is ten times as
 * wide: it finds what has become slow by a mistake, not what had to wait for a processor. */

const SLACK = process.env.CSE_TIME_LIMITS === "strict" ? 1 : 10;

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
    console.log(`${what}: ${Number(value.toPrecision(4))} ${unit} (at most ${limit})`);
    this.that(value <= limit, `${what}: at most ${limit} ${unit}`, `${value}`);
  }

  /** Measures, again when it took too long: `take` gives milliseconds, or with `least` a rate. */
  async timed(what, take, { most, least, unit = "ms", tries = 3 }) {
    const better = most !== undefined ? Math.min : Math.max;
    const holds = (value) => (most !== undefined ? value <= most * SLACK : value >= least / SLACK);
    let best = await take();
    for (let i = 1; i < tries && !holds(best); i++) best = better(best, await take());
    const limit = most !== undefined ? `at most ${most}` : `at least ${least}`;
    const wide = SLACK > 1 ? `, here ${SLACK} times as wide` : "";
    console.log(`${what}: ${Number(best.toPrecision(4))} ${unit} (${limit}${wide})`);
    this.that(holds(best), `${what}: ${limit} ${unit}${wide}`, `${best}`);
  }

  end() {
    console.log(`${this.passed} checks held, ${this.failed.length} failed`);
    process.exit(this.failed.length === 0 ? 0 : 1);
  }
}
