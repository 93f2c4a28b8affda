/* From the end of a step to the pixel: the time that a metric event carries (taken when the step
 * was committed) against the frame after the first stroke that a chart drew behind the event.
 *
 * The tab that is measured is the one in front; the others are open behind it. */

function probe() {
  window.latencies = [];
  let waiting = null;
  const add = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (type, listener, ...rest) {
    const wrapped =
      type !== "metric"
        ? listener
        : (event) => {
            const { payload } = JSON.parse(event.data);
            const points = Object.values(payload.series)[0];
            if (waiting === null) waiting = points[0][1];
            listener(event);
          };
    return add.call(this, type, wrapped, ...rest);
  };
  const stroke = CanvasRenderingContext2D.prototype.stroke;
  CanvasRenderingContext2D.prototype.stroke = function (...path) {
    if (waiting !== null) {
      const since = waiting;
      waiting = null;
      requestAnimationFrame(() => setTimeout(() => window.latencies.push(Date.now() - since), 0));
    }
    return stroke.apply(this, path);
  };
}

/* Tabs of one window hide each other, which headless Chromium does not do by itself. */
function hide() {
  Object.defineProperty(document, "hidden", { get: () => true });
  Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
  addEventListener("load", () => document.dispatchEvent(new Event("visibilitychange")));
}

/* A machine that is busy with other things opens twenty tabs slowly. */
const OPENS = { timeout: 120_000 };

export async function measureLatency(context, url, { samples, others }) {
  const tabs = [];
  for (let i = 0; i < others; i++) {
    const tab = await context.newPage();
    await tab.addInitScript(hide);
    await tab.goto(url, OPENS);
    tabs.push(tab);
  }
  const page = await context.newPage();
  await page.addInitScript(probe);
  await page.goto(url, OPENS);
  await page.bringToFront();
  await page.locator(".stream-status.live").waitFor();
  await page.waitForTimeout(1000);
  await page.evaluate(() => (window.latencies.length = 0));
  await page.waitForFunction((n) => window.latencies.length >= n, samples, OPENS);
  const found = (await page.evaluate(() => window.latencies)).sort((a, b) => a - b);
  await page.close();
  await Promise.all(tabs.map((tab) => tab.close()));
  const at = (share) => found[Math.min(found.length - 1, Math.floor(share * found.length))];
  return { median: at(0.5), p99: at(0.99), most: at(1), samples: found.length };
}
