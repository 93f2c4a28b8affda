"""Every key of a config.json, changed, for each family of transformers that is read: what the engine
makes of the folder is what transformers makes of it, or the key is refused by its name.

The keys are those of the library's own classes, so that a new one of theirs is seen, and those that
older folders have. The verdicts are compared with tests/reference/config_keys.txt, which the test of
the maps alone goes by.

Run: python3 config_keys.py CSENGINE FOLDER TABLE [write]
CSE_FAMILIES names some of the families; write puts their rows in place of those in the table.
"""

import json
import os
import struct
import subprocess
import sys
import time

import numpy
import torch
from folders import csengine, transformers

TIME, TOKENS = 12, 40
TABLE = sys.argv[3]
TEXT = {"vocab_size": TOKENS, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
LLAMA = {**TEXT, "num_key_value_heads": 1, "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2}
PLAIN = {key: value for key, value in TEXT.items() if key != "intermediate_size"}
PLAIN.update(max_position_embeddings=TIME, bos_token_id=1, eos_token_id=2)
GPT = {**PLAIN, "intermediate_size": 24}
SHORT = {"vocab_size": TOKENS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": TIME, "bos_token_id": 1, "eos_token_id": 2}
FAMILIES = {
    "bert": (transformers.BertForMaskedLM, transformers.BertConfig, {**TEXT, "max_position_embeddings": TIME}),
    "bert_classifier": (
        transformers.BertForSequenceClassification,
        transformers.BertConfig,
        {**TEXT, "max_position_embeddings": TIME, "num_labels": 3},
    ),
    "esm": (
        transformers.EsmForMaskedLM,
        transformers.EsmConfig,
        {
            **TEXT,
            "max_position_embeddings": TIME,
            "position_embedding_type": "rotary",
            "pad_token_id": 1,
            "mask_token_id": 3,
            "token_dropout": True,
        },
    ),
    "gpt2": (
        transformers.GPT2LMHeadModel,
        transformers.GPT2Config,
        {"vocab_size": TOKENS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": TIME, "bos_token_id": 1, "eos_token_id": 2},
    ),
    "gpt_neox": (transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig, {**GPT, "rotary_pct": 0.5}),
    "gptj": (transformers.GPTJForCausalLM, transformers.GPTJConfig, {**SHORT, "rotary_dim": 4}),
    "opt": (transformers.OPTForCausalLM, transformers.OPTConfig, {**PLAIN, "ffn_dim": 24, "pad_token_id": None}),
    "falcon": (transformers.FalconForCausalLM, transformers.FalconConfig, PLAIN),
    "bloom": (transformers.BloomForCausalLM, transformers.BloomConfig, {"vocab_size": TOKENS, "hidden_size": 16, "n_layer": 2, "n_head": 2}),
    "starcoder2": (transformers.Starcoder2ForCausalLM, transformers.Starcoder2Config, {**LLAMA, "sliding_window": 8}),
    "gpt_bigcode": (transformers.GPTBigCodeForCausalLM, transformers.GPTBigCodeConfig, SHORT),
    "phi": (transformers.PhiForCausalLM, transformers.PhiConfig, {**GPT, "partial_rotary_factor": 0.5}),
    "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig, LLAMA),
    "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig, {**LLAMA, "sliding_window": 8}),
    "mixtral": (
        transformers.MixtralForCausalLM,
        transformers.MixtralConfig,
        {**LLAMA, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "qwen2_moe": (
        transformers.Qwen2MoeForCausalLM,
        transformers.Qwen2MoeConfig,
        {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 12},
    ),
    "vit": (
        transformers.ViTForImageClassification,
        transformers.ViTConfig,
        {**TEXT, "image_size": 8, "patch_size": 4, "num_channels": 1, "num_labels": 5},
    ),
}
PICTURES = {key: value for key, value in FAMILIES["vit"][2].items() if key != "vocab_size"}
FAMILIES["vit"] = (*FAMILIES["vit"][:2], PICTURES)
FAMILIES["deit"] = (transformers.DeiTForImageClassificationWithTeacher, transformers.DeiTConfig, PICTURES)
FAMILIES["dinov2"] = (
    transformers.Dinov2ForImageClassification,
    transformers.Dinov2Config,
    {key: value for key, value in PICTURES.items() if key != "intermediate_size"},
)
FAMILIES["resnet"] = (
    transformers.ResNetForImageClassification,
    transformers.ResNetConfig,
    {"num_channels": 1, "embedding_size": 8, "hidden_sizes": [16, 32], "depths": [1, 2], "num_labels": 5},
)
T5 = {"vocab_size": TOKENS, "d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
FAMILIES["t5"] = (transformers.T5ForConditionalGeneration, transformers.T5Config, T5)
TOWER = {key: value for key, value in TEXT.items() if key != "vocab_size"}
FAMILIES["clip"] = (
    transformers.CLIPModel,
    transformers.CLIPConfig,
    {
        "text_config": {**TOWER, "vocab_size": TOKENS, "max_position_embeddings": TIME, "eos_token_id": 3, "bos_token_id": 1},
        "vision_config": {**TOWER, "image_size": 8, "patch_size": 4, "num_channels": 1},
        "projection_dim": 6,
    },
)
OF_PICTURES = ("vit", "deit", "dinov2", "resnet")
POSITIONS = {**TEXT, "max_position_embeddings": TIME + 2, "type_vocab_size": 1, "pad_token_id": 1}
FAMILIES |= {
    "bert_tokens": (transformers.BertForTokenClassification, transformers.BertConfig, {**TEXT, "max_position_embeddings": TIME, "num_labels": 3}),
    "roberta": (transformers.RobertaForMaskedLM, transformers.RobertaConfig, POSITIONS),
    "xlm_roberta": (transformers.XLMRobertaForTokenClassification, transformers.XLMRobertaConfig, {**POSITIONS, "num_labels": 3}),
    "distilbert": (
        transformers.DistilBertForMaskedLM,
        transformers.DistilBertConfig,
        {"vocab_size": TOKENS, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": TIME},
    ),
    "modernbert": (
        transformers.ModernBertForMaskedLM,
        transformers.ModernBertConfig,
        {**TEXT, "num_hidden_layers": 4, "max_position_embeddings": TIME, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "local_attention": 4},
    ),
}
DECODERS = {
    "gemma": ("Gemma", {**LLAMA, "head_dim": 8}),
    "gemma2": ("Gemma2", {**LLAMA, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8}),
    "gemma3_text": (
        "Gemma3",
        {**LLAMA, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 8, "num_hidden_layers": 6},
    ),
    "qwen2": ("Qwen2", {**LLAMA, "sliding_window": 8}),
    "qwen3": ("Qwen3", {**LLAMA, "head_dim": 8, "sliding_window": 8}),
    "qwen3_moe": (
        "Qwen3Moe",
        {**LLAMA, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8},
    ),
    "phi3": ("Phi3", {**LLAMA, "pad_token_id": 0, "original_max_position_embeddings": 16}),
    "olmo2": ("Olmo2", LLAMA),
    "smollm3": ("SmolLM3", {**LLAMA, "pad_token_id": 0}),
    "cohere": ("Cohere", LLAMA),
    "stablelm": ("StableLm", LLAMA),
    "gpt_neo": (
        "GPTNeo",
        {
            **{"vocab_size": TOKENS, "hidden_size": 16, "num_layers": 2, "num_heads": 2, "window_size": 4},
            **{"max_position_embeddings": TIME, "attention_types": [[["global", "local"], 1]]},
            **{"bos_token_id": 1, "eos_token_id": 2},
        },
    ),
    "codegen": ("CodeGen", {**SHORT, "n_head": 4, "rotary_dim": 4}),
    "mpt": ("Mpt", {"vocab_size": TOKENS, "d_model": 16, "n_layers": 2, "n_heads": 2, "max_seq_len": TIME}),
}
for name, (kind, sizes) in DECODERS.items():
    config = "Gemma3TextConfig" if kind == "Gemma3" else f"{kind}Config"
    FAMILIES[name] = (getattr(transformers, f"{kind}ForCausalLM"), getattr(transformers, config), sizes)
# Its eager attention adds the biases of ALiBi twice, which the one that is its default does not.
ATTENTION = {"falcon": "sdpa"}
# Of text_encoder, whose labels of tokens are fewer than the tokens.
ENCODERS = {"bert_tokens", "roberta", "xlm_roberta", "distilbert", "modernbert"}
ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu", "silu", "swish", "tanh"]
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
ROPES = [
    {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0},
    {"type": "linear", "factor": 2.0},
    {"rope_type": "linear"},
    {"rope_type": "default", "factor": 8.0},
    {"factor": 8.0},
    {**LLAMA3, "original_max_position_embeddings": 8},
    LLAMA3,
    {"rope_type": "llama3", "factor": 4.0, "original_max_position_embeddings": 8},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8},
    {"rope_type": "default", "rope_theta": 500.0},
    {"rope_type": "default", "partial_rotary_factor": 0.5},
    {},
]
# Values that a kind of value alone does not suggest.
VALUES = {
    "hidden_act": ACTIVATIONS,
    "activation_function": ACTIVATIONS,
    "activation": ACTIVATIONS,
    "hidden_activation": ACTIVATIONS,
    "classifier_activation": ACTIVATIONS,
    "classifier_pooling": ["cls", "mean", "max"],
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query", "rotary"],
    "problem_type": ["regression", "single_label_classification", "multi_label_classification"],
    "rope_parameters": ROPES,
    "rope_scaling": [*ROPES, None],
    "rope_theta": [500.0, 10000.0],
    "sliding_window": [3, 4, None],
    "num_experts": [0, 1, 5, None],
    "num_local_experts": [0, 1, 5, None],
    "final_logit_softcapping": [3.0, None],
    "attn_logit_softcapping": [3.0, None],
    "layer_norm_eps": [1e-2],
    "rms_norm_eps": [1e-2],
    "norm_epsilon": [1e-2],
    "rotary_pct": [0.25, 1.0],
    "rotary_dim": [2, 8, 3],
    "mlp_type": ["default", "gated"],
    "layer_norm_epsilon": [1e-2],
    "id2label": [{"0": "a", "1": "b", "2": "c"}, {"0": "a", "1": "b"}],
    "pruned_heads": [{}, {"0": [0]}],
    "quantization_config": [None, {"quant_method": "hqq"}],
    "auto_map": [{"AutoModelForCausalLM": "modeling_x.X"}],
    "model_type": [],
    "per_layer_config": [],
    "architectures": [],
    "vocab_list": [["a", "b"]],
    "label2id": [{"a": 0}],
}
# Of refusals that the weights alone show.
OF_WEIGHTS = ["the map has no rule", "missing, the first is", "has not the frequencies"]
# Keys of older folders, of other programs, or that a class takes without listing them.
MORE = [
    *("torch_dtype", "_name_or_path", "pruned_heads", "torchscript", "use_bfloat16", "position_embedding_type", "n_ctx"),
    *("gradient_checkpointing", "rope_scaling", "rope_theta", "partial_rotary_factor", "attention_bias", "mlp_bias"),
    *("hidden_size", "num_attention_heads", "num_hidden_layers", "max_position_embeddings", "n_embd", "num_labels"),
    *("hidden_act", "sliding_window", "quantization_config", "auto_map", "tie_encoder_decoder", "do_sample", "max_length"),
    *("directionality", "pooler_fc_size", "output_past", "layer_types", "no_such_key", "attention_dropout", "qk_norm"),
    *("use_sliding_window", "logits_scaling", "embedding_multiplier", "final_logit_softcapping", "attention_multiplier"),
]
# Keys of some families' older folders.
MORE_OF = {
    "gpt_neox": ["rotary_pct", "rotary_emb_base"],
    "gptj": ["rotary", "scale_attn_weights"],
    "opt": ["activation_dropout"],
    "falcon": ["n_layer", "n_embed", "apply_residual_connection_post_layernorm"],
    "bloom": ["n_embed", "seq_length", "offset_alibi", "n_inner", "attention_softmax_in_fp32"],
    "starcoder2": ["mlp_type", "norm_type", "layer_norm_epsilon"],
    "gpt_bigcode": ["inference_runner", "max_sequence_length"],
}


def others(key, value):
    if key in VALUES:
        return VALUES[key]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value * 2 or 2, None]
    if isinstance(value, float):
        return [value * 3 + 0.125, None]
    if isinstance(value, str):
        return [value + "_x"]
    if value is None:
        return [1, True, "x"]
    return [None]


def keys_of(family):
    made = FAMILIES[family][1](**FAMILIES[family][2]).to_dict()
    return {**dict.fromkeys([*MORE, *MORE_OF.get(family, [])]), **transformers.PretrainedConfig().to_dict(), **made}


def make(family):
    """The folder, with every key of its config.json given."""
    torch.manual_seed(7)
    kind, config, sizes = FAMILIES[family]
    model = kind(config(**sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(family)
    for name in os.listdir(family):
        if name not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(family, name))
    with open(f"{family}/config.json") as file:
        return json.load(file)


def with_config(family, config):
    folder = f"{family}_changed"
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(f"{folder}/model.safetensors"):
        os.link(f"{family}/model.safetensors", f"{folder}/model.safetensors")
    with open(f"{folder}/config.json", "w") as file:
        json.dump(config, file)
    return folder


def reference(family, folder):
    """Its values, or None where transformers refuses the folder, or gives weights by chance."""
    try:
        model, told = FAMILIES[family][0].from_pretrained(
            folder, output_loading_info=True, attn_implementation=ATTENTION.get(family, "eager"), dtype=torch.float32
        )
        if any(len(told[what]) > 0 for what in ("missing_keys", "mismatched_keys")):
            return None
        with torch.no_grad():
            if family == "clip":
                said = model.eval()(pixel_values=PICTURE, input_ids=IDS)
                return torch.cat([said.image_embeds, said.text_embeds]).numpy().ravel()
            if family == "t5":
                return model.eval()(input_ids=IDS, labels=IDS).logits.numpy().ravel()
            if family in OF_PICTURES:
                return model.eval()(pixel_values=PICTURE).logits.numpy().ravel()
            ids = SENTENCE if family == "bert_classifier" else IDS
            return model.eval()(ids, attention_mask=torch.ones_like(ids)).logits.numpy().ravel()
    except Exception:  # whatever it says
        return None


def ours(folder):
    """(section, None) or (None, message)."""
    if os.path.exists("x.mdl"):
        os.remove("x.mdl")
    said = subprocess.run([csengine, "checkpoint", "convert", folder, "x.mdl", "--print_model"], capture_output=True, text=True)
    if said.returncode != 0:
        return None, said.stderr
    return said.stdout, None


def values(family, section, folder):
    """What the printed section computes of the folder; or None, and why."""
    loader = "data_processor: BertCSVDataProcessor, data_dir: " + ("csv_tokens" if family in ENCODERS else "csv")
    if family in ("t5", "clip"):
        names = "images, input_ids" if family == "clip" else "input_ids, labels"
        loader = f"data_processor: arrays, path: arrays.npz, arrays: [{names}]"
    elif family in OF_PICTURES:
        loader = "data_processor: idx_images, data_dir: images, mean: 0.0, std: 1.0"
    elif family == "bert_classifier":
        several = "problem_type: regression" in section or "problem_type: multi" in section
        loader = "data_processor: sentences, path: texts.csv, vocabulary: vocab.txt, lower: true, " + (
            "label: numbers, label_type: numbers, num_labels: 3" if several else "label: one"
        ) + f", max_sequence_length: {TIME}"
    elif family not in ("bert", "esm", *ENCODERS):
        loader = f"data_processor: text_bytes, path: text.bin, sequence_length: {TIME}"
    if family == "resnet":  # their configuration does not say the size of images
        section = section.replace("num_channels:", "image_size: [8, 8]\n      num_channels:")
    with open("run.yaml", "w") as file:
        file.write(section + f"""    model_dir: run
    backend: {{compile_dir: compiled}}
    optimizer: {{SGD: {{learning_rate: 0.01}}}}
    loop: {{num_steps: 1}}
  fit:
    train_dataloader: {{{loader}, batch_size: 1, shuffle: false}}
""")
    if os.path.exists("x.npy"):
        os.remove("x.npy")
    said = subprocess.run(
        [csengine, "predict", "run.yaml", "--checkpoint_path", folder, "--samples", "1", "--format", "npy", "--file", "x.npy"],
        capture_output=True,
        text=True,
    )
    return (numpy.load("x.npy").ravel(), None) if said.returncode == 0 else (None, said.stderr)


def near(one, other):
    return one is not None and other is not None and one.shape == other.shape and bool(abs(one - other).max() <= 2e-5 * max(1, abs(other).max()))


torch.manual_seed(11)
IDS = torch.randint(4, TOKENS, (1, TIME))
IDS[0, 4] = 3
with open("text.bin", "wb") as file:
    file.write(bytes(IDS[0].tolist()) + bytes(range(4, 30)))
os.makedirs("csv", exist_ok=True)
with open("csv/a.csv", "w") as file:
    row, ones = IDS[0].tolist(), [1] * TIME
    file.write(f'input_ids,attention_mask,token_type_ids,labels\n"{row}","{ones}","{[0] * TIME}","{row}"\n')
os.makedirs("csv_tokens", exist_ok=True)
with open("csv_tokens/a.csv", "w") as file:
    file.write(f'input_ids,attention_mask,labels\n"{row}","{ones}","{[0] * TIME}"\n')
with open("vocab.txt", "w") as file:
    file.write("".join(f"{word}\n" for word in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(4, TOKENS))]))
WORDS = [i for i in IDS[0].tolist() if i > 3][: TIME - 2]
SENTENCE = torch.tensor([[2, *WORDS, 3]])
with open("texts.csv", "w") as file:
    file.write("text,one,numbers\n" + " ".join(f"w{i}" for i in WORDS) + ",0,0|0|0\n")
pixels = bytes(i * i * 7 % 256 for i in range(64))
os.makedirs("images", exist_ok=True)
with open("images/train-images-idx3-ubyte", "wb") as file:
    file.write(struct.pack(">IIII", 0x803, 1, 8, 8) + pixels)
with open("images/train-labels-idx1-ubyte", "wb") as file:
    file.write(struct.pack(">II", 0x801, 1) + bytes(1))
numpy.savez("arrays.npz", images=numpy.frombuffer(pixels, "uint8").reshape(1, 1, 8, 8).astype("float32") / 255, input_ids=IDS, labels=IDS)
PICTURE = torch.tensor(list(pixels), dtype=torch.float32).reshape(1, 1, 8, 8) / 255

rows, wrong = [], []
begun = time.time()
for family in os.environ.get("CSE_FAMILIES", " ".join(FAMILIES)).split():
    config = make(family)
    rows.append(f"{family} base {json.dumps(config)}")
    base, why = ours(family)
    assert base is not None, (family, why)
    told = {base: values(family, base, family)}
    if not near(told[base][0], reference(family, family)):
        wrong.append(f"{family}: not the values of transformers: {told[base][1]}")
        continue
    for key, default in keys_of(family).items():
        for value in others(key, config.get(key, default)):
            changed = {**config, key: value}
            if key in ("rope_scaling", "rope_theta"):  # of older folders, which have no other
                changed.pop("rope_parameters", None)
            folder = with_config(family, changed)
            section, why = ours(folder)
            theirs = reference(family, folder) if section is not None else None
            verdict = "refused" if section is None else "same" if section == base else "used"
            if section is not None:
                if section not in told:
                    told[section] = values(family, section, folder)
                got, why = told[section]
                if got is None:
                    verdict = "unfit"
                elif not near(got, theirs) and not (verdict == "same" and theirs is None):
                    wrong.append(f"{family}: {key}: {json.dumps(value)}: {verdict}, " + ("transformers refuses it" if theirs is None else "other values"))
            elif any(part in why for part in OF_WEIGHTS) or (key not in why and "rope_" not in why):
                verdict = "unfit"  # for these weights, as there
                is_named = key in why or "rope_" in why or "which are one weight" in why
                if not is_named and reference(family, folder) is not None:
                    wrong.append(f"{family}: {key}: {json.dumps(value)}: refused without its name: {why}")
            rows.append(f"{family} {key} {json.dumps(value)} {verdict}")
    print(f"{family}: {len(rows)} rows, {time.time() - begun:.0f} s", flush=True)
HEAD = """# Keys of config.json, each with another value, and what becomes of them: FAMILY KEY VALUE VERDICT.
# Written by tests/python/config_keys.py, which has computed every folder with transformers. refused:
# by its name; same: the model as before, as in transformers; used: another one, as there; unfit: it
# does not fit the weights of the test, or the data.
"""
with open(TABLE) as file:
    known = [line for line in file.read().splitlines() if not line.startswith("#")]
if len(sys.argv) > 4:  # other families keep their rows
    of = {row.split(" ", 1)[0] for row in rows}
    kept = [row for row in known if row.split(" ", 1)[0] not in of]
    with open(TABLE, "w") as file:
        file.write(HEAD + "\n".join(kept + rows) + "\n")
else:
    made = {row for row in rows if " base " not in row}
    wrong += [f"not in {TABLE}: {row}" for row in sorted(made - set(known))]
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
