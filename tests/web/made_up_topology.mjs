/* A made-up sample of a run's processes, in the shape that the API describes: `replicas` with
 * `workers` input workers each, `servers` weight servers. The input workers are the bottleneck.
 *
 * `fates` says what has become of processes: { "replica 1": { state: "lost", incarnation: 1 } }. */

const RING_STEPS = 2;
const RATE = 24.4;

const shareOf = (microbatches, replicas, replica) => [
  Math.floor((replica * microbatches) / replicas),
  Math.floor(((replica + 1) * microbatches) / replicas),
];

function ownerOf(microbatches, replicas, microbatch) {
  for (let r = 0; r < replicas; r++)
    if (microbatch < shareOf(microbatches, replicas, r)[1]) return r;
  return replicas - 1;
}

/* As workers/hosts/reduction_tree.c: how many nodes cover a replica's share. */
function cover(first, size, from, to) {
  if (first >= to || first + size <= from) return 0;
  if (first >= from && first + size <= to) return 1;
  let split = 1;
  while (split * 2 < size) split *= 2;
  return cover(first, split, from, to) + cover(first + split, size - split, from, to);
}

/* `hosts`: the members of each that differ from those of a host that is well. */
function madeUpHosts(hosts, wave) {
  const process = (role, name, rank, busy) => ({
    name: `${name} ${rank}`,
    role,
    rank,
    pid: 100 + rank,
    incarnation: 1,
    state: "running",
    busy,
    idle: 1 - busy,
    back_pressured: 0,
  });
  return hosts.map((own, i) => ({
    name: `n${i + 1}`,
    state: "present",
    leads: i === 0,
    connected: true,
    why: "",
    steps_done: 100,
    losses: 0,
    returns_ms: null,
    report_age_ms: 200,
    exposed: 0.3 - 0.02 * i,
    slowest: false,
    processes:
      own.state === "lost"
        ? []
        : [
            process("replica", "replica", 0, 0.7),
            process("replica", "replica", 1, 0.6 + 0.1 * wave(i)),
            process("input_worker", "input worker", 0, 0.2),
            process("mover", "mover", 0, 0.4),
          ],
    links:
      own.state === "lost"
        ? []
        : hosts.flatMap((_, other) =>
            other === i
              ? []
              : {
                  to: `n${other + 1}`,
                  frames_per_second: 130,
                  mb_sent_per_second: 17 + i,
                  mb_received_per_second: 17 + other,
                  bytes_sent: 1e9,
                  bytes_received: 1e9,
                  reconnects: 0,
                  retransmits: i + other,
                  refused: 0,
                },
          ),
    ...own,
  }));
}

export function madeUpTopology({
  replicas = 2,
  workers = 1,
  servers = 2,
  microbatches = Math.max(4, replicas),
  time_ms,
  step = 100,
  filled = 0.25,
  fates = {},
  hosts = [],
}) {
  const wave = (phase) => 0.5 + 0.5 * Math.sin(time_ms / 3000 + phase);
  const all = replicas * workers;
  const places = RING_STEPS * microbatches;
  const processes = [];
  const add = (role, name, rank, busy, idle, more = {}) => {
    const fate = fates[`${name} ${rank}`] ?? {};
    const isLost = fate.state === "lost";
    processes.push({
      name: role === "coordinator" ? name : `${name} ${rank}`,
      role,
      rank,
      pid: isLost ? null : 4700 + processes.length,
      incarnation: 1,
      state: "running",
      busy: isLost ? 0 : busy,
      idle: isLost ? 1 : idle,
      back_pressured: isLost ? 0 : Math.max(0, 1 - busy - idle),
      input_wait: 0,
      ...more,
      ...fate,
    });
  };
  add("coordinator", "coordinator", 0, 0.06, 0.94);
  for (let r = 0; r < replicas; r++) {
    const [first, end] = shareOf(microbatches, replicas, r);
    const fed_by = new Set();
    for (let q = step * microbatches; q < step * microbatches + places; q++)
      if (ownerOf(microbatches, replicas, q % microbatches) === r) fed_by.add(q % all);
    const idle = 0.4 - 0.06 * wave(r);
    add("replica", "replica", r, 0.98 - idle, idle, {
      input_wait: 0.8 * idle,
      step: step + 1,
      microbatch: first + (step % (end - first)),
      fed_by: [...fed_by].sort((a, b) => a - b),
    });
  }
  for (let s = 0; s < servers; s++) add("weight_server", "weight server", s, 0.31, 0.62);
  for (let w = 0; w < all; w++) {
    const q = (step + 1) * microbatches + (w % microbatches);
    add("input_worker", "input worker", w, 0.94 + 0.03 * wave(w), 0.02, {
      step: step + 2,
      microbatch: q % microbatches,
      epoch: 1 + Math.floor(step / 234),
      sample: (q * 64) % 60_000,
    });
  }
  const streams = [];
  const stream = (name, from, to, payload, depth, capacity, mb_per_second) =>
    streams.push({
      name,
      from,
      to,
      payload,
      depth,
      capacity,
      credits: capacity === null ? null : capacity - depth,
      mb_per_second,
    });
  const images = "images float32, labels int32";
  for (let w = 0; w < all; w++) {
    const own = Math.ceil((places - w) / all);
    stream(
      "input ring",
      `input worker ${w}`,
      "input ring",
      images,
      Math.floor(own * filled),
      own,
      RATE / all,
    );
  }
  for (let r = 0; r < replicas; r++) {
    const [first, end] = shareOf(microbatches, replicas, r);
    const own = RING_STEPS * (end - first);
    stream(
      "microbatches",
      "input ring",
      `replica ${r}`,
      images,
      Math.floor(own * filled),
      own,
      RATE / replicas,
    );
    const nodes = cover(0, microbatches, first, end);
    stream("partial sums", `replica ${r}`, "reduction tree", "bfloat16, stochastic", 0, nodes, 206);
  }
  const updaters = servers > 0 ? servers : replicas;
  for (let u = 0; u < updaters; u++) {
    const name = `${servers > 0 ? "weight server" : "replica"} ${u}`;
    stream("reduced sums", "reduction tree", name, "float32", null, null, 412 / updaters);
    stream("weights", name, "replicas", "float32", null, null, 300 / updaters);
  }
  const first = servers > 0 ? "weight server 0" : "replica 0";
  stream("records", first, "coordinator", "float32", 0, 16, 0.4);
  return {
    time_ms,
    step,
    interval_ms: 500,
    steps_per_second: 50,
    microbatches,
    replicas,
    data: {
      input: "idx_images",
      source: "/usr/share/dataset-fashion-mnist/train-images-idx3-ubyte.gz",
      samples: 60_000,
    },
    ring: {
      capacity: places,
      filled: Math.floor(places * filled),
      filling: Math.min(all, places - Math.floor(places * filled)),
    },
    processes,
    streams,
    ...(hosts.length > 0 && { hosts: madeUpHosts(hosts, wave) }),
  };
}
