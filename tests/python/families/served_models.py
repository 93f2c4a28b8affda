"""Models that `csengine serve --model` and `csengine chat` run: the answers of transformers' greedy
generate upon its apply_chat_template, with its log probabilities, and vectors of texts; by OpenAI's own
client where it is installed."""

import importlib.util
import json
import signal
import subprocess
import urllib.error
import urllib.request

import tokenizers
import torch
import transformers
from sentence_like import BERT, SIZES, Vectors, make_folder
from trial import Family, csengine, near, numpy, randomized, run, run_families

has_client = importlib.util.find_spec("openai") is not None
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Wie heißt du? Say it twice."}]


def make_tokenizer(folder):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=SPECIAL, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(["say it twice, be brief, wie heißt du " * 20], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    return fast


def talker():
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=256, bos_token_id=0, eos_token_id=1,
    )
    return transformers.LlamaForCausalLM(config)


def their_answer(model, tokenizer, messages, count):
    """The text, the tokens' log probabilities, and how many tokens the prompt has."""
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)["input_ids"]
    made = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count, do_sample=False, return_dict_in_generate=True,
        output_logits=True, eos_token_id=[1, 3], pad_token_id=1,
    )
    tokens = made.sequences[0, prompt.shape[1] :].tolist()
    logs = [float(logits[0].log_softmax(-1)[token]) for logits, token in zip(made.logits, tokens)]
    tokens = [token for token in tokens if token not in (1, 3)]
    return tokenizer.decode(tokens), logs[: len(tokens)], prompt.shape[1]


class Server:
    def __init__(self, *models):
        self.process = subprocess.Popen(
            [csengine, "serve", "--root", "queue", *(word for model in models for word in ("--model", model)), "--json"],
            stdout=subprocess.PIPE, text=True,
        )
        self.url = json.loads(self.process.stdout.readline())["url"].rstrip("/")
        with open("queue/token") as file:
            self.token = file.read().strip()

    def ask(self, path, **body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from error

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0


def by_client(server, text, vector):
    import openai

    client = openai.OpenAI(base_url=server.url + "/v1", api_key=server.token, max_retries=0, timeout=120)
    assert [model.id for model in client.models.list()] == ["talker", "vectors"]
    made = client.chat.completions.create(model="talker", messages=MESSAGES, temperature=0, max_tokens=20)
    assert made.choices[0].message.content == text, (made, text)
    pieces = client.chat.completions.create(
        model="talker", messages=MESSAGES, temperature=0, max_completion_tokens=20, stream=True, stream_options={"include_usage": True}
    )
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == text
    near("base64", numpy.array(client.embeddings.create(model="vectors", input="a cat sat").data[0].embedding), vector, 1e-5)
    for body in ({"temperature": -1}, {"extra_body": {"colour": 1}}, {"max_tokens": 10000}):
        try:
            client.chat.completions.create(model="talker", messages=MESSAGES, **body)
        except openai.BadRequestError as error:
            assert error.body["message"] and error.body["type"] == "invalid_request_error", error
        else:
            raise AssertionError(body)


def try_server(family):
    torch.manual_seed(4)
    model = randomized(talker())
    model.save_pretrained("talker")
    tokenizer = make_tokenizer("talker")
    texts = ["a cat sat", "the sun and the moon"]
    bert = randomized(transformers.BertModel(transformers.BertConfig(**SIZES, **BERT)))
    make_folder(bert, "mean_tokens", True, "vectors")
    text, logs, count = their_answer(model, tokenizer, MESSAGES, 20)
    server = Server("talker", "vectors")
    try:
        made = server.ask("/v1/chat/completions", model="talker", messages=MESSAGES, temperature=0, max_tokens=20, logprobs=True)
        choice = made["choices"][0]
        assert choice["message"]["content"] == text, (choice, text)
        assert made["usage"]["prompt_tokens"] == count, (made, count)
        got = [one["logprob"] for one in choice["logprobs"]["content"]]
        assert len(got) == len(logs) and max(abs(a - b) for a, b in zip(got, logs)) < 1e-4, (got, logs)
        found = server.ask("/v1/embeddings", model="vectors", input=texts)["data"]
        wanted = Vectors("vectors", "mean_tokens", True)(texts).detach().numpy()
        near("vectors", numpy.array([one["embedding"] for one in found]), wanted, 1e-5)
        if has_client:
            by_client(server, text, wanted[0])
    finally:
        server.end()
    said, _ = run("chat", "talker", "--system", MESSAGES[0]["content"], "--message", MESSAGES[1]["content"], "--greedy",
                  "--max_new_tokens", "20", "--json")
    assert json.loads(said)["message"]["content"] == text, (said, text)
    return {"name": family.name, "tokens": len(logs), "client": has_client, "worst": max(abs(a - b) for a, b in zip(got, logs))}


if __name__ == "__main__":
    run_families([Family("served_models", talker)], try_server)
