"""Writes models_KIND.h of the kinds text, images, bert, layers and t5: losses and weights of small
models that PyTorch trains for a few steps.

Each model is written here from its published formulas over torch.nn.functional, in float64, as a
function of a dictionary of weights under the engine's names. Weights begin as numbers that both
sides can compute (see `value`), in the order of the names. Run:
for kind in text images bert layers t5; do python3 models.py $kind > models_$kind.h; done"""
import math
import sys
from collections import OrderedDict

import torch
from torch.nn import functional as F

TEXT = ("The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs! "
        "How vexingly quick daft zebras jump; sphinx of black quartz, judge my vow.")
VOCAB, TIME, BATCH, STEPS = 128, 8, 4, 3
SIZE, CLASSES, ROWS = 12, 4, 12


def value(parameter, element):
    """A number in [-0.5, 0.5) that depends on both, of 24 bits, so that float32 holds it."""
    word = (element * 2654435761 + (parameter + 1) * 974634777) % 2**32
    word ^= word >> 16
    word = word * 73244475 % 2**32
    word ^= word >> 16
    return (word >> 8) / 2**24 - 0.5


def is_around_one(name):
    last = name.split(".")
    return last[-1] == "weight" and (any(word in last[-2] for word in ("norm", "bn", "ln")) or
                                     "downsample.1." in name)


def begin(number, name, shape):
    """Weights of norms around 1, vectors small, others by their size, so that nothing saturates."""
    count = math.prod(shape)
    drawn = torch.tensor([value(number, e) for e in range(count)], dtype=torch.float64)
    if is_around_one(name):
        drawn = drawn * 0.25 + 1
    elif len(shape) == 1:
        drawn = drawn * 0.25
    elif len(shape) == 4:
        drawn = drawn * 2 ** -round(math.log2(math.sqrt(math.prod(shape[1:])) / 2))
    return drawn.float().double().reshape(shape)


class Weights(OrderedDict):
    """Those of one model; `declare` gives each its number."""

    def declare(self, name, *shape):
        self[name] = begin(len(self), name, shape).requires_grad_(True)

    def linear(self, name, inputs, outputs, bias=True):
        self.declare(f"{name}.weight", outputs, inputs)
        if bias:
            self.declare(f"{name}.bias", outputs)

    def norm(self, name, size, bias=True):
        self.declare(f"{name}.weight", size)
        if bias:
            self.declare(f"{name}.bias", size)

    def attention(self, name, size, keys=None, bias=True, inner=None):
        inner = inner or size
        self.linear(f"{name}.proj_q_dense_layer", size, inner, bias)
        self.linear(f"{name}.proj_k_dense_layer", size, keys or inner, bias)
        self.linear(f"{name}.proj_v_dense_layer", size, keys or inner, bias)
        self.linear(f"{name}.proj_output_dense_layer", inner, size, bias)

    def ffn(self, name, size, hidden, gated=False, bias=True):
        self.linear(f"{name}.ffn.0.linear_layer", size, hidden, bias)
        if gated:
            self.linear(f"{name}.ffn.0.linear_layer_for_glu", size, hidden, bias)
        self.linear(f"{name}.ffn.1.linear_layer", hidden, size, bias)

    def conv(self, name, inputs, outputs, kernel, bias=True):
        self.declare(f"{name}.weight", outputs, inputs, kernel, kernel)
        if bias:
            self.declare(f"{name}.bias", outputs)


# ---- parts ----

def linear(w, name, x):
    return F.linear(x, w[f"{name}.weight"], w.get(f"{name}.bias"))


def layer_norm(w, name, x, epsilon=1e-5):
    return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w.get(f"{name}.bias"), epsilon)


