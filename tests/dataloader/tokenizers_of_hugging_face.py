"""tokenizer.json files of many kinds, made by Hugging Face's tokenizers, with random and nasty texts; and the ids and
texts that csengine wrote for them beside the library's.

Likewise with tokenizer.model files that SentencePiece made.

Usage: tokenizers_of_hugging_face.py make FOLDER COUNT [SEED]     NAME.json and NAME.texts, COUNT texts of both sorts
       tokenizers_of_hugging_face.py compare FOLDER               with NAME.ids, which check_tokenizer_kinds wrote
(packages tokenizers, sentencepiece)"""
import glob
import io
import json
import os
import random
import struct
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, processors, trainers
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
NUMBERS_FIRST = [r"\p{N}{1,3}", r"[一-龥\u3040-ゟ゠-ヿ]+",
                 r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+"
                 r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
WORDS = ("the a of and to in is we'll DON'T it's hello world Hello naïve café cafe\u0301 Straße İstanbul 日本語の文章 привет мир "
         "12345 6789 3.14 x=1 {} [] () != ... --- foo_bar fooBar don\u2019t \u017f's K\u212a ﬁ Ａ１ ½ ² word wordy ab aab "
         "e\u0323\u0301 \u0344 ㎏ 가 각 ก็ हिन्दी مرحبا שלום").split()
MARKS = ["<sep>", "<|x|>", "<w>", "<|y|>", "Ünï", "  ", "\t", "é", "Ġ", "▁", "[UNK]", "##a", "</w>", "<0x41>", "!"]
corpus = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))]
BYTES = P.ByteLevel.alphabet()


def split(pattern, behavior="isolated", invert=False):
    return P.Split(pattern, behavior, invert)


def of_bytes(*before, prefix=False, regex=False):
    return P.Sequence([*before, P.ByteLevel(add_prefix_space=prefix, use_regex=regex)])


def bpe(pre, norm=None, decoder=None, alphabet=None, **options):
    """BPE over bytes, or over characters where there is an alphabet."""
    trained = {k: options.pop(k) for k in ("continuing_subword_prefix", "end_of_word_suffix") if k in options}
    t = Tokenizer(models.BPE(**trained, unk_token=options.get("unk_token")))
    if norm is not None:
        t.normalizer = norm
    if pre is not None:
        t.pre_tokenizer = pre
    specials = ["<|endoftext|>"] + ([options["unk_token"]] if "unk_token" in options else [])
    if options.get("byte_fallback"):
        specials += [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=700, special_tokens=specials, show_progress=False,
                                                      initial_alphabet=BYTES if alphabet is None else alphabet,
                                                      limit_alphabet=400 if alphabet is None else 60, **trained))
    made = json.loads(t.to_str())
    made["model"].update(options)
    made["added_tokens"] = []
    t = Tokenizer.from_str(json.dumps(made))
    t.decoder = decoders.ByteLevel() if decoder is None else decoder
    return t


def pieces(norm, pre, decoder=None, **options):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", **options))
    t.normalizer, t.pre_tokenizer = norm, pre
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]"],
                                                            show_progress=False))
    t.decoder = decoder or decoders.WordPiece()
    return t


def words(norm, pre):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    if norm is not None:
        t.normalizer = norm
    t.pre_tokenizer = pre
    t.train_from_iterator(corpus, trainers.WordLevelTrainer(vocab_size=80, special_tokens=["[UNK]"], show_progress=False))
    return t


def sentence_model(**options):
    """What SentencePiece makes of the corpus."""
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus * 3), model_writer=made, minloglevel=2,
                                             hard_vocab_limit=False, **options)
    return made.getvalue()


def charsmap():
    """Of SentencePiece's rule nmt_nfkc, its default."""
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(sentence_model(vocab_size=200))
    return model.normalizer_spec.precompiled_charsmap


