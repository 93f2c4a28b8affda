/* Samples of conversations, with independent values; those with messages, which need a third file
 * for their template, are in tests/dataloader/conversations. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

#define TOKENIZER                                                                               \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3}, "    \
    "\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 4, \"content\": \"<|endoftext|>\"}], " \
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}}"
#define LINE(prompt, completion) \
    "{\"prompt\": \"" prompt "\", \"completion\": \"" completion "\"}\n"
#define TEXTS                                                                              \
    LINE("c", "ab")                                                                        \
    LINE("cc", "abc")                                                                      \
    "\n" LINE("", "abababab") LINE("c", "a") LINE("c", "b") LINE("c", "cc") LINE("a", "c") \
        LINE("a", "cc") LINE("b", "cb") LINE("b", "ca")
#define SETTINGS \
    "path: $folder/a.jsonl, tokenizer: $folder/tokenizer.json, end_of_text: <|endoftext|>"
#define FILES                                           \
    {                                                   \
        { .name = "a.jsonl", .text = TEXTS },           \
        {                                               \
            .name = "tokenizer.json", .text = TOKENIZER \
        }                                               \
    }

static const cse_input_sample samples[] = {
    { .settings = SETTINGS ", sequence_length: 4",
      .source = "by hand",
      .files = FILES,
      .sample_count = 10,
      .value_count = 12,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 2 },
                  { CSE_INPUT_IDS_STREAM, 0, 1, 3 },
                  { CSE_INPUT_IDS_STREAM, 0, 2, 4 },
                  { CSE_INPUT_IDS_STREAM, 0, 3, 0 },
                  { CSE_LABELS_STREAM, 0, 0, 3 },
                  { CSE_LABELS_STREAM, 0, 1, 4 },
                  { CSE_LABELS_STREAM, 0, 2, CSE_IGNORED_LABEL },
                  { CSE_LABELS_STREAM, 1, 0, CSE_IGNORED_LABEL },
                  { CSE_LABELS_STREAM, 1, 1, 3 },
                  { CSE_MASK_STREAM, 1, 0, 0 },
                  { CSE_MASK_STREAM, 1, 1, 1 },
                  { CSE_LABELS_STREAM, 2, 3, CSE_IGNORED_LABEL } } },
    { .settings = SETTINGS ", sequence_length: 6, loss_on: all",
      .source = "by hand",
      .files = FILES,
      .sample_count = 10,
      .value_count = 6,
      .values = { { CSE_INPUT_IDS_STREAM, 1, 4, 4 },
                  { CSE_MASK_STREAM, 1, 3, 1 },
                  { CSE_MASK_STREAM, 1, 4, 0 },
                  { CSE_LABELS_STREAM, 1, 0, 2 },
                  { CSE_LABELS_STREAM, 1, 3, 4 },
                  { CSE_LABELS_STREAM, 1, 4, CSE_IGNORED_LABEL } } },
    { .settings = SETTINGS ", sequence_length: 3, too_long: refuse",
      .refusal = "6 of 10 conversations have more than 3 tokens, the first: ",
      .files = FILES },
    { .settings = SETTINGS ", sequence_length: 2",
      .refusal = "conversations have their answers beyond 2 tokens",
      .files = FILES },
    { .settings = "path: $folder/a.jsonl, tokenizer: $folder/tokenizer.json, end_of_text: x",
      .refusal = "no token \"x\"",
      .files = FILES },
    { .settings = SETTINGS ", format: messages",
      .refusal = "a.jsonl: line 1: member \"messages\" is no list of messages",
      .files = FILES },
    { .settings = "path: $folder/tokenizer.json, tokenizer: $folder/tokenizer.json",
      .refusal = "it is no list of conversations",
      .files = FILES },
    { .settings = NULL },
};

CSE_SAMPLES(input, conversations, samples);
