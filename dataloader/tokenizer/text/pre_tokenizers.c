/* A table of kinds, by which entries of the file become stages. */
#include "dataloader/tokenizer/text/pre_tokenizers.h"

#include "dataloader/tokenizer/text/character_sets.h"
#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"

static cse_status add_stage(cse_pre_tokenizers *pre, const cse_split_stage *stage)
{
    if (pre->count == CSE_SPLIT_STAGES) {
        cse_split_pattern *pattern = stage->pattern;
        cse_split_pattern_destroy(&pattern);
        return cse_fail(CSE_DATA, "pre_tokenizer has more than %d stages", CSE_SPLIT_STAGES);
    }
    pre->stages[pre->count++] = *stage;
    return CSE_OK;
}

static cse_status read_behavior(const json_t *entry, cse_split_behavior *behavior)
{
    static const char *const names[] = { "Isolated", "Removed", "MergedWithPrevious",
                                         "MergedWithNext", "Contiguous" };
    const char *name = cse_json_text(entry, "behavior");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            *behavior = (cse_split_behavior)i;
            return CSE_OK;
        }
    return cse_fail(CSE_DATA,
                    "pre_tokenizer %.60s has the behavior \"%.60s\": accepted are Isolated, "
                    "Removed, MergedWithPrevious, MergedWithNext and Contiguous",
                    cse_json_text(entry, "type"), name);
}

/* ---- kinds of characters ---- */

static int is_blank(const cse_split_stage *stage, uint32_t character)
{
    (void)stage;
    return cse_is_white_space(character);
}

static int is_punctuation(const cse_split_stage *stage, uint32_t character)
{
    (void)stage;
    return cse_is_in_set(CSE_PUNCTUATION, character);
}

static int is_numeric(const cse_split_stage *stage, uint32_t character)
{
    (void)stage;
    return cse_is_in_set(CSE_NUMERIC, character);
}

static int is_delimiter(const cse_split_stage *stage, uint32_t character)
{
    size_t length;
    return character == cse_character_at(stage->delimiter, &length);
}

/* Words, and runs of what is neither a word nor a blank. */
static int word_or_sign(const cse_split_stage *stage, uint32_t character)
{
    (void)stage;
    if (cse_is_white_space(character))
        return 0;
    return cse_is_in_set(CSE_WORD_PART, character) ? 1 : 2;
}

/* ---- entries ---- */

static cse_status read_split(cse_pre_tokenizers *pre, const json_t *entry)
{
    bool is_literal;
    const char *pattern = cse_json_pattern(entry, &is_literal);
    cse_split_stage stage = { .inverted = cse_json_is_on(entry, "invert", false) };
    CSE_TRY(read_behavior(entry, &stage.behavior));
    CSE_TRY(cse_split_pattern_new(pattern, is_literal, &stage.pattern));
    return add_stage(pre, &stage);
}

static cse_status read_byte_level(cse_pre_tokenizers *pre, const json_t *entry)
{
    cse_split_stage stage = { .delimiter = " ",
                              .begins_with_it = cse_json_is_on(entry, "add_prefix_space", true) };
    if (cse_json_is_on(entry, "use_regex", true))
        CSE_TRY(cse_split_pattern_new(cse_gpt2_split, false, &stage.pattern));
    pre->cuts_at_lines = stage.pattern != NULL && pre->count == 0 && !stage.begins_with_it;
    if (stage.pattern != NULL || stage.begins_with_it)
        CSE_TRY(add_stage(pre, &stage));
    return add_stage(pre, &(cse_split_stage){ .writes_bytes = true });
}

static cse_status read_digits(cse_pre_tokenizers *pre, const json_t *entry)
{
    const bool apart = cse_json_is_on(entry, "individual_digits", false);
    return add_stage(
        pre, &(cse_split_stage){ .kind_of = is_numeric,
                                 .behavior = apart ? CSE_SPLIT_ISOLATED : CSE_SPLIT_CONTIGUOUS });
}