def unigram(norm, pre, decoder, byte_fallback=False):
    t = Tokenizer(models.Unigram())
    if norm is not None:
        t.normalizer = norm
    if pre is not None:
        t.pre_tokenizer = pre
    t.train_from_iterator(corpus, trainers.UnigramTrainer(vocab_size=500, special_tokens=["<unk>", "<s>"],
                                                          unk_token="<unk>", show_progress=False))
    made = json.loads(t.to_str())
    if byte_fallback:
        made["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        made["model"]["byte_fallback"] = True
    t = Tokenizer.from_str(json.dumps(made))
    t.decoder = decoder
    return t


def followed(t, processor):
    t.post_processor = processor
    return t


def apart(*normalizers):
    """Words of SentencePiece, apart."""
    return N.Sequence(list(normalizers)), P.Sequence([P.WhitespaceSplit(), P.Metaspace()]), decoders.Metaspace()


LLAMA2 = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
PLAIN = dict(alphabet=["▁"])
kinds = {
    "gpt2": lambda: bpe(P.ByteLevel(add_prefix_space=False)),
    "gpt2_with_a_space": lambda: bpe(P.ByteLevel(add_prefix_space=True)),
    "llama3": lambda: bpe(of_bytes(split(Regex(LLAMA3))), ignore_merges=True),
    "o200k": lambda: bpe(of_bytes(split(Regex(O200K)))),
    "qwen": lambda: bpe(of_bytes(split(Regex(LLAMA3.replace("{1,3}", "")))), N.NFC()),
    "deepseek": lambda: bpe(of_bytes(*[split(Regex(p)) for p in NUMBERS_FIRST]), N.Sequence([])),
    "literal": lambda: bpe(of_bytes(split("we"), split(". ", "merged_with_previous"))),
    "punctuation": lambda: bpe(of_bytes(P.Punctuation(), regex=True)),
    "punctuation_contiguous": lambda: bpe(of_bytes(P.Punctuation("contiguous"))),
    "removed": lambda: bpe(of_bytes(split(Regex(r"\s+"), "removed"))),
    "removed_inverted": lambda: bpe(of_bytes(split(Regex(r"\w+|[^\w\s]+".replace(r"\w", r"\p{L}")), "removed", True))),
    "with_previous": lambda: bpe(of_bytes(split(Regex(r"[\s,]"), "merged_with_previous"))),
    "with_next": lambda: bpe(of_bytes(split(Regex(r"[\s,]"), "merged_with_next"))),
    "with_next_inverted": lambda: bpe(of_bytes(split(Regex(r"\p{L}+"), "merged_with_next", True))),
    "contiguous": lambda: bpe(of_bytes(split(Regex(r"\s|\p{P}"), "contiguous"))),
    "isolated_inverted": lambda: bpe(of_bytes(split(Regex(r"\p{L}+"), "isolated", True))),
    "empty_matches": lambda: bpe(of_bytes(split(Regex(r"a*|(?=b)")))),
    "digits": lambda: bpe(of_bytes(P.Digits(individual_digits=True), regex=True)),
    "digit_runs": lambda: bpe(of_bytes(P.Digits(individual_digits=False))),
    "white_space": lambda: bpe(of_bytes(P.Whitespace(), prefix=True)),
    "white_space_split": lambda: bpe(of_bytes(P.WhitespaceSplit())),
    "delimiter": lambda: bpe(of_bytes(P.CharDelimiterSplit("e"))),
    "nfkc_lower": lambda: bpe(P.ByteLevel(), N.Sequence([N.NFKC(), N.Lowercase()])),
    "nfd_bare": lambda: bpe(P.ByteLevel(), N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase(), N.Strip()])),
    "nfkd": lambda: bpe(P.ByteLevel(), N.NFKD()),
    "nmt": lambda: bpe(P.ByteLevel(), N.Sequence([N.Nmt(), N.Replace(Regex(" {2,}"), " "), N.Strip(True, False)])),
    "replaced": lambda: bpe(P.ByteLevel(), N.Sequence([N.Replace("the", "THE"), N.Prepend("x "), N.Strip(False, True)])),
    "llama2": lambda: bpe(None, N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), LLAMA2, **PLAIN, unk_token="<unk>",
                          fuse_unk=True, byte_fallback=True),
    "gemma": lambda: bpe(split(" ", "merged_with_previous"), N.Replace(" ", "▁"),
                         decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
                         **PLAIN, unk_token="<unk>", byte_fallback=True),
    "metaspace": lambda: bpe(P.Metaspace(), None, decoders.Metaspace(), **PLAIN, unk_token="<unk>"),
    "metaspace_first": lambda: bpe(P.Metaspace(prepend_scheme="first", split=False), N.Strip(), decoders.Metaspace(
        prepend_scheme="first"), **PLAIN, unk_token="<unk>", fuse_unk=True),
    "metaspace_never": lambda: bpe(P.Metaspace("_", "never"), None, decoders.Metaspace("_", "never"), alphabet=["_"]),
    "metaspace_split_first": lambda: bpe(P.Sequence([P.WhitespaceSplit(), P.Metaspace(prepend_scheme="first")]), None,
                                         decoders.Metaspace(), **PLAIN),
    "clip": lambda: bpe(of_bytes(split(Regex(r"'s|'t|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"), "removed", True)),
                        N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]),
                        end_of_word_suffix="</w>", unk_token="<|endoftext|>"),
    "subwords": lambda: bpe(P.BertPreTokenizer(), N.Lowercase(), decoders.WordPiece("##", False), alphabet=[],
                            continuing_subword_prefix="##", unk_token="<unk>"),
    "unknown": lambda: bpe(P.WhitespaceSplit(), None, decoders.Fuse(), alphabet=[], unk_token="<unk>"),
    "unknown_fused": lambda: bpe(P.WhitespaceSplit(), None, decoders.BPEDecoder("e"), alphabet=[], unk_token="<unk>",
                                 fuse_unk=True),
    "bert": lambda: pieces(N.BertNormalizer(), P.BertPreTokenizer()),
    "bert_cased": lambda: pieces(N.BertNormalizer(lowercase=False), P.BertPreTokenizer()),
    "bert_accents": lambda: pieces(N.BertNormalizer(lowercase=True, strip_accents=False, clean_text=False),
                                   P.BertPreTokenizer(), decoders.WordPiece(cleanup=False)),
    "xlm_roberta": lambda: unigram(*apart(N.Precompiled(charsmap()))),
    "t5": lambda: unigram(N.Precompiled(charsmap()), P.Metaspace(), decoders.Metaspace()),
    "t5_first": lambda: unigram(N.Precompiled(charsmap()), P.Metaspace(prepend_scheme="first"),
                                decoders.Metaspace(prepend_scheme="first")),
    "albert": lambda: unigram(*apart(N.Replace("``", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(),
                                     N.Precompiled(charsmap()), N.Replace(Regex(" {2,}"), " "))),
    "unigram_bytes": lambda: unigram(None, P.Metaspace(split=False), decoders.Sequence([decoders.ByteFallback(),
                                                                                       decoders.Metaspace()]), True),
    "unigram_bare": lambda: unigram(None, None, decoders.Fuse()),
    "bytes_normalized": lambda: bpe(split(Regex("Ġ?[^Ġ]+")), N.Sequence([N.NFC(), N.ByteLevel()])),
    "bytes_in_the_middle": lambda: bpe(P.Sequence([P.ByteLevel(add_prefix_space=True), P.Digits(True)])),
    "falcon": lambda: bpe(P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(False),
                                      split(Regex("[0-9][0-9][0-9]"))])),
    "fixed_length": lambda: words(None, P.FixedLength(2)),
    "ctc": lambda: bpe(P.WhitespaceSplit(), None, decoders.CTC("e", "a"), alphabet=[], unk_token="<unk>"),
    "bloom": lambda: bpe(of_bytes(split(Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+")))),
    "cl100k": lambda: bpe(of_bytes(split(Regex(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
        r"\s+(?!\S)|\s")))),
    "sets": lambda: bpe(of_bytes(split(Regex(r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lo}\p{M}&&[^\p{Han}]]*"
                                             r"[\p{Ll}\p{Lm}\p{Lo}&&[^\p{Han}]]+|\p{N}{1,3}|\s+(?!\S)|\s+")))),
    "word_class": lambda: bpe(of_bytes(split(Regex(r"\b\w|\w+|[^\w\s]+")))),
    "lines": lambda: bpe(of_bytes(split(Regex(r"^\s+|\s+$|\n")))),
    "negated": lambda: bpe(of_bytes(split(Regex(r"[\P{L}]+|[^\S\n]+|\W")))),
    "categories": lambda: bpe(of_bytes(split(Regex(r"\p{Pd}+|\p{Sc}|\p{Zs}|\p{Mn}|\p{Cc}|\p{Hiragana}+|\p{Cyrillic}+")))),
    "roberta": lambda: followed(bpe(P.ByteLevel()), processors.RobertaProcessing(("</s>", 2), ("<s>", 0))),
    "bert_pairs": lambda: followed(pieces(N.BertNormalizer(), P.BertPreTokenizer()),
                                   processors.BertProcessing(("[UNK]", 0), ("[CLS]", 1))),
    "template": lambda: followed(words(None, P.Whitespace()), processors.TemplateProcessing(
        single="[UNK] $A:3 the", pair="$B:2 [UNK]:4 $A:1 the:1 the", special_tokens=[("[UNK]", 0), ("the", 1)])),
    "template_trimmed": lambda: followed(bpe(P.ByteLevel()), processors.Sequence([
        processors.TemplateProcessing(single="$A <e>", pair="$A <e> $B:1 <e>:1", special_tokens=[("<e>", 0)]),
        processors.ByteLevel(trim_offsets=True)])),
    "scripts": lambda: bpe(P.Sequence([P.UnicodeScripts(), P.ByteLevel(add_prefix_space=False)])),
    "trimmed": lambda: followed(bpe(P.ByteLevel(add_prefix_space=False)), processors.ByteLevel(trim_offsets=True)),
    "words": lambda: words(None, P.Whitespace()),
    "words_lower": lambda: words(N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase()]), P.BertPreTokenizer()),
}

