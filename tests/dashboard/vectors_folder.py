"""A folder of sentence-transformers with random weights. python3 vectors_folder.py FOLDER"""

import json
import os
import random
import struct
import sys

folder = sys.argv[1]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "sat", "the", "sun"]
WIDTH, FILTER, POSITIONS = 8, 12, 16
shapes = {"embeddings.word_embeddings": (len(WORDS), WIDTH), "embeddings.position_embeddings": (POSITIONS, WIDTH),
          "embeddings.token_type_embeddings": (2, WIDTH)}
layer = "encoder.layer.0."
for name in ("query", "key", "value"):
    shapes[f"{layer}attention.self.{name}"] = (WIDTH, WIDTH)
shapes[f"{layer}attention.output.dense"] = shapes["pooler.dense"] = (WIDTH, WIDTH)
shapes[f"{layer}intermediate.dense"], shapes[f"{layer}output.dense"] = (FILTER, WIDTH), (WIDTH, FILTER)
weights = {f"{name}.weight": shape for name, shape in shapes.items()}
weights |= {f"{name}.bias": shape[:1] for name, shape in shapes.items() if not name.startswith("embeddings")}
for name in ("embeddings.", f"{layer}attention.output.", f"{layer}output."):
    weights |= {f"{name}LayerNorm.{part}": (WIDTH,) for part in ("weight", "bias")}

os.makedirs(f"{folder}/1_Pooling")
random.seed(1)
header, values = {}, b""
for name, shape in weights.items():
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    numbers = struct.pack(f"<{count}f", *(random.uniform(-0.5, 0.5) for _ in range(count)))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(values), len(values) + len(numbers)]}
    values += numbers
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(f"{folder}/model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + values)
files = {
    "config.json": {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": len(WORDS), "hidden_size": WIDTH,
                    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": FILTER,
                    "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12},
    "modules.json": [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                     for i, (path, kind) in enumerate([("", "Transformer"), ("1_Pooling", "Pooling")])],
    "1_Pooling/config.json": {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True},
    "sentence_bert_config.json": {"max_seq_length": 8, "do_lower_case": False},
}
for name, value in files.items():
    with open(f"{folder}/{name}", "w") as file:
        json.dump(value, file)
with open(f"{folder}/vocab.txt", "w") as file:
    file.write("\n".join(WORDS) + "\n")
