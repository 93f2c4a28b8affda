/* The arguments of a step closure, as one line. */
export function payloadText(payload: unknown): string {
  if (payload === null || typeof payload !== "object") return String(payload);
  return Object.entries(payload)
    .map(([key, value]) => {
      const text = typeof value === "number" ? Number(value.toPrecision(6)) : JSON.stringify(value);
      return `${key} ${text}`;
    })
    .join("   ");
}