sentence_kinds = {
    "model_unigram": dict(model_type="unigram", vocab_size=300),
    "model_bpe": dict(model_type="bpe", vocab_size=300),
    "model_bpe_bytes": dict(model_type="bpe", vocab_size=500, byte_fallback=True, split_digits=True),
    "model_unigram_bytes": dict(model_type="unigram", vocab_size=500, byte_fallback=True,
                                normalization_rule_name="nmt_nfkc_cf"),
    "model_as_it_is": dict(model_type="bpe", vocab_size=600, byte_fallback=True, normalization_rule_name="identity",
                           remove_extra_whitespaces=False, user_defined_symbols=["<sep>", "▁▁", "  ", "the a"]),
    "model_suffix": dict(model_type="unigram", vocab_size=300, treat_whitespace_as_suffix=True),
    "model_no_prefix": dict(model_type="unigram", vocab_size=300, add_dummy_prefix=False),
}


def add(t):
    """Added tokens with every flag; some are symbols of bytes or characters of the model."""
    t.add_special_tokens([AddedToken("<|x|>", rstrip=True, normalized=False), AddedToken("<|y|>", lstrip=True, rstrip=True,
                                                                                        normalized=False)])
    t.add_tokens([AddedToken("<sep>", lstrip=True), AddedToken("<w>", single_word=True), AddedToken("word", single_word=True,
                                                                                                    normalized=False),
                  AddedToken("Ünï", normalized=True), AddedToken("é", normalized=False), AddedToken("Ġ", normalized=False),
                  AddedToken("!", normalized=True, rstrip=True)])
    t.add_tokens([AddedToken(" " * n, normalized=False) for n in (2, 3)] + [AddedToken("\t\t", normalized=False)])
    return t


