"""transformers' side of generation_rates.py; lines as those of generation_llama.py.

    generation_transformers.py FOLDER THREADS TEXTS PROMPT_TOKENS NEW_TOKENS DTYPE CACHE

DTYPE float32 or bfloat16; CACHE dynamic or static. The prompts of a batch have one length, so that
nothing is filled up; logits are computed of the last token alone.
"""

import json
import sys
import time

import torch
import transformers

transformers.logging.set_verbosity_error()


class Measured:
    def __init__(self, folder, threads, texts, prompt_tokens, new_tokens, dtype, cache):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=getattr(torch, dtype), attn_implementation="sdpa"
        ).eval()
        self.most, self.is_static = prompt_tokens + new_tokens, cache == "static"

    def cache(self):
        if self.is_static:
            return transformers.StaticCache(self.model.config, max_cache_len=self.most)
        return transformers.DynamicCache()

    def run(self, tokens, cache, place):
        begun = time.perf_counter(), time.process_time()
        output = self.model(
            input_ids=tokens,
            past_key_values=cache,
            cache_position=torch.arange(place, place + tokens.shape[1]),
            use_cache=True,
            logits_to_keep=1,
        )
        seconds = time.perf_counter() - begun[0], time.process_time() - begun[1]
        return output.logits[:, -1], seconds

    def measure(self, prompts, count, end):
        cache = self.cache()
        tokens = torch.tensor(prompts)
        place = tokens.shape[1]
        logits, prompt_seconds = self.run(tokens, cache, 0)
        texts, passes = [[] for _ in prompts], []
        for n in range(count):
            logits = logits.clone()
            logits[:, end] = -torch.inf
            tokens = logits.argmax(-1, keepdim=True)
            for text, token in zip(texts, tokens[:, 0].tolist()):
                text.append(token)
            if n + 1 < count:
                logits, seconds = self.run(tokens, cache, place + n)
                passes.append(seconds)
        return {"prompt_seconds": prompt_seconds, "pass_seconds": passes, "texts": texts}


def main():
    folder, numbers, words = sys.argv[1], [int(w) for w in sys.argv[2:6]], sys.argv[6:]
    measured = Measured(folder, *numbers, *words)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = measured.measure(asked["prompts"], asked["tokens"], asked["end"])
        print(json.dumps(answer), flush=True)


main()
