/* A made-up step graph of a transformer in the form of engine/graph/json.c: as many layers as asked
 * for, with casts, narrow sums, gradients and updates. */

const [REPLICA, WEIGHTS, UPDATE] = [1, 2, 3];
const SPACE = {
  none: 0,
  state: 1,
  input: 2,
  replica: 3,
  partial: 4,
  reduced: 5,
  fetch: 7,
};

class Builder {
  constructor(narrow) {
    this.narrow = narrow;
    this.graph = {
      version: 1,
      microbatch_count: 4,
      micro_batch_size: 3,
      nodes: [],
      states: [],
      inputs: [],
      fetches: [],
      reductions: [],
      groups: [],
      space_bytes: [],
    };
    this.open = null;
  }

  node(op, dtype, shape, inputs, more = {}) {
    const node = {
      op,
      dtype,
      shape,
      inputs,
      integers: [],
      numbers: [],
      backward: false,
      part: REPLICA,
      group: -1,
      space: SPACE.none,
      offset: 0,
      ...more,
    };
    this.graph.nodes.push(node);
    const index = this.graph.nodes.length - 1;
    if (this.open && node.part !== 0) {
      node.group = this.graph.groups.length;
      this.open.nodes.push(index);
    }
    return index;
  }

  kernel(kind, part, build) {
    this.open = { kind, part, nodes: [], elements: 0, first_line: 0 };
    const result = build();
    const last = this.open.nodes[this.open.nodes.length - 1];
    if (last !== undefined && this.graph.nodes[last].space === SPACE.none)
      this.graph.nodes[last].space = SPACE.replica;
    this.graph.groups.push(this.open);
    this.open = null;
    return result;
  }

  state(name, shape) {
    const read = this.node("state", "float32", shape, [], {
      part: 0,
      space: SPACE.state,
      text: name,
      scope: name,
    });
    this.graph.states.push({
      name,
      shape,
      dtype: "float32",
      initializer: 3,
      a: "0x0p+0",
      b: "0x1p-6",
      trainable: true,
      read,
      next: -1,
      offset: 0,
    });
    return read;
  }

  cast(input, dtype, more) {
    const from = this.graph.nodes[input];
    return from.dtype === dtype
      ? input
      : this.node("cast", dtype, from.shape, [input], {
          ...more,
          inserted_cast: true,
        });
  }

  product(x, weight, shape, more) {
    const narrow = this.narrow;
    return this.kernel(2, REPLICA, () => {
      const a = this.cast(x, narrow, more);
      const w = this.cast(weight, narrow, more);
      return this.node("matmul", narrow, shape, [a, w], {
        ...more,
        accumulation: { dtype: "bfloat16", stochastic: false, emulated: false, tile_length: 64 },
      });
    });
  }
}

function layer(b, index, x, hidden, tokens) {
  const scope = (name) => `model.transformer_decoder.layers.${index}.${name}`;
  const parts = [];
  const norm = (name, input) =>
    b.kernel(1, REPLICA, () => {
      const at = { scope: scope(name) };
      const wide = b.cast(input, "float32", at);
      const mean = b.node("sum", "float32", [tokens, 1], [wide], at);
      const scaled = b.node("sub", "float32", [tokens, hidden], [wide, mean], at);
      return b.node("mul", "float32", [tokens, hidden], [scaled], at);
    });
  const dense = (name, input, to, of) => {
    const weight = b.state(`${scope(of)}.${name}.weight`, [to, hidden]);
    parts.push({ weight, scope: scope(of), shape: [to, hidden] });
    return b.product(input, weight, [tokens, to], { scope: scope(of) });
  };
  const n1 = norm("norm1", x);
  const q = dense("proj_q", n1, hidden, "self_attn");
  const k = dense("proj_k", n1, hidden, "self_attn");
  const v = dense("proj_v", n1, hidden, "self_attn");
  const attended = b.kernel(2, REPLICA, () => {
    const at = { scope: scope("self_attn") };
    const s = b.node("matmul", b.narrow, [4, tokens, tokens], [q, k], at);
    const p = b.node("exp", "float32", [4, tokens, tokens], [s], at);
    return b.node("matmul", b.narrow, [tokens, hidden], [p, v], at);
  });
  const out = dense("proj_output", attended, hidden, "self_attn");
  const sum = b.kernel(0, REPLICA, () =>
    b.node("add", b.narrow, [tokens, hidden], [x, out], {
      scope: scope("self_attn"),
    }),
  );
  const n3 = norm("norm3", sum);
  const up = dense("up", n3, 4 * hidden, "ffn");
  const active = b.kernel(0, REPLICA, () =>
    b.node("gelu", b.narrow, [tokens, 4 * hidden], [up], {
      scope: scope("ffn"),
    }),
  );
  const down = dense("down", active, hidden, "ffn");
  const result = b.kernel(0, REPLICA, () =>
    b.node("add", b.narrow, [tokens, hidden], [sum, down], {
      scope: scope("ffn"),
    }),
  );
  return {
    result,
    parts,
    activations: { norm1: n1, self_attn: sum, norm3: n3, ffn: result },
  };
}

