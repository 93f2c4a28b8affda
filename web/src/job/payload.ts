/* What a closure was given, as one line. */
export function payloadText(payload: unknown): string {
  if (payload === null || typeof payload !== "object") return String(payload);
  return Object.entries(payload)
    .map(
      ([key, value]) =>
        `${key} ${typeof value === "number" ? Number(value.toPrecision(6)) : JSON.stringify(value)}`,
    )
    .join("   ");
}
