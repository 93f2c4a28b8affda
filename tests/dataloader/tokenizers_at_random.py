"""tokenizer.json files put together at random of the parts that Hugging Face's tokenizers has, with random texts; and what
csengine made of them beside the library's: numbers, places, texts back, and pairs with special tokens.

Usage: tokenizers_at_random.py make FOLDER COUNT TEXTS [SEED]
       tokenizers_at_random.py compare FOLDER           with what check_tokenizer_kinds wrote
(packages tokenizers, sentencepiece)"""
import glob
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, processors, trainers
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers_of_hugging_face import (BYTES, LLAMA3, MARKS, O200K, WORDS, blocks, charsmap, corpus, differences,
                                        write_texts)

PATTERNS = [r"\s+", r"\p{L}+", r"\d", r"[aeiou]", r"\w+|[^\w\s]+", r"\p{N}{1,3}", r"\s+(?!\S)|\s+", r"[^\S\n]+", "e", r"(?i:the|a)",
            r"\u0301", r"[\u4e00-\u9fff]", r"\x20", r"^.", r".$", r"\b", r"(?=[A-Z])", r"\p{M}", "ab?", LLAMA3, O200K, r"▁", r"Ġ",
            r" ?\S+", r"(\p{Ll})(\p{Lu})", r"[[:alpha:]]+", r"\p{Han}+", r"\R", r"[^a-z&&[^m-p]]", r"a{2,}?", r"\p{P}|\p{S}"]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
LITERALS = [" ", "e", "the", "\n", "é", "▁", "Ġ", "''", "\u0301", "!", "ab", "  ", ".", "\\s", "日"]
CHARSMAP = charsmap()


