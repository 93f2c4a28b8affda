"""Folders of transformers' ESM-2: logits as there, a training that begins with it, and the way back.

Run: python3 esm_folder.py CSENGINE FOLDER
"""

import json
import os

import numpy
import torch
from folders import run, transformers

torch.manual_seed(5)

TIME, SAMPLES, MASK = 20, 4, 32
config = transformers.EsmConfig(
    vocab_size=33,
    mask_token_id=MASK,
    pad_token_id=1,
    hidden_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=TIME,
    position_embedding_type="rotary",
    emb_layer_norm_before=False,
    token_dropout=True,
    layer_norm_eps=1e-5,
    initializer_range=0.3,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)


def compare(name, checkpoint, model):
    """Logits of all tokens; other rows of queries and keys would make others."""
    run(
        *("predict", "run.yaml", "--checkpoint_path", checkpoint, "--samples", "0", "--format", "npy"),
        *("--file", f"{name}.npy"),
    )
    with torch.no_grad():
        wanted = model.eval()(tokens, attention_mask=torch.ones_like(tokens)).logits.numpy()
    got = numpy.load(f"{name}.npy").reshape(wanted.shape)
    worst = abs(got - wanted).max()
    print(f"{name}: largest difference {worst:.3g} of {numpy.ptp(wanted):.3g}")
    assert worst <= 1e-5 * numpy.ptp(wanted), name
    assert numpy.median(numpy.ptp(wanted, axis=(0, 1))) > 1e-1, "the tokens are all alike: that shows nothing"


tokens = torch.randint(4, 24, (SAMPLES, TIME))
tokens[0, 3:6] = tokens[1, 0] = tokens[2, TIME - 1] = MASK  # another share in each sample
os.makedirs("data")
with open("data/a.csv", "w") as file:
    file.write("input_ids,attention_mask,labels\n")
    for row in tokens.tolist():
        file.write(f'"{row}","{[1] * TIME}","{row}"\n')
with open("run.yaml", "w") as file:
    file.write(f"""trainer:
  init:
    model_dir: run
    backend: {{compile_dir: compiled}}
    model: {{name: esm2, vocab_size: 33, hidden_size: 48, num_hidden_layers: 2, num_heads: 4, filter_size: 64,
      max_position_embeddings: {TIME}, position_embedding_type: rotary, rotary_dim: 12, token_dropout: true,
      mask_token_id: {MASK}, pad_token_id: 1, disable_nsp: true, embedding_layer_norm: false,
      use_final_layer_norm: true, dropout_rate: 0, embedding_dropout_rate: 0,
      mlm_loss_weight: 0.05}}
    optimizer:
      Adam: {{learning_rate: 0.001}}
    loop: {{num_steps: 3}}
    checkpoint: {{steps: 3}}
    seed: 1
  fit:
    train_dataloader: {{data_processor: BertCSVDataProcessor, data_dir: data, batch_size: {SAMPLES}}}
""")
model = transformers.EsmForMaskedLM(config)
with torch.no_grad():
    model.lm_head.bias.uniform_(-1, 1)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.add_(torch.empty_like(parameter).uniform_(-0.2, 0.2))
model.save_pretrained("esm")
compare("from transformers", "esm", model)

out = run("start", "run.yaml", "--weights", "esm", "--no_dashboard")
assert "loaded weights esm: " in out, out
run("checkpoint", "convert", "run/checkpoint_3.mdl", "back")
with open("back/config.json") as file:
    told = json.load(file)
for key in ("model_type", "mask_token_id", "token_dropout", "position_embedding_type", "emb_layer_norm_before"):
    assert told[key] == getattr(config, key), (key, told)
trained = transformers.EsmForMaskedLM.from_pretrained("back")
moved = abs(trained.lm_head.dense.weight - model.lm_head.dense.weight).max().item()
assert moved > 1e-4, "training has changed nothing"
compare("to transformers", "run/checkpoint_3.mdl", trained)