static cse_status read_fixed_length(cse_pre_tokenizers *pre, const json_t *entry)
{
    const json_t *length = json_object_get(entry, "length");
    const cse_split_stage stage = { .length = length != NULL ? json_integer_value(length) : 5 };
    return stage.length > 0 ? add_stage(pre, &stage)
                            : cse_fail(CSE_DATA, "pre_tokenizer FixedLength has the length 0: "
                                                 "accepted is 1 or more");
}

static cse_status read_scripts(cse_pre_tokenizers *pre, const json_t *entry)
{
    (void)entry;
    return add_stage(pre, &(cse_split_stage){ .cuts_scripts = true });
}

static cse_status read_punctuation(cse_pre_tokenizers *pre, const json_t *entry)
{
    cse_split_stage stage = { .kind_of = is_punctuation };
    if (json_object_get(entry, "behavior") != NULL)
        CSE_TRY(read_behavior(entry, &stage.behavior));
    return add_stage(pre, &stage);
}

static cse_status read_white_space(cse_pre_tokenizers *pre, const json_t *entry)
{
    (void)entry;
    return add_stage(pre, &(cse_split_stage){ .kind_of = word_or_sign,
                                              .joins_kinds = true,
                                              .inverted = true,
                                              .behavior = CSE_SPLIT_REMOVED });
}

static cse_status read_white_space_split(cse_pre_tokenizers *pre, const json_t *entry)
{
    (void)entry;
    return add_stage(pre, &(cse_split_stage){ .kind_of = is_blank, .behavior = CSE_SPLIT_REMOVED });
}

static cse_status read_bert(cse_pre_tokenizers *pre, const json_t *entry)
{
    CSE_TRY(read_white_space_split(pre, entry));
    return add_stage(pre, &(cse_split_stage){ .kind_of = is_punctuation });
}

/* One character of the entry. */
static cse_status read_delimiter(const json_t *entry, const char *name, char *delimiter)
{
    const char *text = cse_json_text(entry, name);
    const size_t length = cse_utf8_length(text, strlen(text));
    if (length == 0 || text[length] != '\0')
        return cse_fail(CSE_DATA,
                        "pre_tokenizer %.60s has the %s \"%.60s\": accepted is one "
                        "character",
                        cse_json_text(entry, "type"), name, text);
    memcpy(delimiter, text, length);
    return CSE_OK;
}

static cse_status read_delimiter_split(cse_pre_tokenizers *pre, const json_t *entry)
{
    cse_split_stage stage = { .kind_of = is_delimiter, .behavior = CSE_SPLIT_REMOVED };
    CSE_TRY(read_delimiter(entry, "delimiter", stage.delimiter));
    return add_stage(pre, &stage);
}

static cse_status read_metaspace(cse_pre_tokenizers *pre, const json_t *entry)
{
    cse_split_stage stage = { .replaces_spaces = true, .behavior = CSE_SPLIT_WITH_NEXT };
    const char *scheme = cse_json_text(entry, "prepend_scheme");
    CSE_TRY(read_delimiter(entry, "replacement", stage.delimiter));
    if (*scheme == '\0')
        scheme = cse_json_is_on(entry, "add_prefix_space", true) ? "always" : "never";
    if (strcmp(scheme, "always") != 0 && strcmp(scheme, "first") != 0 &&
        strcmp(scheme, "never") != 0)
        return cse_fail(CSE_DATA,
                        "pre_tokenizer Metaspace has the prepend_scheme \"%.60s\": accepted are "
                        "always, first and never",
                        scheme);
    stage.begins_with_it = strcmp(scheme, "never") != 0;
    stage.only_the_first = strcmp(scheme, "first") == 0;
    pre->asks_for_first |= stage.only_the_first;
    if (cse_json_is_on(entry, "split", true))
        stage.kind_of = is_delimiter;
    return add_stage(pre, &stage);
}

