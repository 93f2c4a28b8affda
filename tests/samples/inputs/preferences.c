/* Samples of preferences, with independent values. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

/* Letters, and one token of two of them. */
#define TOKENIZER_AS(file)                                                                   \
    {                                                                                        \
        .name = file,                                                                        \
        .text = "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, " \
                "\"ab\": 3}, \"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 4, "        \
                "\"content\": \"<|endoftext|>\"}], \"pre_tokenizer\": {\"type\": "           \
                "\"ByteLevel\", \"add_prefix_space\": false}}"                               \
    }
#define TOKENIZER TOKENIZER_AS("tokenizer.json")
#define SETTINGS "tokenizer: $folder/tokenizer.json, max_sequence_length: 5, path: $folder/a.jsonl"
/* The tokenizer stands for the file of samples, too, which is not looked into. */
#define NO_SAMPLES "tokenizer: $folder/a.jsonl, max_sequence_length: 5, path: $folder/a.jsonl"
#define PAIR(prompt, chosen, rejected)                                                         \
    "{\"prompt\": \"" prompt "\", \"chosen\": \"" chosen "\", \"rejected\": \"" rejected "\"}" \
    "\n"
#define TEN(line) line line line line line line line line line line
#define LABELLED(prompt, text, label) \
    "{\"prompt\": \"" prompt "\", \"completion\": \"" text "\", \"label\": " label "}\n"
enum { IDS = CSE_INPUT_IDS_STREAM, LABELS = CSE_LABELS_STREAM, MASK = CSE_MASK_STREAM };
enum { DESIRABLE = 3, NONE = CSE_IGNORED_LABEL };

static const cse_input_sample samples[] = {
    /* "ca" with "b" and with "c": of the first the last letter of the prompt joins the completion,
     * so that the prompt of both is "c". */
    { .settings = SETTINGS,
      .source = "by hand",
      .files = { { .name = "a.jsonl", .text = TEN(PAIR("ca", "b", "c")) }, TOKENIZER },
      .sample_count = 10,
      .value_count = 12,
      .values = { { IDS, 0, 0, 2 },
                  { IDS, 0, 1, 3 },
                  { IDS, 0, 2, 4 },
                  { LABELS, 0, 0, 3 },
                  { LABELS, 0, 1, 4 },
                  { LABELS, 0, 2, NONE },
                  { MASK, 0, 2, 1 },
                  { MASK, 0, 3, 0 },
                  { IDS, 9, 6, 0 },
                  { LABELS, 9, 5, 0 },
                  { LABELS, 9, 7, 4 },
                  { MASK, 9, 8, 1 } } },
    /* Longer than a row: its end stays. */
    { .settings = SETTINGS ", truncation_mode: keep_end, end_of_text: none",
      .source = "by hand",
      .files = { { .name = "a.jsonl", .text = TEN(PAIR("cb", "cbaaa", "cc")) }, TOKENIZER },
      .sample_count = 10,
      .value_count = 7,
      .values = { { MASK, 3, 7, 1 },
                  { IDS, 3, 0, 2 },
                  { IDS, 3, 4, 0 },
                  { LABELS, 3, 0, 1 },
                  { LABELS, 3, 4, NONE },
                  { LABELS, 3, 5, NONE },
                  { LABELS, 3, 6, 2 } } },
    /* Completions move by one among five. */
    { .settings = SETTINGS ", kind: unpaired, kl_rotation: 5",
      .source = "by hand",
      .files = { { .name = "a.jsonl",
                   .text = LABELLED("c", "a", "true") LABELLED("c", "b", "false")
                       LABELLED("cc", "c", "1") LABELLED("c", "aa", "0") LABELLED("c", "bb", "true")
                           LABELLED("c", "a", "true") LABELLED("b", "c", "false")
                               LABELLED("c", "ba", "\"true\"") LABELLED("c", "a", "true")
                                   LABELLED("c", "cb", "false") },
                 TOKENIZER },
      .sample_count = 10,
      .value_count = 12,
      .values = { { DESIRABLE, 0, 0, 1 },
                  { DESIRABLE, 1, 0, 0 },
                  { DESIRABLE, 2, 0, 1 },
                  { DESIRABLE, 3, 0, 0 },
                  { IDS, 0, 1, 0 },
                  { IDS, 0, 6, 1 },
                  { IDS, 0, 7, 1 },
                  { LABELS, 0, 5, 1 },
                  { MASK, 2, 7, 1 },
                  { LABELS, 2, 6, 1 },
                  { IDS, 5, 6, 2 },
                  { IDS, 6, 5, 1 } } },
    { .settings = SETTINGS,
      .refusal = "1 of 1 samples are of no use: 1 with an empty completion; the first:",
      .files = { { .name = "a.jsonl", .text = PAIR("a", "b", "") }, TOKENIZER } },
    { .settings = SETTINGS,
      .refusal = "1 whose chosen and rejected texts are the same",
      .files = { { .name = "a.jsonl", .text = PAIR("a", "b", "b") }, TOKENIZER } },
    { .settings = SETTINGS,
      .refusal = "1 whose chosen and rejected texts are the same",
      .files = { { .name = "a.jsonl", .text = "{\"chosen\": \"ab\", \"rejected\": \"ab\"}\n" },
                 TOKENIZER } },
    { .settings = SETTINGS,
      .refusal = "1 whose chosen and rejected texts are the same",
      .files = { { .name = "a.jsonl",
                   .text = "{\"chosen\": [{\"role\": \"user\", \"content\": \"a\"}], "
                           "\"rejected\": [{\"role\": \"user\", \"content\": \"a\"}]}\n" },
                 TOKENIZER } },
    /* What ends a completion is named beside the tokenizer; what cannot be read is not passed
     * over. */
    { .settings = NO_SAMPLES,
      .refusal = "the tokenizer has no token \"<e>\"",
      .files = { TOKENIZER_AS("a.jsonl"),
                 { .name = "tokenizer_config.json", .text = "{\"eos_token\": \"<e>\"}" } } },
    { .settings = NO_SAMPLES,
      .refusal = "tokenizer_config.json:1:14: no JSON",
      .files = { TOKENIZER_AS("a.jsonl"),
                 { .name = "tokenizer_config.json", .text = "{\"eos_token\": " } } },
    { .settings = SETTINGS,
      .refusal = "1 whose prompt leaves no room for a completion",
      .files = { { .name = "a.jsonl", .text = PAIR("ccccc", "b", "c") PAIR("a", "b", "c") },
                 TOKENIZER } },
    { .settings = SETTINGS,
      .refusal =
          "a.jsonl: line 1: it has neither a text nor a list of messages in member \"rejected\"",
      .files = { { .name = "a.jsonl", .text = "{\"prompt\": \"a\", \"chosen\": \"b\"}\n" },
                 TOKENIZER } },
    { .settings = SETTINGS ", kind: unpaired",
      .refusal = "\"label\" is missing, or is neither true nor false",
      .files = { { .name = "a.jsonl", .text = LABELLED("a", "b", "2") }, TOKENIZER } },
    { .settings = SETTINGS ", kl_rotation: 4",
      .refusal = "kl_rotation belongs to kind: unpaired",
      .files = { { .name = "a.jsonl", .text = PAIR("a", "b", "c") }, TOKENIZER } },
    { .settings = SETTINGS ", end_of_text: x",
      .refusal = "the tokenizer has no token \"x\"",
      .files = { { .name = "a.jsonl", .text = PAIR("a", "b", "c") }, TOKENIZER } },
    { .settings = NULL },
};

CSE_SAMPLES(input, preferences, samples);