class At:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def one(self, *choices):
        return self.r.choice(choices)()

    def bool(self):
        return self.r.random() < 0.5

    def pattern(self):
        return Regex(self.r.choice(PATTERNS)) if self.bool() else self.r.choice(LITERALS)

    def letter(self):
        return self.r.choice(["▁", "_", "e", "é", "日", "Ġ", " "])

    def normalizer(self):
        r = self.r
        return self.one(N.NFC, N.NFD, N.NFKC, N.NFKD, N.Lowercase, N.StripAccents, N.Nmt, N.ByteLevel,
                        lambda: N.Precompiled(CHARSMAP),
                        lambda: N.BertNormalizer(self.bool(), self.bool(), r.choice([None, True, False]), self.bool()),
                        lambda: N.Replace(self.pattern(), r.choice(["", " ", "▁", "x", "ab", "é", "\u0301"])),
                        lambda: N.Prepend(r.choice(["▁", " ", "x ", "é"])), lambda: N.Strip(self.bool(), self.bool()))

    def pre_tokenizer(self):
        r = self.r
        return self.one(P.Whitespace, P.WhitespaceSplit, P.BertPreTokenizer, P.UnicodeScripts,
                        lambda: P.ByteLevel(add_prefix_space=self.bool(), use_regex=self.bool()),
                        lambda: P.Metaspace(self.letter(), r.choice(["always", "first", "never"]), self.bool()),
                        lambda: P.Punctuation(r.choice(BEHAVIORS)), lambda: P.Digits(self.bool()),
                        lambda: P.Split(self.pattern(), r.choice(BEHAVIORS), self.bool()),
                        lambda: P.CharDelimiterSplit(self.letter()), lambda: P.FixedLength(r.randrange(1, 7)))

    def decoder(self):
        r = self.r
        return self.one(decoders.ByteLevel, decoders.ByteFallback, decoders.Fuse,
                        lambda: decoders.Replace(self.pattern(), r.choice(["", " ", "x", "é"])),
                        lambda: decoders.Strip(r.choice([" ", "e", "▁"]), r.randrange(3), r.randrange(3)),
                        lambda: decoders.Metaspace(self.letter(), r.choice(["always", "first", "never"]), self.bool()),
                        lambda: decoders.WordPiece(r.choice(["##", "e", "▁"]), self.bool()),
                        lambda: decoders.BPEDecoder(r.choice(["</w>", "e"])),
                        lambda: decoders.CTC(r.choice(["<pad>", "e", "a"]), r.choice(["|", "o"]), self.bool()))

    def list_of(self, part, sequence, most):
        """None, one part, or some of them, perhaps within each other."""
        count = self.r.randrange(most + 1)
        parts = [part() for _ in range(count)]
        if count > 2 and self.bool():
            parts = [parts[0], sequence(parts[1:])]
        return None if count == 0 else parts[0] if count == 1 and self.bool() else sequence(parts)

    def model(self):
        r, common = self.r, dict(show_progress=False)
        kind = r.randrange(4)
        if kind == 0:
            affixes = r.choice([{}, {}, {}, dict(continuing_subword_prefix="##"), dict(end_of_word_suffix="</w>")])
            return (models.BPE(unk_token=r.choice([None, "<unk>"]), **affixes),
                    trainers.BpeTrainer(vocab_size=r.choice([300, 600]), special_tokens=["<unk>", "<s>"], **affixes,
                                        initial_alphabet=BYTES if self.bool() else [], **common))
        if kind == 1:
            return models.Unigram(), trainers.UnigramTrainer(vocab_size=r.choice([100, 400]), special_tokens=["<unk>", "<s>"],
                                                             unk_token="<unk>", **common)
        if kind == 2:
            options = r.choice([{}, dict(continuing_subword_prefix="@@"), dict(max_input_chars_per_word=r.randrange(1, 12))])
            prefix = {k: v for k, v in options.items() if k[0] == "c"}
            return (models.WordPiece(unk_token="<unk>", **options),
                    trainers.WordPieceTrainer(vocab_size=300, special_tokens=["<unk>", "<s>"], **prefix, **common))
        return models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(vocab_size=80, special_tokens=["<unk>", "<s>"],
                                                                             **common)

    def processor(self):
        r = self.r
        ends = ("<s>", 1), ("<unk>", 0)
        template = lambda: processors.TemplateProcessing(
            single=r.choice(["$A", "<s> $A", "$A:2 <s>", "<s> <unk> $A <s>:1"]), special_tokens=ends,
            pair=r.choice(["$A $B", "<s> $A <s> $B:1 <s>:1", "$B:1 <unk> $A", "<s> $A:3 $B:3"]))
        return self.one(lambda: None, template, lambda: processors.BertProcessing(*ends),
                        lambda: processors.RobertaProcessing(*ends, self.bool(), self.bool()),
                        lambda: processors.ByteLevel(trim_offsets=self.bool()),
                        lambda: processors.Sequence([processors.ByteLevel(trim_offsets=self.bool()), template()]),
                        lambda: processors.Sequence([template(), processors.ByteLevel(trim_offsets=self.bool())]),
                        lambda: processors.Sequence([processors.BertProcessing(*ends), template()]))

    def options(self, made):
        """Of the model, that no trainer sets."""
        r, model = self.r, made["model"]
        if model["type"] == "BPE":
            model["ignore_merges"], model["fuse_unk"] = self.bool(), self.bool()
            if not model["continuing_subword_prefix"] and not model["end_of_word_suffix"] and r.random() < 0.3:
                model["byte_fallback"] = True
                for b in range(256):
                    model["vocab"].setdefault(f"<0x{b:02X}>", len(model["vocab"]))
        if model["type"] == "Unigram" and r.random() < 0.3:
            model["byte_fallback"] = True
            model["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        made["added_tokens"] = []
        return made

    def added(self, t):
        r = self.r
        for _ in range(r.randrange(8)):
            token = AddedToken(r.choice(MARKS + WORDS[:20] + ["a b", "E", "\u0301", "日本", "  \t", "x\n"]), single_word=self.bool(),
                               lstrip=self.bool(), rstrip=self.bool(), normalized=self.bool())
            (t.add_special_tokens if self.bool() else t.add_tokens)([token])

    def tokenizer(self):
        model, trainer = self.model()
        t = Tokenizer(model)
        norm, pre = self.list_of(self.normalizer, N.Sequence, 3), self.list_of(self.pre_tokenizer, P.Sequence, 3)
        decoder = self.list_of(self.decoder, decoders.Sequence, 3)
        if norm is not None:
            t.normalizer = norm
        if pre is not None:
            t.pre_tokenizer = pre
        t.train_from_iterator(corpus[:40], trainer)
        t = Tokenizer.from_str(json.dumps(self.options(json.loads(t.to_str()))))
        self.added(t)
        if decoder is not None:
            t.decoder = decoder
        processor = self.processor()
        if processor is not None:
            t.post_processor = processor
        return t


def make(folder, count, texts, seed):
    for n in range(count):
        try:
            made = At(seed * 1000000 + n).tokenizer()
        except BaseException as error:  # the library panics at some of them
            print(f"{n}: not made: {ascii(str(error))[:100]}")
            continue
        made.save(f"{folder}/{n}.json")
        write_texts(f"{folder}/{n}.texts", texts, random.Random(seed * 1000000 + n))


def compare(folder):
    wrong, reasons = 0, {}
    for path in sorted(glob.glob(f"{folder}/*.json")):
        name = os.path.basename(path)[:-5]
        if os.path.exists(f"{folder}/{name}.refused"):
            reason = next(blocks(f"{folder}/{name}.refused")).decode().split(": ", 1)[1]
            reasons.setdefault(reason[:110], []).append(name)
            continue
        try:
            bad = differences(folder, name, ".json")[1]
        except BaseException as error:
            print(f"{name}: the library: {ascii(str(error))[:200]}")
            continue
        if bad:
            print(f"{name}: {bad} differ")
        wrong += bad > 0
    for reason, names in reasons.items():
        print(f"refused, {len(names)} (as {names[0]}): {reason}")
    print(f"{wrong} tokenizers differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], *map(int, sys.argv[3:5]), int(sys.argv[5]) if len(sys.argv) > 5 else 1)
    else:
        compare(sys.argv[2])