static const struct {
    const char *name, *members;
    cse_status (*read)(cse_pre_tokenizers *pre, const json_t *entry);
} kinds[] = {
    /* clang-format off */
    { "ByteLevel", "add_prefix_space:b trim_offsets:b use_regex:b", read_byte_level },
    { "Split", "pattern:p! behavior:s! invert:b", read_split },
    { "Digits", "individual_digits:b", read_digits },
    { "Punctuation", "behavior:s", read_punctuation },
    { "Whitespace", "", read_white_space },
    { "WhitespaceSplit", "", read_white_space_split },
    { "BertPreTokenizer", "", read_bert },
    { "CharDelimiterSplit", "delimiter:s!", read_delimiter_split },
    { "Metaspace", "replacement:s! add_prefix_space:b prepend_scheme:s split:b? str_rep:s",
      read_metaspace },
    { "FixedLength", "length:i", read_fixed_length },
    { "UnicodeScripts", "", read_scripts },
    /* clang-format on */
};

/* As deep as the brackets of the file, which have a limit. */
static cse_status read_list(cse_pre_tokenizers *pre, const json_t *entry)
{
    char what[80];
    const char *type = cse_json_text(entry, "type");
    const json_t *list = json_object_get(entry, "pretokenizers");
    if (strcmp(type, "Sequence") == 0) {
        CSE_TRY(cse_json_expect(entry, "pre_tokenizer Sequence", "pretokenizers:l!"));
        for (size_t i = 0; i < json_array_size(list); i++)
            CSE_TRY(read_list(pre, json_array_get(list, i)));
        return CSE_OK;
    }
    const int index = CSE_JSON_KIND(kinds, entry);
    if (index < 0)
        return cse_fail(CSE_DATA,
                        "pre_tokenizer has \"%.60s\": accepted are ByteLevel, Split, Digits, "
                        "Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, "
                        "CharDelimiterSplit, Metaspace, FixedLength, UnicodeScripts and Sequence",
                        type);
    snprintf(what, sizeof what, "pre_tokenizer %s", type);
    CSE_TRY(cse_json_expect(entry, what, kinds[index].members));
    return kinds[index].read(pre, entry);
}

/* Where bytes are written as characters at the end, words stay bytes instead. */
cse_status cse_pre_tokenizers_read(cse_pre_tokenizers *pre, const json_t *entry, bool takes_bytes)
{
    if (entry == NULL || json_is_null(entry))
        return CSE_OK;
    CSE_TRY(read_list(pre, entry));
    pre->is_byte_level = takes_bytes && pre->count > 0 && pre->stages[pre->count - 1].writes_bytes;
    pre->count -= pre->is_byte_level;
    pre->cuts_at_lines &= pre->is_byte_level && pre->count == 1;
    return CSE_OK;
}

cse_status cse_pre_tokenizers_of_gpt2(cse_pre_tokenizers *pre)
{
    cse_split_stage stage = { 0 };
    pre->is_byte_level = pre->cuts_at_lines = true;
    CSE_TRY(cse_split_pattern_new(cse_gpt2_split, false, &stage.pattern));
    return add_stage(pre, &stage);
}

void cse_pre_tokenizers_cut_before(cse_pre_tokenizers *pre, const char *character)
{
    cse_split_stage stage = { .kind_of = is_delimiter,
                              .joins_kinds = true,
                              .behavior = CSE_SPLIT_WITH_NEXT };
    memcpy(stage.delimiter, character, strlen(character));
    if (pre->count < CSE_SPLIT_STAGES)
        pre->stages[pre->count++] = stage;
}

void cse_pre_tokenizers_clear(cse_pre_tokenizers *pre)
{
    for (int i = 0; i < pre->count; i++)
        cse_split_pattern_destroy(&pre->stages[i].pattern);
    *pre = (cse_pre_tokenizers){ 0 };
}
