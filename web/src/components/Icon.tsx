/* Line icons on a 16-unit grid, drawn in the colour of the text beside them. They repeat what the
 * text says, so that they are hidden from screen readers. */

const PATHS = {
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  experiments: "M2.5 3h11v10h-11zM2.5 6.2h11M2.5 9.6h11M6.3 3v10M10 3v10",
  compare: "M2.5 2.5v11h11M4.5 11l3-4 2.5 2 3-5M4.5 7l3 3 5.5-1",
  sweeps: "M2.5 3H6v4H2.5M2.5 9H6v4H2.5M6 5h3.5v6H6M9.5 8h4",
  submit: "M8 13V3.5M4.5 7 8 3.5 11.5 7M3 13h10",
  machine:
    "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14",
  cluster: "M3 3h10v4H3zM3 9h10v4H3zM5.5 5h.01M5.5 11h.01",
  pulse: "M1.5 8.5h3l2-5 3 9 2-4h3",
  topology: "M8 2.5v3M8 5.5 3.5 10M8 5.5l4.5 4.5M2 10h3v3H2zM11 10h3v3h-3zM6.5 2h3v3h-3z",
  graph: "M3 3h4v3H3zM9 10h4v3H9zM5 6v3.5a2 2 0 0 0 2 2h2",
  curves: "M2.5 2.5v11h11M4.5 10c3 0 2-5 4.5-5s2 3 4.5 3",
  numerics: "M2.5 13.5h11M4 13V9M7 13V4M10 13V6.5M13 13v-2",
  tensors: "M2.5 2.5h11v11h-11zM6.2 2.5v11M9.8 2.5v11M2.5 6.2h11M2.5 9.8h11",
  samples: "M2.5 3h11v10h-11zM2.5 10.5l3-3 2.5 2.5 2-2 3.5 3.5M10.5 5.5h.01",
  data: "M8 2.5c3 0 5 .8 5 2s-2 2-5 2-5-.8-5-2 2-2 5-2M3 4.5v7c0 1.2 2 2 5 2s5-.8 5-2v-7M3 8c0 1.2 2 2 5 2s5-.8 5-2",
  closures: "M3 3.5h10v7H7L4 13.5v-3H3z",
  checkpoints: "M3 2.5h8l2.5 2.5v8.5H3zM5 2.5v4h5v-4M5.5 13.5v-4h5v4",
  timeline: "M2 4h6M5 8h7M9 12h5",
  logs: "M3 2.5h10v11H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
  config: "M2.5 4.5h7M12.5 4.5h1M2.5 11.5h1M6.5 11.5h7M11 3v3M5 10v3",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.5v9l7-4.5z",
  save: "M8 2.5v7.5M5 7.5l3 3 3-3M3 13.5h10",
  stop: "M4 4h8v8H4z",
  kill: "M4 4l8 8M12 4l-8 8",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  sun:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5" +
    "M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  moon: "M13 9.8A5.6 5.6 0 0 1 6.2 3a5.6 5.6 0 1 0 6.8 6.8z",
  auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5l3 3",
  download: "M8 2.5V10M4.8 7 8 10.2 11.2 7M3 13.5h10",
  fork: "M4.5 2.5v11M4.5 9c4 0 7-1 7-4.5V2.5M9.5 4.5l2-2 2 2",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3.2L13 4.8",
  warn: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.01",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 7.5v3.5M8 5v.01",
  help:
    "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M6.3 6.3a1.8 1.8 0 1 1 2.4 1.8c-.5.2-.7.5-.7 1.1" +
    "M8 11v.01",
  pin: "M6 2.5h4l-.6 4 2.1 2.5h-7L6.6 6.5zM8 9v4.5",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.5V8l2.3 1.5",
  edit: "M3 13l.7-3 7-7 2.3 2.3-7 7zM9.2 4.5l2.3 2.3",
  bin: "M3 4.5h10M6 4.5V2.5h4v2M4.5 4.5l.6 9h5.8l.6-9M7 7v4M9 7v4",
  leave: "M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  wrap: "M2.5 4h11M2.5 8h8.5a2 2 0 0 1 0 4H8M9.5 10.3 7.8 12l1.7 1.7M2.5 12h3",
  dots: "M4 8h.01M8 8h.01M12 8h.01",
  scale: "M2.5 11V8.5h3V11zM2.5 13.5h11M7.5 11V5.5h3V11zM13 11V2.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
