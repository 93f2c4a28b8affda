"""llama.cpp's side of generation_rates.py: a model is loaded once, and measured as often as a line
of JSON with prompts comes: {"prompts": [[...]], "tokens": N, "end": TOKEN}. Answers one line: seconds of the pass
over all prompts, seconds of each further pass over a token of each text, each as it went by and of
the processors, and the tokens.

    generation_llama.py MODEL.gguf THREADS TEXTS PROMPT_TOKENS NEW_TOKENS

Texts are sequences of one batch (llama_batch) in one cache; the most likely token is chosen by
numpy, whose time does not count.
"""

import ctypes
import json
import sys
import time

import llama_cpp as llama
import numpy


@llama.llama_log_callback
def be_quiet(level, text, data):
    pass


class Measured:
    def __init__(self, path, threads, texts, prompt_tokens, new_tokens):
        llama.llama_log_set(be_quiet, ctypes.c_void_p(0))
        llama.llama_backend_init()
        self.model = llama.llama_model_load_from_file(
            path.encode(), llama.llama_model_default_params()
        )
        if not self.model:
            raise SystemExit(f"{path}: not loaded")
        length = (prompt_tokens + new_tokens + 63) // 32 * 32
        options = llama.llama_context_default_params()
        options.n_ctx = length * texts
        options.n_batch = max(512, prompt_tokens * texts)
        options.n_ubatch = 512
        options.n_seq_max = texts
        options.n_threads = options.n_threads_batch = threads
        self.context = llama.llama_init_from_model(self.model, options)
        if not self.context:
            raise SystemExit(f"{path}: no context of {texts} texts")
        self.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))
        self.texts = texts
        self.batch = llama.llama_batch_init(options.n_batch, 0, 1)

    def put(self, rows):
        """Rows of token, place, sequence, and whether its logits are wanted."""
        self.batch.n_tokens = len(rows)
        for i, (token, place, sequence, wanted) in enumerate(rows):
            self.batch.token[i] = token
            self.batch.pos[i] = place
            self.batch.n_seq_id[i] = 1
            self.batch.seq_id[i][0] = sequence
            self.batch.logits[i] = wanted

    def run(self):
        """Seconds of the batch as it stands: that went by, and of the processors."""
        begun = time.perf_counter(), time.process_time()
        if llama.llama_decode(self.context, self.batch) != 0:
            raise SystemExit("llama_decode failed")
        llama.llama_synchronize(self.context)
        return time.perf_counter() - begun[0], time.process_time() - begun[1]

    def best(self, row, end):
        logits = llama.llama_get_logits_ith(self.context, row)
        values = numpy.ctypeslib.as_array(logits, (self.vocabulary,)).copy()
        values[end] = -numpy.inf
        return int(values.argmax())

    def measure(self, prompts, count, end):
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)
        rows, lasts = [], []
        for sequence, prompt in enumerate(prompts):
            rows += [(t, p, sequence, p == len(prompt) - 1) for p, t in enumerate(prompt)]
            lasts.append(len(rows) - 1)
        self.put(rows)
        prompt_seconds = self.run()
        texts = [[self.best(row, end)] for row in lasts]
        passes = []
        for n in range(count - 1):
            self.put(
                [(text[-1], len(prompts[s]) + n, s, True) for s, text in enumerate(texts)]
            )
            passes.append(self.run())
            for s, text in enumerate(texts):
                text.append(self.best(s, end))
        return {"prompt_seconds": prompt_seconds, "pass_seconds": passes, "texts": texts}


def main():
    path, numbers = sys.argv[1], [int(word) for word in sys.argv[2:]]
    measured = Measured(path, *numbers)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = measured.measure(asked["prompts"], asked["tokens"], asked["end"])
        print(json.dumps(answer), flush=True)


main()