function gradients(b, made, error, hidden, tokens, index) {
  let at = error;
  for (const name of ["ffn", "norm3", "self_attn", "norm1"]) {
    const more = {
      scope: `model.transformer_decoder.layers.${index}.${name}`,
      backward: true,
    };
    const before = at;
    at = b.kernel(name.startsWith("norm") ? 1 : 2, REPLICA, () =>
      b.node(
        name.startsWith("norm") ? "mul" : "matmul",
        b.narrow,
        [tokens, hidden],
        [before, made.activations[name]],
        more,
      ),
    );
    for (const part of made.parts.filter((one) => one.scope.endsWith(name)))
      gradient(b, part, before, more);
  }
  return at;
}

function gradient(b, part, error, more) {
  const partial = b.kernel(2, REPLICA, () => {
    const product = b.node("matmul", b.narrow, part.shape, [error], more);
    const wide = b.node("cast", "float32", part.shape, [product], {
      ...more,
      inserted_cast: true,
    });
    return b.node("partial", "float32", part.shape, [wide], {
      ...more,
      space: SPACE.partial,
    });
  });
  const sum = b.node("batch_sum", "float32", part.shape, [], {
    part: 0,
    space: SPACE.reduced,
  });
  b.graph.reductions.push({ partial, sum, offset: 0 });
  const name = b.graph.nodes[part.weight].text;
  const scope = name.replace(/^model\./, "optimizer.");
  b.kernel(0, UPDATE, () => {
    const moved = b.node("mul", "float32", part.shape, [sum], {
      part: UPDATE,
      scope,
    });
    const next = b.node("assign", "float32", part.shape, [part.weight, moved], {
      part: UPDATE,
      scope,
      space: SPACE.state,
      text: name,
    });
    b.graph.states.find((one) => one.name === name).next = next;
    return next;
  });
}

/* Times as a machine would take: so many bytes a nanosecond, less of them in products. The last
 * kernels of a step were not timed. */
export function madeUpKernels(graph, step) {
  const bytes = (index) => {
    const node = graph.nodes[index];
    return node.shape.reduce((all, size) => all * size, 4);
  };
  const kernels = graph.groups.slice(0, -2).map((group, kernel) => {
    const moved = group.nodes.reduce((all, index) => all + bytes(index), 0);
    const calls = group.part === REPLICA ? graph.microbatch_count : 1;
    const median_ns = 300 + Math.round(moved / (group.kind === 2 ? 1.5 : 9));
    return {
      kernel,
      calls,
      processes: group.part === REPLICA ? [0, 1] : [0],
      total_ns: Math.round(calls * median_ns * 1.02),
      min_ns: Math.round(median_ns * 0.97),
      median_ns,
    };
  });
  kernels.sort((a, b) => b.total_ns - a.total_ns);
  return { attempt: 1, step, processes: ["replica 0", "replica 1"], kernels, missing: null };
}

export function madeUpGraph({ layers, hidden = 128, tokens = 192, narrow = "bfloat16" }) {
  const b = new Builder(narrow);
  const ids = b.node("input", "int32", [3, 64], [], {
    part: 0,
    space: SPACE.input,
    text: "input_ids",
  });
  const labels = b.node("input", "int32", [3, 64], [], {
    part: 0,
    space: SPACE.input,
    text: "labels",
  });
  const embedding = b.state("model.embedding_layer.word_embeddings.weight", [256, hidden]);
  let x = b.kernel(1, REPLICA, () =>
    b.node("gather", narrow, [tokens, hidden], [embedding, ids], {
      scope: "model.embedding_layer",
    }),
  );
  const made = [];
  for (let i = 0; i < layers; i++) {
    made.push(layer(b, i, x, hidden, tokens));
    x = made[i].result;
  }
  const logits = b.product(x, embedding, [tokens, 256], {
    scope: "model.lm_head",
  });
  const loss = b.kernel(1, REPLICA, () => {
    const soft = b.node("log_softmax", "float32", [tokens, 256], [logits], {
      scope: "loss",
    });
    return b.node(
      "partial",
      "float32",
      [],
      [b.node("sum", "float32", [], [soft, labels], { scope: "loss" })],
      { scope: "loss", space: SPACE.partial },
    );
  });
  const total = b.node("batch_sum", "float32", [], [], {
    part: 0,
    space: SPACE.reduced,
  });
  b.graph.reductions.push({ partial: loss, sum: total, offset: 0 });
  b.kernel(0, WEIGHTS, () =>
    b.node("fetch", "float32", [], [total], {
      part: WEIGHTS,
      space: SPACE.fetch,
    }),
  );
  let error = b.kernel(1, REPLICA, () =>
    b.node("sub", b.narrow, [tokens, 256], [logits, labels], {
      scope: "loss",
      backward: true,
    }),
  );
  error = b.kernel(2, REPLICA, () =>
    b.node("matmul", b.narrow, [tokens, hidden], [error, embedding], {
      scope: "model.lm_head",
      backward: true,
    }),
  );
  for (let i = layers - 1; i >= 0; i--) error = gradients(b, made[i], error, hidden, tokens, i);
  gradient(b, { weight: embedding, shape: [256, hidden] }, error, {
    scope: "model.embedding_layer",
    backward: true,
  });
  return b.graph;
}