def character(random):
    """Of all planes, the first ones more often."""
    while True:
        c = random.randrange(random.choice([0x80, 0x80, 0x250, 0x3000, 0x10000, 0x20000, 0x110000]))
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def plain_text(random):
    return random.choice(["", " ", "\n"]).join(random.choice(WORDS + MARKS) if random.random() < 0.7 else " "
                                               for _ in range(random.randrange(12)))


def nasty_text(random):
    parts = []
    for _ in range(random.randrange(1, 9)):
        sort = random.randrange(8)
        if sort < 3:
            parts.append("".join(character(random) for _ in range(random.randrange(1, 6))).encode())
        elif sort == 3:
            parts.append(bytes(random.choice([0x20, 0x20, 9, 10, 13, 0, 0x1F, 0x7F]) for _ in range(random.randrange(1, 60))))
        elif sort == 4:
            parts.append(random.choice(["\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\u0085", "\u2028"]).encode())
        elif sort == 5:
            parts.append(random.choice(MARKS).encode() * random.randrange(1, 4))
        elif sort == 6:
            parts.append(random.choice(WORDS).encode() + random.choice(["\u0301", "\u0323", "\u0334", "\u094d"]).encode() * 2)
        else:
            parts.append(bytes(random.randrange(256) for _ in range(random.randrange(1, 5))))
        if random.random() < 0.3:
            parts.append(b" " * random.randrange(1, 4))
    return b"".join(parts)


