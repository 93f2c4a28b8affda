/* Each row names the steps of one way, in order; a step cuts each piece that the steps before it
 * left, and what a pattern does not match stays a piece of its own. After them bytes become
 * characters. The patterns are those of the models' own tokenizer.json files; letters of scripts
 * with two cases are given by their numbers. */
#include "engine/formats/weights/tokenizer/pre_tokenizers.h"

#include <string.h>

enum { MOST_STEPS = 7 };

typedef enum kind { NO_STEP, SPLIT, DIGITS, DIGIT, PUNCTUATION, OF_GPT2 } kind;

typedef struct step {
    kind kind;
    const char *pattern; /* of SPLIT */
} step;

/* clang-format off */
#define WORDS_AND_SPACES " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define OF_LLAMA_3 CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" WORDS_AND_SPACES
#define OF_QWEN_2 CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|" WORDS_AND_SPACES
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define OF_GPT_4O                                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER "]+" CONTRACTIONS "?"                           \
    "|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]+[" LOWER "]*" CONTRACTIONS "?"                          \
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define OF_TEKKEN                                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER "]+"                                            \
    "|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]+[" LOWER "]*"                                           \
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define OF_GPT_2                                                                                \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define HAN_AND_HANGUL "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
#define CASED_LETTERS                                                                           \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"\
    "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}"       \
    "\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}"\
    "\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}"\
    "\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}"              \
    "\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}"              \
    "\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}"       \
    "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}"       \
    "\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}"      \
    "\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}" \
    "\\x{2128}\\x{212A}-\\x{212D}"                                                              \
    "\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}"      \
    "\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}"      \
    "\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}"              \
    "\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"              \
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}"          \
    "\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}"      \
    "\\x{1E900}-\\x{1E943}"
#define OF_DEEPSEEK_3                                                                           \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"        \
    "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
    const char *names; /* in GGUF, separated by blanks; the first is written */
    step steps[MOST_STEPS];
    bool whole_words, begins_text, composes; /* composes: texts become NFC first */
} ways[] = {
    { "gpt-2 phi-2 mpt jais jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code "
      "roberta-bpe gigachat a.x-4.0 mellum trillion granite-docling",
      { { OF_GPT2, NULL } }, false, false, false },
    { "olmo modern-bert", { { OF_GPT2, NULL } }, false, false, true },
    { "smollm starcoder refact codeshell exaone minerva-7b",
      { { DIGIT, NULL }, { OF_GPT2, NULL } }, false, false, false },
    { "command-r", { { DIGIT, NULL }, { OF_GPT2, NULL } }, false, false, true },
    { "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2",
      { { SPLIT, OF_LLAMA_3 } }, true, true, false },
    { "dbrx smaug-bpe", { { SPLIT, OF_LLAMA_3 } }, false, false, false },
    { "qwen2 deepseek-r1-qwen kormo", { { SPLIT, OF_QWEN_2 } }, false, false, true },
    { "stablelm2 megrez", { { SPLIT, OF_QWEN_2 } }, false, false, false },
    { "falcon", { { PUNCTUATION, NULL }, { OF_GPT2, NULL }, { DIGITS, NULL },
                  { SPLIT, "[0-9][0-9][0-9]" } }, false, false, false },
    { "default", { { SPLIT, "[\\p{P}\\$\\+<=>\\^~\\|]+" }, { SPLIT, OF_GPT_2 },
                   { SPLIT, "\\p{N}+" }, { SPLIT, "[0-9][0-9][0-9]" } }, false, false, false },
    { "bloom", { { SPLIT, " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81"
                          "\xe0\xa5\xa4\xdb\x94\xd8\x8c])]+" } }, false, false, false },
    { "deepseek-llm", { { SPLIT, "[\\r\\n]" }, { SPLIT, "\\s?[" CASED_LETTERS "]+" },
                        { SPLIT, "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}"
                                 "\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+" },
                        { SPLIT, "\\s+$" }, { SPLIT, HAN_AND_HANGUL }, { DIGITS, NULL } },
      false, false, false },
    { "deepseek-coder", { { SPLIT, "[\\r\\n]" }, { SPLIT, "\\s?\\p{L}+" },
                          { SPLIT, "\\s?\\p{P}+" }, { SPLIT, HAN_AND_HANGUL }, { DIGIT, NULL } },
      false, false, false },
    { "deepseek-v3 hunyuan-dense", { { SPLIT, "\\p{N}{1,3}" },
                       { SPLIT, "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+" },
                       { SPLIT, OF_DEEPSEEK_3 } }, false, false, false },
    { "gpt-4o llama4", { { SPLIT, OF_GPT_4O } }, false, false, false },
    { "tekken", { { SPLIT, OF_TEKKEN } }, true, true, false },
};
/* clang-format on */
enum { WAYS = sizeof ways / sizeof ways[0] };

