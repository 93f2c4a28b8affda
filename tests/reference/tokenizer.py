"""Three small tokenizers and what Hugging Face's tokenizers makes of texts with them, for tests/dataloader/
check_tokenizer.c. The first is trained on the text in tokenizer_text.txt.

Written by: python3 tokenizer.py (package tokenizers 0.23), in tests/reference."""
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TEXT = ("the cat sat on the mat, and the other cat's hat sat on that. Don't they'll we've I'm you're he'd 's\n"
        "In 2024 there were 1234567 cats; 12 of them were 3 years old.\n\n\tint main(void) { return 0; }  \n"
        "Привет, мир! Привет, кот. Ελληνικά. 你好,世界。 日本語のテキスト。 안녕하세요. नमस्ते दुनिया "
        "été naïve façade — “quoted” … 🙂🙃🙂 aaaaaaaaaaaaaaaa banana bananas bandana\n") * 3
CASES = ["", " ", "the cat's hats", "Hello, world!  Don't  panic.\n\n  x", "a" * 100, "ab" * 40,
         "Привет, мир 🙂", "你好 世界 \u3000 x\u00a0y\u180ez\u0085w", "123456 7 ٣٤ ½ Ⅷ", "x<|endoftext|>y <|mask|>  z",
         "<|endoftext|><|endoftext|>x", " \t\n\r\n \u2028 end ", "ᲈ Ᲊ \U00010d40\U00010d4a 𞗱", "I'LL I'll 'S 's",
         "e\u0301\u0327 नमस्ते", "\u0000\u0001\u007f~", "naïve café", "\U0010ffff\ufffd\uffff"]
LLAMA = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
         "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
BYTES = pre_tokenizers.ByteLevel.alphabet()


def make(name, model, splitter, size, alphabet, specials, added=()):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([TEXT], trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=specials, show_progress=False))
    tokenizer.add_tokens(list(added))
    tokenizer.save(f"tokenizer_{name}.json", pretty=False)
    return name, tokenizer


made = [
    make("plain", models.BPE(), pre_tokenizers.ByteLevel(add_prefix_space=False), 420, BYTES, ["<|endoftext|>"]),
    make("split", models.BPE(ignore_merges=True), pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), 420, BYTES, ["<|endoftext|>"],
        [AddedToken("<|mask|>", lstrip=True, rstrip=True), AddedToken("<|mask|>x")]),
    make("digits", models.BPE(unk_token="<unk>"), pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)]), 200, [],
        ["<unk>"]),
]
# The first once more, in GPT-2's two files.
model = json.load(open("tokenizer_plain.json"))["model"]
json.dump(model["vocab"], open("tokenizer_vocab.json", "w"), separators=(",", ":"))
with open("tokenizer_merges.txt", "w") as f:
    f.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in model["merges"]))
open("tokenizer_text.txt", "w").write(TEXT)


def bytes_of(text):
    lines, line = [], ""
    for byte in text.encode():
        part = f"{byte},"
        if len(line) + len(part) > 84:
            lines.append(line)
            line = ""
        line += part
    return "\n    ".join(lines + [line]) if text else "0"


with open("tokenizer.h", "w") as f:
    f.write("/* Written by tokenizer.py: texts, and their tokens by Hugging Face's tokenizers. */\n"
            "/* clang-format off */\n")
    for i, case in enumerate(CASES):
        f.write(f"static const unsigned char text_{i}[] = {{\n    {bytes_of(case)}\n}};\n")
        for name, tokenizer in made:
            ids = tokenizer.encode(case, add_special_tokens=False).ids
            lines, line = [], ""
            for one in ids:
                if len(line) > 80:
                    lines.append(line)
                    line = ""
                line += f"{one},"
            f.write(f"static const int32_t {name}_{i}[] = {{\n    " + "\n    ".join(lines + [line + "-1"]) + "\n};\n")
    f.write("static const struct {\n    const unsigned char *text;\n    size_t size;\n"
            "    const int32_t *ids[3]; /* ended by -1 */\n} tokenizer_cases[] = {\n")
    for i, case in enumerate(CASES):
        f.write(f"    {{ text_{i}, {len(case.encode())}, {{ " + ", ".join(f"{name}_{i}" for name, _ in made) + " } },\n")
    f.write("};\n/* clang-format on */\n")
