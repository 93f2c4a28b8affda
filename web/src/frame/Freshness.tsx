/* The line above every page while the server does not answer: since when what is shown is known. */
import { useEffect, useState } from "preact/hooks";
import { silentSince } from "@/api/freshness";
import { duration, time } from "@/base/format";
import { Icon } from "@/components/Icon";
import { Say } from "@/components/parts";

export function Freshness() {
  const since_ms = silentSince.value;
  const [now_ms, setNow] = useState(Date.now());
  useEffect(() => {
    if (since_ms === null) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [since_ms]);
  if (since_ms === null) return null;
  return (
    <div class="banner bad stale" role="status">
      <Icon name="warn" />
      <span>
        The server does not answer. What is shown is of{" "}
        <Say what="known-since" value={since_ms}>
          {time(since_ms)}
        </Say>
        , {duration(Math.max(0, now_ms - since_ms) / 1000)} ago.
      </span>
    </div>
  );
}