def as_text(content):
    """Each byte that is no UTF-8 is an U+FFFD."""
    text = content.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def write_texts(path, count, rng):
    with open(path, "wb") as file:
        for i in range(2 * count):
            text = plain_text(rng).encode() if i % 2 == 0 else nasty_text(rng)
            file.write(struct.pack("<I", len(text)) + text)


def make(folder, count, seed):
    for n, (name, build) in enumerate(kinds.items()):
        add(build()).save(f"{folder}/{name}.json")
        write_texts(f"{folder}/{name}.texts", count, random.Random(seed * 1000 + n))
    for n, (name, options) in enumerate(sentence_kinds.items()):
        with open(f"{folder}/{name}.model", "wb") as file:
            file.write(sentence_model(**options))
        write_texts(f"{folder}/{name}.texts", count, random.Random(seed * 2000 + n))


def blocks(path):
    content, at = open(path, "rb").read(), 0
    while at < len(content):
        size = struct.unpack_from("<I", content, at)[0]
        yield content[at + 4:at + 4 + size]
        at += 4 + size


def of_tokenizers(path):
    t = Tokenizer.from_file(path)

    def encode(text, before):
        made, pair = t.encode(text, add_special_tokens=False), t.encode(text, before)
        back = t.decode(made.ids, skip_special_tokens=False) if made.ids else ""
        return made.ids, made.offsets, back, (pair.ids, pair.type_ids)

    return encode


def of_sentences(path):
    t = sentencepiece.SentencePieceProcessor(model_file=path)

    def encode(text, before):
        content = text.encode()
        pieces = t.encode(text, return_type="proto").pieces
        ids = [piece.id for piece in pieces]
        places = [tuple(len(content[:at].decode("utf-8", "ignore")) for at in (p.begin, p.end)) for p in pieces]
        second = t.encode(before)
        return ids, places, t.decode(ids), (ids + second, [0] * len(ids) + [1] * len(second))

    return encode


def numbers(block):
    return list(struct.unpack(f"<{len(block) // 4}i", block))


def differences(folder, name, sort):
    """Prints the first ones; how many texts, and how many of them differ."""
    encode = of_sentences(f"{folder}/{name}{sort}") if sort == ".model" else of_tokenizers(f"{folder}/{name}{sort}")
    ours = blocks(f"{folder}/{name}.ids")
    count = bad = 0
    before = "a pair"
    for content in blocks(f"{folder}/{name}.texts"):
        ids, back, ends = numbers(next(ours)), next(ours).decode("utf-8", "replace"), numbers(next(ours))
        mine = ids, list(zip(ends[::2], ends[1::2])), back, (numbers(next(ours)), numbers(next(ours)))
        theirs = encode(as_text(content), before)
        before = as_text(content)
        count += 1
        if mine == theirs:
            continue
        bad += 1
        if bad <= 3:
            print(f"{name}: {ascii(as_text(content))}")
            for a, b in zip(mine, theirs):
                if a != b:
                    print(f"  {ascii(a)}\n  {ascii(b)}")
    return count, bad


def compare(folder):
    wrong = len(refused := glob.glob(f"{folder}/*.refused"))
    for path in refused:
        print(f"{path}: {list(blocks(path))}")
    for path in sorted(glob.glob(f"{folder}/*.json") + glob.glob(f"{folder}/*.model")):
        name, sort = os.path.splitext(os.path.basename(path))
        if os.path.exists(f"{folder}/{name}.refused"):
            continue
        count, bad = differences(folder, name, sort)
        print(f"{name}: {count} texts, {bad} differ")
        wrong += bad
    sys.exit(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    else:
        compare(sys.argv[2])