def rms_norm(w, name, x, epsilon=1e-5):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon) * w[f"{name}.weight"]


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attention(w, name, x, count, keys=None, memory=None, bias=None, scale=None, turn=None,
              cap=None):
    """softmax(q k' scale + bias) v; `bias` adds to [batch, heads, query, key]."""
    memory = x if memory is None else memory
    q = heads(linear(w, f"{name}.proj_q_dense_layer", x), count)
    k = heads(linear(w, f"{name}.proj_k_dense_layer", memory), keys or count)
    v = heads(linear(w, f"{name}.proj_v_dense_layer", memory), keys or count)
    if turn is not None:
        q, k = turn(q), turn(k)
    if keys:
        k, v = (t.repeat_interleave(count // keys, 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    out = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
    return linear(w, f"{name}.proj_output_dense_layer", out)


GATES = {"swiglu": F.silu, "geglu": F.gelu, "reglu": F.relu}
PLAIN = {"gelu": F.gelu, "relu": F.relu, "squared_relu": lambda x: F.relu(x) ** 2,
         "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
         "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "silu": F.silu, "tanh": torch.tanh}


def ffn(w, name, x, activation):
    wide = linear(w, f"{name}.ffn.0.linear_layer", x)
    if activation in GATES:
        wide = wide * GATES[activation](linear(w, f"{name}.ffn.0.linear_layer_for_glu", x))
    else:
        wide = PLAIN[activation](wide)
    return linear(w, f"{name}.ffn.1.linear_layer", wide)


def hidden_places(time, window=None, sink=0, causal=True):
    """0 where a query sees a key, else minus infinity."""
    q, k = torch.arange(time)[:, None], torch.arange(time)[None, :]
    seen = k <= q if causal else torch.ones(time, time, dtype=torch.bool)
    if window:
        seen = seen & ((q - k < window) | (k < sink))
    return torch.zeros(time, time, dtype=torch.float64).masked_fill(~seen, -math.inf)


def rotation(size, base=10000.0, scaling=1.0, llama3=None):
    """Turns the first `size` channels of [batch, heads, time, head]: pairs of neighbours."""
    speed = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    if llama3:
        low, high, original = llama3
        wave = 2 * math.pi / speed
        smooth = ((original / wave - low) / (high - low)).clamp(0, 1)
        speed = (1 - smooth) * speed / scaling + smooth * speed
    else:
        speed = speed / scaling

    def turn(x):
        angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * speed
        pairs = torch.view_as_complex(x[..., :size].unflatten(-1, (-1, 2)).contiguous())
        turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
        return torch.cat([turned.flatten(-2), x[..., size:]], -1)
    return turn


def alibi(count, time):
    """Slopes for a power of two of heads."""
    slopes = 2.0 ** (-8 * torch.arange(1, count + 1, dtype=torch.float64) / count)
    q, k = torch.arange(time)[:, None], torch.arange(time)[None, :]
    return -slopes[:, None, None] * (q - k).abs()


def bucket(relative, buckets, both, most=128):
    """T5's bucket of key - query."""
    result = torch.zeros_like(relative)
    if both:
        buckets //= 2
        result = (relative > 0).long() * buckets
        distance = relative.abs()
    else:
        distance = (-relative).clamp(min=0)
    exact = buckets // 2
    far = exact + (torch.log(distance.clamp(min=1).double() / exact) / math.log(most / exact) *
                   (buckets - exact)).long()
    return result + torch.where(distance < exact, distance, far.clamp(max=buckets - 1))


def relative_bias(table, queries, keys, both=False):
    relative = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    return table[bucket(relative, table.shape[0], both)].permute(2, 0, 1)


def sinusoids(time, size):
    step = math.log(10000) / (size // 2 - 1)
    angle = torch.arange(time)[:, None] * torch.exp(
        -step * torch.arange(size // 2, dtype=torch.float64))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


# ---- data ----

def text_batch(step):
    tokens = torch.tensor(list(TEXT.encode()))
    starts = [(step * BATCH + b) * TIME for b in range(BATCH)]
    return (torch.stack([tokens[s:s + TIME] for s in starts]),
            torch.stack([tokens[s + 1:s + TIME + 1] for s in starts]))


def wave(i, speed, shift, size):
    return round(math.sin(speed * i + shift) * size * 1e4) / 1e4


def image_batch(step, batch=BATCH):
    """As the table that the test writes."""
    rows = [(step * batch + b) % ROWS for b in range(batch)]
    pixels = [[wave(r * SIZE * SIZE + i, 1.1, 0.3, 1) for i in range(SIZE * SIZE)] for r in rows]
    return (torch.tensor(pixels, dtype=torch.float32).double().reshape(batch, 1, SIZE, SIZE),
            torch.tensor([r * 7 % 5 % CLASSES for r in rows]))


def token_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


# ---- causal language models ----

class Decoder:
    """Every variant of the causal language models; `settings` are the engine's."""

    def __init__(self, model, settings, **kind):
        self.model, self.settings = model, settings
        self.data = kind.pop("data", "text")
        self.o = dict(size=12, layers=2, heads=2, keys=None, hidden=20, bias=True,
                      activation="gelu", norm=layer_norm, position=None, tied=True, embedding_norm=False,
                      head_bias=False, window=None, sink=0, turn=None, scale=None,
                      embeddings_scale=1.0, logits_scale=1.0, loss=token_loss, parallel=None,
                      sandwich=False, cap=None, final_cap=None, alternates=False)
        self.o.update(kind)

    def weights(self):
        w, o = Weights(), self.o
        has_bias = o["norm"] is layer_norm
        w.declare("embedding_layer.word_embeddings.weight", VOCAB, o["size"])
        if o["position"] == "learned":
            w.declare("embedding_layer.position_embeddings.embed.weight", 10, o["size"])
        if o["position"] == "relative":
            w.declare("embedding_layer.position_embed_helper.relative_attention_bias.weight",
                      6, o["heads"])
        if o["embedding_norm"]:
            w.norm("embedding_ln_f", o["size"], has_bias)
        for n in range(o["layers"]):
            name = f"transformer_decoder.layers.{n}"
            w.norm(f"{name}.norm1", o["size"], has_bias)
            keys = o["keys"] and o["size"] // o["heads"] * o["keys"]
            w.attention(f"{name}.self_attn", o["size"], keys, o["bias"])
            if o["parallel"] != "tied":
                w.norm(f"{name}.norm3", o["size"], has_bias)
            if o["sandwich"]:
                w.norm(f"{name}.norm1_post", o["size"], has_bias)
                w.norm(f"{name}.norm3_post", o["size"], has_bias)
            w.ffn(f"{name}.ffn", o["size"], o["hidden"], o["activation"] in GATES, o["bias"])
        w.norm("transformer_decoder.norm", o["size"], has_bias)
        if not o["tied"]:
            w.declare("lm_head.weight", VOCAB, o["size"])
        if o["head_bias"]:
            w.declare("lm_head.bias", VOCAB)
        return w

    def loss(self, w, step):
        o, (tokens, labels) = self.o, text_batch(step)
        time, norm = tokens.shape[1], o["norm"]
        x = w["embedding_layer.word_embeddings.weight"][tokens]
        bias = hidden_places(time, o["window"], o["sink"])
        places = torch.tensor(PLACES if self.data == "packed" else range(time))
        if self.data == "packed":
            same = torch.tensor([place == k for place in SAMPLES for k in SAMPLES]).reshape(8, 8)
            bias = bias.masked_fill(~same, -math.inf)
        if o["position"] == "learned":
            x = x + w["embedding_layer.position_embeddings.embed.weight"][places]
        elif o["position"] == "fixed":
            x = x + sinusoids(time, o["size"])
        elif o["position"] == "alibi":
            bias = bias + alibi(o["heads"], time)
        elif o["position"] == "relative":
            bias = bias + relative_bias(
                w["embedding_layer.position_embed_helper.relative_attention_bias.weight"],
                time, time)
        if o["embedding_norm"]:
            x = norm(w, "embedding_ln_f", x)
        x = x * o["embeddings_scale"]
        for n in range(o["layers"]):
            name = f"transformer_decoder.layers.{n}"
            # full_attention_first: layers 0, 2, ... have no window.
            seen = hidden_places(time) if o["alternates"] and n % 2 == 0 else bias
            first = norm(w, f"{name}.norm1", x)
            a = attention(w, f"{name}.self_attn", first, o["heads"], o["keys"], None, seen, o["scale"],
                          o["turn"], o["cap"])
            if o["parallel"]:
                second = first if o["parallel"] == "tied" else norm(w, f"{name}.norm3", x)
                x = x + a + ffn(w, f"{name}.ffn", second, o["activation"])
                continue
            x = x + (norm(w, f"{name}.norm1_post", a) if o["sandwich"] else a)
            f = ffn(w, f"{name}.ffn", norm(w, f"{name}.norm3", x), o["activation"])
            x = x + (norm(w, f"{name}.norm3_post", f) if o["sandwich"] else f)
        x = norm(w, "transformer_decoder.norm", x)
        head = w["embedding_layer.word_embeddings.weight" if o["tied"] else "lm_head.weight"]
        logits = F.linear(x, head, w.get("lm_head.bias")) * o["logits_scale"]
        if o["final_cap"]:
            logits = o["final_cap"] * torch.tanh(logits / o["final_cap"])
        return o["loss"](logits, labels)


# A row of two samples, of five tokens and of three: where each token stands in its sample, how many
# follow it there, and which losses count.
SAMPLES, PLACES = [0, 0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 0, 1, 2]
COUNTED = torch.tensor([[1, 1, 1, 1, 0, 1, 1, 0], [1, 0, 0, 0, 0, 0, 1, 0]] * (BATCH // 2))


def packed_loss(logits, labels):
    losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return (losses * COUNTED.flatten()).sum() / COUNTED.sum()


SMALL = ("hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, vocab_size: 128, "
         "max_position_embeddings: 10, dropout_rate: 0")
LLAMA = SMALL.replace("num_heads: 2", "num_heads: 4").replace("hidden_size: 12", "hidden_size: 16")

DECODERS = [
    Decoder("llama", f"{LLAMA}, attention_module: multiquery_attention, "
            "extra_attention_params: {num_kv_groups: 2}, rotary_dim: 4, rope_theta: 500.0, "
            "pos_scaling_factor: 4.0, pos_scaling_type: llama3, pos_scaling_extra_args: "
            "{low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 40}, "
            "layer_norm_epsilon: 1e-5",
            size=16, heads=4, keys=2, bias=False, activation="swiglu", norm=rms_norm, tied=False,
            turn=rotation(4, 500.0, 4.0, (1.0, 4.0, 40))),
    Decoder("llama", f"{SMALL}, rotary_dim: 4, pos_scaling_factor: 2.0, "
            "attention_sliding_window_length: 3, attention_sink_tokens: 1, nonlinearity: geglu, "
            "share_embedding_weights: true",
            bias=False, activation="geglu", norm=rms_norm, turn=rotation(4, 10000.0, 2.0),
            window=3, sink=1),
    Decoder("gpt3", f"{SMALL}, position_embedding_type: alibi, mup_base_hidden_size: 6, "
            "mup_base_filter_size: 10, embeddings_scale: 3.0, output_logits_alpha: 1.5, "
            "embedding_layer_norm: true, use_bias_in_output: true, loss_scaling: batch_size, "
            "loss_weight: 0.125, nonlinearity: squared_relu",
            position="alibi", embedding_norm=True, head_bias=True, activation="squared_relu",
            mup=0.5, scale=1 / 6, embeddings_scale=3.0, logits_scale=0.75,
            loss=lambda logits, labels: F.cross_entropy(
                logits.flatten(0, 1), labels.flatten(), reduction="sum") / BATCH * 0.125),
    Decoder("gpt2", f"{SMALL}, position_embedding_type: relative, "
            "num_relative_attention_buckets: 6, nonlinearity: quick_gelu",
            position="relative", activation="quick_gelu"),
    Decoder("gpt2", f"{SMALL}, position_embedding_type: fixed, attention_type: dot_product",
            position="fixed", scale=1.0),
    Decoder("gpt2", SMALL, data="packed", position="learned", loss=packed_loss),
    Decoder("gptj", f"{SMALL}, rotary_dim: 4, share_embedding_weights: false, use_bias_in_output: true",
            parallel="tied", turn=rotation(4), tied=False, head_bias=True),
    Decoder("falcon", f"{LLAMA}, rotary_dim: 4, use_untied_layer_norm: true, attention_module: "
            "multiquery_attention, extra_attention_params: {num_kv_groups: 1}, use_ffn_bias: false, "
            "use_projection_bias_in_attention: false, use_ffn_bias_in_attention: false",
            size=16, heads=4, keys=1, parallel="untied", turn=rotation(4), bias=False),
    Decoder("gemma2", f"{LLAMA}, position_embedding_type: rotary, rotary_dim: 4, attention_module: "
            "multiquery_attention, extra_attention_params: {num_kv_groups: 2}, norm_type: rmsnorm, "
            "norm_first_sandwich: true, nonlinearity: geglu, embeddings_scale: 4.0, "
            "attention_logit_softcapping: 0.5, final_logit_softcapping: 2.0, "
            "attention_sliding_window_length: 3, sliding_window_every_other_decoder_layer: true, "
            "use_ffn_bias: false, use_projection_bias_in_attention: false, "
            "use_ffn_bias_in_attention: false",
            size=16, heads=4, keys=2, bias=False, activation="geglu", norm=rms_norm, turn=rotation(4),
            embeddings_scale=4.0, cap=0.5, final_cap=2.0, window=3, sandwich=True, alternates=True),
]


# ---- images ----

class Mlp:
    model, data = "mlp", "images"
    settings = "input_size: 144, hidden_sizes: [10, 8], num_classes: 4, activation: gelu"

    def weights(self):
        w = Weights()
        for i, (inputs, outputs) in enumerate(((144, 10), (10, 8), (8, 4))):
            w.linear(f"layers.{i}", inputs, outputs)
        return w

    def loss(self, w, step):
        x, labels = image_batch(step)
        x = x.flatten(1)
        for i in range(3):
            x = linear(w, f"layers.{i}", x)
            x = F.gelu(x) if i < 2 else x
        return F.cross_entropy(x, labels)


class ResNet:
    """By torchvision's names; batch norm by the statistics of the microbatch, here the batch."""
    data, batch_size, micro_batch_size = "images", ROWS, ROWS

    def __init__(self, depth, small):
        self.model, self.depth, self.small = "resnet", depth, small
        self.rate = 1e-7 if depth == 50 else 1e-4  # gradients grow with the depth
        self.blocks, self.bottleneck = {18: ((2, 2, 2, 2), False), 34: ((3, 4, 6, 3), False),
                                        50: ((3, 4, 6, 3), True)}[depth]
        self.settings = (f"depth: {depth}, image_size: [12, 12], num_channels: 1, num_classes: 4, "
                         f"width: 4, small_images: {str(small).lower()}")

    def units(self):
        """(conv, norm, in, out, kernel, stride) of each block and its shortcut."""
        channels, width = 4, 4
        for stage, count in enumerate(self.blocks):
            for i in range(count):
                name, stride = f"layer{stage + 1}.{i}", 2 if stage > 0 and i == 0 else 1
                out = width * 4 if self.bottleneck else width
                shapes = ([(channels, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
                          if self.bottleneck else
                          [(channels, width, 3, stride), (width, width, 3, 1)])
                shortcut = (channels, out, 1, stride) if stride != 1 or channels != out else None
                yield name, shapes, shortcut
                channels = out
            width *= 2
        self.channels = channels

    def weights(self):
        w = Weights()

        def unit(conv, norm, shape):
            w.conv(conv, shape[0], shape[1], shape[2], False)
            w.norm(norm, shape[1])
        unit("conv1", "bn1", (1, 4, 3 if self.small else 7))
        for name, shapes, shortcut in self.units():
            for i, shape in enumerate(shapes):
                unit(f"{name}.conv{i + 1}", f"{name}.bn{i + 1}", shape)
            if shortcut:
                unit(f"{name}.downsample.0", f"{name}.downsample.1", shortcut)
        w.linear("fc", self.channels, 4)
        return w

    @staticmethod
    def unit(w, conv, norm, x, kernel, stride):
        x = F.conv2d(x, w[f"{conv}.weight"], None, stride, kernel // 2)
        return F.batch_norm(x, None, None, w[f"{norm}.weight"], w[f"{norm}.bias"], True)

    def loss(self, w, step):
        x, labels = image_batch(step, ROWS)
        kernel, stride = (3, 1) if self.small else (7, 2)
        x = F.relu(self.unit(w, "conv1", "bn1", x, kernel, stride))
        x = x if self.small else F.max_pool2d(x, 3, 2, 1)
        for name, shapes, shortcut in self.units():
            before = x
            for i, (_, _, kernel, stride) in enumerate(shapes):
                x = self.unit(w, f"{name}.conv{i + 1}", f"{name}.bn{i + 1}", x, kernel, stride)
                x = F.relu(x) if i + 1 < len(shapes) else x
            if shortcut:
                before = self.unit(w, f"{name}.downsample.0", f"{name}.downsample.1", before, 1,
                                   shortcut[3])
            x = F.relu(x + before)
        return F.cross_entropy(linear(w, "fc", x.mean((2, 3))), labels)


class Vit:
    data = "images"
    base = ("image_size: [12, 12], num_channels: 1, num_classes: 4, patch_size: [4, 2], "
            "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
            "dropout_rate: 0, attention_dropout_rate: 0")

    def __init__(self, model, settings, conv=False, pooler=False, scale=False, dino=False,
                 post=False):
        self.model, self.settings = model, f"{self.base}, {settings}"
        self.conv, self.pooler, self.scale, self.dino, self.post = conv, pooler, scale, dino, post

    def weights(self):
        w, e, c = Weights(), "vit_model.embedding_layer", "vit_model.encoder"
        if self.conv:
            w.declare(f"{e}.linear_proj.weight", 12, 1, 4, 2)
            w.declare(f"{e}.linear_proj.bias", 12)
        else:
            w.linear(f"{e}.linear_proj", 8, 12)
        w.declare(f"{e}.position_embeddings.weight", 19, 12)
        w.declare(f"{e}.cls_embedding", 12)
        for n in range(2):
            name = f"{c}.transformer_encoder.layers.{n}"
            w.norm(f"{name}.norm1", 12)
            w.attention(f"{name}.self_attn", 12)
            if self.scale:
                w.declare(f"{name}.layer_scale1", 12)
            w.norm(f"{name}.norm2", 12)
            w.ffn(f"{name}.ffn", 12, 20)
            if self.scale:
                w.declare(f"{name}.layer_scale2", 12)
        w.norm(f"{c}.transformer_encoder.norm", 12)
        if self.pooler:
            w.linear(f"{c}.pooler.pooler.ffn.0.linear_layer", 12, 12)
        w.linear("classifier.classifier.ffn.0.linear_layer", 24 if self.dino else 12, 4)
        return w

    def loss(self, w, step):
        x, labels = image_batch(step)
        e, c = "vit_model.embedding_layer", "vit_model.encoder"
        if self.conv:
            x = F.conv2d(x, w[f"{e}.linear_proj.weight"], w[f"{e}.linear_proj.bias"], (4, 2))
            x = x.flatten(2).transpose(1, 2)
        else:
            x = x.reshape(BATCH, 3, 4, 6, 2).transpose(2, 3).reshape(BATCH, 18, 8)
            x = linear(w, f"{e}.linear_proj", x)
        token = w[f"{e}.cls_embedding"].expand(BATCH, 1, 12)
        table = w[f"{e}.position_embeddings.weight"]
        x = torch.cat([token, x], 1) + torch.cat([table[-1:], table[:-1]])
        for n in range(2):
            name = f"{c}.transformer_encoder.layers.{n}"

            def attend(y):
                y = attention(w, f"{name}.self_attn", y, 2)
                return y * w[f"{name}.layer_scale1"] if self.scale else y

            def feed(y):
                y = ffn(w, f"{name}.ffn", y, "gelu")
                return y * w[f"{name}.layer_scale2"] if self.scale else y
            if self.post:
                x = layer_norm(w, f"{name}.norm1", x + attend(x))
                x = layer_norm(w, f"{name}.norm2", x + feed(x))
            else:
                x = x + attend(layer_norm(w, f"{name}.norm1", x))
                x = x + feed(layer_norm(w, f"{name}.norm2", x))
        x = layer_norm(w, f"{c}.transformer_encoder.norm", x)
        pooled = torch.cat([x[:, 0], x[:, 1:].mean(1)], 1) if self.dino else x[:, 0]
        if self.pooler:
            pooled = torch.tanh(linear(w, f"{c}.pooler.pooler.ffn.0.linear_layer", pooled))
        return F.cross_entropy(linear(w, "classifier.classifier.ffn.0.linear_layer", pooled),
                               labels)


class LeNet:
    model, data = "lenet", "images"

    def __init__(self, settings, activation, pool):
        self.settings = f"image_size: [12, 12], num_classes: 4, {settings}"
        self.activation, self.pool = activation, pool

    def weights(self):
        w = Weights()
        w.conv("conv1", 1, 6, 5)
        w.conv("conv2", 6, 16, 5)
        for i, (inputs, outputs) in enumerate(((16, 120), (120, 84), (84, 4))):
            w.linear(f"fc{i + 1}", inputs, outputs)
        return w

    def loss(self, w, step):
        x, labels = image_batch(step)
        for i, padding in enumerate((2, 0)):
            x = F.conv2d(x, w[f"conv{i + 1}.weight"], w[f"conv{i + 1}.bias"], padding=padding)
            x = self.pool(self.activation(x), 2)
        x = x.flatten(1)
        for i in range(3):
            x = linear(w, f"fc{i + 1}", x)
            x = self.activation(x) if i < 2 else x
        return F.cross_entropy(x, labels)


IMAGES = [
    Mlp(), LeNet("activation: tanh, pooling: average", torch.tanh, F.avg_pool2d),
    LeNet("activation: relu", F.relu, F.max_pool2d),
    ResNet(18, False), ResNet(34, True), ResNet(50, True),
    Vit("vit", "use_encoder_pooler_layer: true, pooler_nonlinearity: tanh", pooler=True),
    Vit("vision_transformer", "use_conv_patchified_embedding: true, layerscale_value: 0.1, "
        "use_dinov2_classifier: true", conv=True, scale=True, dino=True),
    Vit("vit", "norm_first: false", post=True),
]


# ---- encoders of text ----

def bert_batch(step):
    """Made of the text as the test makes it, two samples a microbatch."""
    tokens, labels = text_batch(step)
    positions = torch.tensor([[1, 4, 6], [0, 3, 7]]).repeat(BATCH // 2, 1)
    mask = torch.tensor([[1.0, 1, 0], [1, 1, 1]], dtype=torch.float64).repeat(BATCH // 2, 1)
    return dict(tokens=tokens, segments=tokens & 1, seen=tokens != 32, positions=positions,
                mask=mask, labels=labels.gather(1, positions), sentence=labels[:, 0] & 1)


# Three sequences in a sample: how many tokens follow, and how many stand before.
SPAN = torch.tensor([2, 1, 0, 4, 3, 2, 1, 0])
PLACE = torch.tensor([0, 1, 2, 0, 1, 2, 3, 4])


def own_sequence():
    """As a mask [query, key]: both of one sequence."""
    number = (PLACE == 0).cumsum(0)
    return number[:, None] == number[None, :]


class Bert:
    base = ("hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
            "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0")

    def __init__(self, model, settings, nsp=True, tied=True, counts=False, pre=False,
                 weight=1.0, packed=False, esm=False):
        self.data = "packed_bert" if packed else "bert"
        self.packed, self.esm = packed, esm
        self.model, self.settings = model, f"{self.base}{settings}"
        self.nsp, self.tied, self.counts, self.pre, self.weight = nsp, tied, counts, pre, weight
        self.prefix = "bert" if model == "bert/classifier" else "bert_encoder"
        self.pad = 32 if counts else 0

    def weights(self):
        w, p = Weights(), self.prefix
        w.declare(f"{p}.embedding_layer.word_embeddings.weight", VOCAB, 12)
        if not self.esm:
            w.declare(f"{p}.embedding_layer.position_embeddings.embed.weight",
                      10 + (self.pad + 1 if self.counts else 0), 12)
        if self.nsp:
            w.declare(f"{p}.embedding_layer.segment_embeddings.weight", 2, 12)
        if not self.esm:
            w.norm(f"{p}.embed_ln_f", 12)
        for n in range(2):
            name = f"{p}.transformer_encoder.layers.{n}"
            w.norm(f"{name}.norm1", 12)
            w.attention(f"{name}.self_attn", 12)
            w.norm(f"{name}.norm2", 12)
            w.ffn(f"{name}.ffn", 12, 20)
        if self.pre:
            w.norm(f"{p}.transformer_encoder.norm", 12)
        if self.nsp:
            w.linear(f"{p}.pooler.pooler.ffn.0.linear_layer", 12, 12)
        if self.model == "bert/classifier":
            w.linear("classifier", 12, 3)
            return w
        if self.nsp:
            w.linear("bert_cls_head.classifier.ffn.0.linear_layer", 12, 2)
        w.linear("bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer", 12, 12)
        w.norm("bert_mlm_head.mlm_transform.ln", 12)
        if not self.tied:
            w.declare("bert_mlm_head.classifier.ffn.0.linear_layer.weight", VOCAB, 12)
        w.declare("bert_mlm_head.classifier.ffn.0.linear_layer.bias", VOCAB)
        return w

    def encode(self, w, tokens, segments, seen):
        p, words = self.prefix, w[f"{self.prefix}.embedding_layer.word_embeddings.weight"]
        x = F.embedding(tokens, words, padding_idx=self.pad)
        table = None if self.esm else w[f"{p}.embedding_layer.position_embeddings.embed.weight"]
        if self.esm:  # token dropout, as Hugging Face's EsmEmbeddings
            masked = tokens == ESM_MASK
            observed = masked.sum(1) / seen.sum(1)
            x = x.masked_fill(masked[..., None], 0) * (1 - 0.15 * 0.8) / (1 - observed)[:, None, None]
        elif self.packed:
            x = x + table[PLACE]
        elif self.counts:
            is_token = (tokens != self.pad).long()
            x = x + table[is_token.cumsum(1) * is_token + self.pad]
        else:
            x = x + table[:tokens.shape[1]]
        if self.nsp:
            x = x + w[f"{p}.embedding_layer.segment_embeddings.weight"][segments]
        x = x if self.esm else layer_norm(w, f"{p}.embed_ln_f", x)
        bias = None if seen is None else torch.zeros(1).masked_fill(
            ~seen, -math.inf)[:, None, None, :]
        if self.packed:
            bias = torch.zeros(1).masked_fill(~own_sequence(), -math.inf)
        turn = rotation(4) if self.esm else None
        for n in range(2):
            name = f"{p}.transformer_encoder.layers.{n}"
            if self.pre:
                x = x + attention(w, f"{name}.self_attn", layer_norm(w, f"{name}.norm1", x), 2,
                                  bias=bias, turn=turn)
                x = x + ffn(w, f"{name}.ffn", layer_norm(w, f"{name}.norm2", x), "gelu")
            else:
                x = layer_norm(w, f"{name}.norm1",
                               x + attention(w, f"{name}.self_attn", x, 2, bias=bias))
                x = layer_norm(w, f"{name}.norm2", x + ffn(w, f"{name}.ffn", x, "gelu"))
        return layer_norm(w, f"{p}.transformer_encoder.norm", x) if self.pre else x

    def pool(self, w, x):
        return torch.tanh(linear(w, f"{self.prefix}.pooler.pooler.ffn.0.linear_layer", x[:, 0]))

    def token_logits(self, w, x):
        x = F.gelu(linear(w, "bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer", x))
        x = layer_norm(w, "bert_mlm_head.mlm_transform.ln", x)
        head = w["bert_encoder.embedding_layer.word_embeddings.weight" if self.tied else
                 "bert_mlm_head.classifier.ffn.0.linear_layer.weight"]
        return F.linear(x, head, w["bert_mlm_head.classifier.ffn.0.linear_layer.bias"])

    def loss(self, w, step):
        b = bert_batch(step)
        if self.model == "bert/classifier":
            x = self.encode(w, b["tokens"], torch.zeros_like(b["segments"]), None)
            return F.cross_entropy(linear(w, "classifier", self.pool(w, x)), b["sentence"])
        x = self.encode(w, b["tokens"], b["segments"], b["seen"])
        focused = x.gather(1, b["positions"][..., None].expand(-1, -1, 12))
        losses = F.cross_entropy(self.token_logits(w, focused).flatten(0, 1),
                                 b["labels"].flatten(), reduction="none")
        loss = (losses * b["mask"].flatten()).sum() / BATCH * self.weight
        if self.nsp:
            logits = linear(w, "bert_cls_head.classifier.ffn.0.linear_layer", self.pool(w, x))
            loss = loss + F.cross_entropy(logits, b["sentence"])
        return loss


ESM_MASK = ord("e")
BERT = [
    Bert("bert", ", pooler_nonlinearity: tanh, mlm_loss_weight: 0.25", weight=0.25),
    Bert("bert", ", disable_nsp: true, share_embedding_weights: false, pad_token_id: 32, "
         "mask_padding_in_positional_embed: true, norm_first: true, use_final_layer_norm: true",
         nsp=False, tied=False, counts=True, pre=True),
    Bert("bert/classifier", ", pooler_nonlinearity: tanh, attention_dropout_rate: 0, "
         "task_dropout: 0, num_labels: 3"),
    Bert("bert", ", disable_nsp: true", nsp=False, packed=True),
    Bert("esm2", f", disable_nsp: true, embedding_layer_norm: false, mask_token_id: {ESM_MASK}, "
         "position_embedding_type: rotary, rotary_dim: 4, token_dropout: true, use_final_layer_norm: true",
         nsp=False, pre=True, esm=True),
    Bert("esm2", f", disable_nsp: true, embedding_layer_norm: false, mask_token_id: {ESM_MASK}, "
         "position_embedding_type: rotary, rotary_dim: 4, token_dropout: true, use_final_layer_norm: true",
         nsp=False, pre=True, esm=True, packed=True),
]


# ---- networks that a configuration describes ----

class ImageLayers:
    model, data, batch_size, micro_batch_size, rate = "layers", "images", BATCH, BATCH, 0.02
    settings = ("input_shape: [1, 12, 12], layers: [{conv2d: {out: 4, stride: 2, padding: 1, "
                "name: first}}, batch_norm, relu, {residual: {layers: [{conv2d: {out: 6, padding: "
                "1}}, tanh], shortcut: [{conv2d: {out: 6, kernel: 1, bias: false}}]}}, "
                "{max_pool2d: {kernel: 3, stride: 2, padding: 1}}, {reshape: {shape: [6, 9]}}, {norm: {kind: "
                "biasless-layernorm}}, flatten, {linear: {out: 4}}]")

    def weights(self):
        w = Weights()
        w.conv("first", 1, 4, 3)
        w.norm("layers.1", 4)
        w.conv("layers.3.layers.0", 4, 6, 3)
        w.conv("layers.3.shortcut.0", 4, 6, 1, False)
        w.norm("layers.6", 9, False)
        w.linear("layers.8", 54, 4)
        return w

    def loss(self, w, step):
        x, labels = image_batch(step)
        x = F.conv2d(x, w["first.weight"], w["first.bias"], 2, 1)
        x = F.relu(F.batch_norm(x, None, None, w["layers.1.weight"], w["layers.1.bias"], True))
        inner = F.conv2d(x, w["layers.3.layers.0.weight"], w["layers.3.layers.0.bias"], 1, 1)
        x = torch.tanh(inner) + F.conv2d(x, w["layers.3.shortcut.0.weight"])
        x = F.max_pool2d(x, 3, 2, 1).reshape(BATCH, 6, 9)
        x = layer_norm(w, "layers.6", x).flatten(1)
        return F.cross_entropy(linear(w, "layers.8", x), labels)


class TextLayers:
    model, data = "layers", "text"
    settings = ("input_shape: [8], layers: [{embedding: {rows: 128, size: 12, name: words}}, "
                "positions, {repeat: {count: 2, layers: [{residual: {layers: [norm, {attention: "
                "{heads: 2, causal: true, rotary: true}}]}}, {residual: {layers: [{norm: {kind: "
                "rmsnorm}}, {feed_forward: {hidden: 20, activation: swiglu, bias: false}}]}}]}}, "
                "{linear: {out: 128, bias: false, name: head}}]")

    def weights(self):
        w = Weights()
        w.declare("words.weight", 128, 12)
        w.declare("layers.1.weight", 8, 12)
        for n in range(2):
            name = f"layers.2.{n}"
            w.norm(f"{name}.0.layers.0", 12)
            w.attention(f"{name}.0.layers.1", 12)
            w.norm(f"{name}.1.layers.0", 12, False)
            w.ffn(f"{name}.1.layers.1", 12, 20, True, False)
        w.linear("head", 12, 128, False)
        return w

    def loss(self, w, step):
        tokens, labels = text_batch(step)
        x = w["words.weight"][tokens] + w["layers.1.weight"]
        for n in range(2):
            name = f"layers.2.{n}"
            x = x + attention(w, f"{name}.0.layers.1", layer_norm(w, f"{name}.0.layers.0", x), 2,
                              bias=hidden_places(TIME), turn=rotation(6))
            x = x + ffn(w, f"{name}.1.layers.1", rms_norm(w, f"{name}.1.layers.0", x), "swiglu")
        return token_loss(linear(w, "head", x), labels)


# ---- an encoder with a decoder ----

class T5:
    model, data = "t5", "text"
    base = ("src_vocab_size: 120, extra_ids: 8, d_model: 12, d_kv: 5, d_ff: 20, num_heads: 2, "
            "encoder_num_hidden_layers: 2, decoder_num_hidden_layers: 1, dropout_rate: 0, "
            "relative_attention_num_buckets: 6, decoder_start_token_id: 1")

    def __init__(self, settings, activation, scaled, tied, norm=rms_norm, bias=False, post=False,
                 mup=False):
        self.mup = mup
        self.settings, self.activation, self.scaled = self.base + settings, activation, scaled
        self.tied, self.norm, self.bias, self.post = tied, norm, bias, post

    def weights(self):
        w, has_bias = Weights(), self.norm is layer_norm
        table = "position_embed_helper.relative_attention_bias.weight"
        w.declare("encoder_embeddings.word_embeddings.weight", VOCAB, 12)
        w.declare(f"encoder_embeddings.{table}", 6, 2)
        if not self.tied:
            w.declare("decoder_embeddings.word_embeddings.weight", VOCAB, 12)
        w.declare(f"decoder_embeddings.{table}", 6, 2)

        def attend(name):
            for which in "qkv":
                w.linear(f"{name}.proj_{which}_dense_layer", 12, 10, self.bias)
            w.linear(f"{name}.proj_output_dense_layer", 10, 12, False)
        for stack, count in (("encoder", 2), ("decoder", 1)):
            for n in range(count):
                name = f"{stack}.layers.{n}"
                w.norm(f"{name}.norm1", 12, has_bias)
                attend(f"{name}.self_attn")
                w.norm(f"{name}.norm2", 12, has_bias)
                if stack == "decoder":
                    attend(f"{name}.multihead_attn")
                    w.norm(f"{name}.norm3", 12, has_bias)
                w.ffn(f"{name}.ffn", 12, 20, self.activation in GATES, self.bias)
            w.norm(f"{stack}.norm", 12, has_bias)
        if not self.tied:
            w.linear("lm_head", 12, VOCAB, False)
        return w

    def residual(self, w, name, x, part):
        return (self.norm(w, name, x + part(x)) if self.post else
                x + part(self.norm(w, name, x)))

    def loss(self, w, step):
        tokens, labels = text_batch(step)
        table = "position_embed_helper.relative_attention_bias.weight"
        scale = None if self.scaled else 1.0
        widen = 1.0
        if self.mup:
            # The width is twice the base's: q and k times 2^-1/2 each, alpha 1.5, over the head's size;
            # v times 2^-1/2 and the output times 2^1/2 are nothing. Embeddings: alpha 0.5 sqrt(12).
            scale, widen = 1.5 / 5 / 2, 0.5 * math.sqrt(12)
        before = torch.cat([torch.ones(BATCH, 1, dtype=torch.long), labels[:, :-1]], 1)
        words = w["encoder_embeddings.word_embeddings.weight"]
        bias = relative_bias(w[f"encoder_embeddings.{table}"], TIME, TIME, True)
        x = words[tokens] * widen
        for n in range(2):
            name = f"encoder.layers.{n}"
            x = self.residual(w, f"{name}.norm1", x, lambda y: attention(
                w, f"{name}.self_attn", y, 2, bias=bias, scale=scale))
            x = self.residual(w, f"{name}.norm2", x, lambda y: ffn(
                w, f"{name}.ffn", y, self.activation))
        memory = self.norm(w, "encoder.norm", x)
        words = words if self.tied else w["decoder_embeddings.word_embeddings.weight"]
        bias = relative_bias(w[f"decoder_embeddings.{table}"], TIME, TIME) + hidden_places(TIME)
        x, name = words[before] * widen, "decoder.layers.0"
        x = self.residual(w, f"{name}.norm1", x, lambda y: attention(
            w, f"{name}.self_attn", y, 2, bias=bias, scale=scale))
        x = self.residual(w, f"{name}.norm2", x, lambda y: attention(
            w, f"{name}.multihead_attn", y, 2, memory=memory, scale=scale))
        x = self.residual(w, f"{name}.norm3", x, lambda y: ffn(
            w, f"{name}.ffn", y, self.activation))
        x = self.norm(w, "decoder.norm", x)
        logits = F.linear(x, words) * 1.25 / math.sqrt(2) if self.mup else F.linear(
            x / math.sqrt(12), words) if self.tied else linear(w, "lm_head", x)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(),
                               reduction="sum") / BATCH * 0.125


T5S = [
    T5(", lm_loss_weight: 0.125", "relu", False, True),
    T5(", lm_loss_weight: 0.125, share_embedding_weights: false, encoder_nonlinearity: geglu, "
       "share_encoder_decoder_embedding: false, use_transformer_initialization: true, norm_type: "
       "layernorm, use_projection_bias_in_attention: true, use_ffn_bias: true, "
       "use_pre_encoder_decoder_layer_norm: false",
       "geglu", True, False, layer_norm, True, True),
    T5(", lm_loss_weight: 0.125, mup_base_d_model: 6, mup_base_d_ff: 5, embeddings_alpha: 0.5, "
       "encoder_attention_logits_alpha: 1.5, decoder_attention_logits_alpha: 1.5, "
       "output_logits_alpha: 1.25", "relu", False, True, mup=True),
]


# ---- training ----

def case_rate(case, name):
    """muP's factors of learning rates: the ratio of the base's widths to the model's."""
    is_matrix = name.endswith("weight") and ("self_attn" in name or ".ffn." in name)
    if getattr(case, "mup", False):
        return (math.sqrt(0.5) if "embedding" in name or ("attn" in name and "proj" in name) else
                0.5 if "ffn.0" in name else 0.25 if "ffn.1" in name else 1)
    return case.o["mup"] if is_matrix and "mup" in getattr(case, "o", {}) else 1


def train(case):
    w = case.weights()
    buffers = {name: torch.zeros_like(p) for name, p in w.items()}
    losses = []
    for step in range(STEPS):
        for p in w.values():
            p.grad = None
        loss = case.loss(w, step)
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for name, p in w.items():
                if p.grad is not None:
                    buffers[name].mul_(0.9).add_(p.grad)
                p.sub_(getattr(case, "rate", 0.05) * case_rate(case, name) * buffers[name])
    return losses, [(name, p.norm().item()) for name, p in w.items()]


def text(value):
    return '"' + value.replace('"', '\\"') + '"'


def write_constants():
    print("static const char model_text[] =")
    for at in range(0, len(TEXT), 80):
        print("   ", text(TEXT[at:at + 80]) + (";" if at + 80 >= len(TEXT) else ""))
    print(f"enum {{ MODEL_STEPS = {STEPS}, MODEL_TIME = {TIME}, MODEL_ROWS = {ROWS},\n"
          f"       MODEL_PIXELS = {SIZE * SIZE}, MODEL_CLASSES = {CLASSES} }};\n")
    print("typedef struct model_parameter {\n    const char *name; /* behind \"model.\" */\n"
          "    double norm;      /* after the last step */\n} model_parameter;\n")
    print("typedef struct model_run {\n    const char *model, *settings, *data;\n"
          "    int batch_size, micro_batch_size;\n    double rate;\n"
          "    double losses[MODEL_STEPS];\n    const model_parameter *parameters;\n} model_run;\n")


def write(kind, cases):
    guard = f"MODELS_{kind.upper()}"
    version = torch.__version__.split("+")[0]
    print(f"/* Written by models.py with PyTorch {version}: do not edit. */")
    print(f"/* clang-format off */\n#ifndef CSE_TESTS_REFERENCE_{guard}_H")
    print(f"#define CSE_TESTS_REFERENCE_{guard}_H\n")
    if kind == "text":
        write_constants()
    else:
        print('#include "tests/reference/models_text.h"\n')
    results = [train(case) for case in cases]
    for i, (_, norms) in enumerate(results):
        print(f"static const model_parameter {kind}_parameters_{i}[] = {{")
        for name, norm in norms:
            line = f'    {{ "{name}", {norm:.7f} }},'
            print(line if len(line) <= 100 else line.replace(", ", ",\n      "))
        print("    { 0, 0 },\n};\n")
    print(f"static const model_run {kind}_runs[] = {{")
    for i, (case, (losses, _)) in enumerate(zip(cases, results)):
        print(f"    {{ {text(case.model)},")
        words, line = case.settings.split(" "), ""
        lines = []
        for word in words:
            if len(line) + len(word) > 80:
                lines.append(line)
                line = ""
            line += word + " "
        lines.append(line.rstrip())
        print("\n".join(f"      {text(part)}" for part in lines) + ",")
        print(f'      {text(case.data)}, {getattr(case, "batch_size", BATCH)}, '
              f'{getattr(case, "micro_batch_size", 2)}, {getattr(case, "rate", 0.05)}, '
              f'{{ {", ".join("%.9f" % x for x in losses)} }}, '
              f"{kind}_parameters_{i} }},")
    print("};\n\n#endif")


if __name__ == "__main__":
    write(sys.argv[1], {"text": DECODERS, "images": IMAGES, "bert": BERT, "t5": T5S,
                        "layers": [ImageLayers(), TextLayers()]}[sys.argv[1]])