static bool is_among(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; *at != '\0';) {
        const size_t size = strcspn(at, " ");
        if (size == length && strncmp(at, name, size) == 0)
            return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

static json_t *byte_level(bool cuts)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                     "trim_offsets", 1, "use_regex", cuts);
}

static json_t *json_of_step(const step *s)
{
    switch (s->kind) {
    case SPLIT:
        return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex",
                         s->pattern, "behavior", "Isolated", "invert", 0);
    case PUNCTUATION:
        return json_pack("{s:s, s:s}", "type", "Punctuation", "behavior", "Contiguous");
    case OF_GPT2:
        return byte_level(true);
    default:
        return json_pack("{s:s, s:b}", "type", "Digits", "individual_digits", s->kind == DIGIT);
    }
}

static json_t *json_of_steps(const step steps[MOST_STEPS])
{
    json_t *list = json_array();
    bool of_bytes = false;
    for (int i = 0; i < MOST_STEPS && steps[i].kind != NO_STEP; i++) {
        of_bytes = of_bytes || steps[i].kind == OF_GPT2;
        json_array_append_new(list, json_of_step(&steps[i]));
    }
    if (!of_bytes)
        json_array_append_new(list, byte_level(false));
    if (json_array_size(list) > 1)
        return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", list);
    json_t *one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

bool cse_pre_tokenizer_named(const char *name, cse_pre_tokenizer *found)
{
    for (int i = 0; i < WAYS; i++) {
        if (!is_among(ways[i].names, name))
            continue;
        *found =
            (cse_pre_tokenizer){ .normalizer = ways[i].composes ? json_pack("{s:s}", "type", "NFC")
                                                                : json_null(),
                                 .pre_tokenizer = json_of_steps(ways[i].steps),
                                 .whole_words = ways[i].whole_words,
                                 .begins_text = ways[i].begins_text };
        return true;
    }
    return false;
}

void cse_pre_tokenizer_names(cse_text *names)
{
    for (int i = 0; i < WAYS; i++)
        for (const char *at = ways[i].names; *at != '\0';) {
            const size_t size = strcspn(at, " ");
            cse_text_add(names, "%s%.*s", names->size > 0 ? ", " : "", (int)size, at);
            at += size + strspn(at + size, " ");
        }
}

/* What decides about words alone, as a list; json_decref(). */
static json_t *plain_steps(const json_t *pre_tokenizer)
{
    const json_t *inner = json_object_get(pre_tokenizer, "pretokenizers");
    json_t *list = json_is_array(inner) ? json_deep_copy(inner)
                                        : json_pack("[o]", json_deep_copy(pre_tokenizer)),
           *entry;
    size_t i;
    json_array_foreach(list, i, entry)
    {
        json_object_del(entry, "trim_offsets");
        json_object_del(entry, "add_prefix_space");
        if (json_object_get(entry, "use_regex") == NULL &&
            strcmp(json_is_string(json_object_get(entry, "type"))
                       ? json_string_value(json_object_get(entry, "type"))
                       : "",
                   "ByteLevel") == 0)
            json_object_set_new(entry, "use_regex", json_true());
    }
    return list;
}

/* Whether texts are composed first says which of several ways with the same steps it is. */
const char *cse_pre_tokenizer_name_of(const cse_tokenizer_ways *wanted)
{
    static char name[64];
    json_t *list = plain_steps(wanted->pre_tokenizer);
    int found = -1;
    for (int i = 0; i < WAYS; i++) {
        json_t *own = json_of_steps(ways[i].steps), *steps = plain_steps(own);
        if (ways[i].whole_words == wanted->whole_words && json_equal(steps, list) &&
            (found < 0 ||
             (ways[i].composes == wanted->composes && ways[found].composes != wanted->composes)))
            found = i;
        json_decref(steps);
        json_decref(own);
    }
    json_decref(list);
    if (found >= 0)
        memcpy(name, ways[found].names, strcspn(ways[found].names, " ") + 1);
    name[strcspn(name, " ")] = '\0';
    return found >= 0 ? name : NULL;
}
