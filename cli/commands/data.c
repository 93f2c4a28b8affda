/* `csengine data`: makes data for training, and shows what data holds. Each word has a file of its
 * own, cli/data_*.c. */
#include <string.h>

#include "cli/arguments/command.h"
#include "cli/data/data_conversations.h"
#include "cli/data/data_index.h"
#include "cli/data/data_inspect.h"
#include "cli/data/data_samples.h"
#include "cli/data/data_split.h"
#include "cli/data/data_tokenize.h"
#include "cli/data/data_tokens.h"
#include "cli/terminal/report.h"

static const struct {
    const char *word;
    int (*run)(const cse_command_line *line);
} words[] = {
    { "tokenize", cse_data_tokenize },
    { "inspect", cse_data_inspect },
    { "index", cse_data_index },
    { "split", cse_data_split },
    { "samples", cse_data_samples },
    { "tokens", cse_data_tokens },
    { "conversations", cse_data_conversations },
};

static int run(const cse_command_line *line)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, line->arguments[0]) == 0)
            return words[i].run(line);
    return cse_report(cse_fail(CSE_INTERNAL, "data: '%s' has no function", line->arguments[0]));
}

static const cse_option options[] = {
    { "to", "DIR", NULL, "tokenize, split: the folder to write to" },
    { "tokenizer", "FILE", NULL,
      "tokenize, tokens: a tokenizer.json or tokenizer.model, or a folder with one or with "
      "vocab.json and merges.txt; inspect: shows texts in place of numbers; conversations: the "
      "model's folder" },
    { "chat_template", "FILE", NULL,
      "conversations: a template of Jinja in place of that of the tokenizer's folder" },
    { "loss_on", "WORD", NULL,
      "conversations: what the loss counts: answers, last_answer or all; default answers" },
    { "first", "N", NULL, "conversations: so many are shown; default 3" },
    { "train_tokenizer", "N", NULL,
      "tokenize: trains a vocabulary of N tokens on the texts, in place of --tokenizer" },
    { "train_model", "WORD", NULL, "tokenize: what is trained: bpe or unigram; default bpe" },
    { "sequence_length", "N", NULL, "tokenize: tokens of a sample; default 1024" },
    { "samples_per_file", "N", NULL, "tokenize: default 16384" },
    { "format", "NAME", NULL,
      "tokenize: hdf5 (samples, for hdf5_lm) or npy (all tokens, for token_shards); default hdf5" },
    { "special_tokens", NULL, NULL, "tokens: with those that the tokenizer puts around a text" },
    { "field", "NAME", NULL,
      "tokenize, tokens: the member of JSON lines that is the text; default text" },
    { "end_of_text", "TOKEN", NULL,
      "tokenize: stands behind each document; none: nothing does; default <|endoftext|>, "
      "<|end_of_text|> or </s>; conversations: behind a completion, default eos_token" },
    { "on_bad_record", "WORD", NULL,
      "tokenize: error, or skip: documents that cannot be read are left out and counted" },
    { "jobs", "N", NULL, "tokenize: threads; the output is the same for any number" },
    { "fractions", "A,B", NULL, "split: the shares of the parts; default 0.9,0.1" },
    { "seed", "N", NULL, "split: chooses which line goes where; default 0" },
    { "step", "N", NULL, "samples: the step of training, from 1 as in the log; default 1" },
    { "set", "PATH=VALUE", NULL, "samples: changes any setting of the configuration" },
    { "json", NULL, NULL, "one JSON object on stdout" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "data tokenize book.txt --train_tokenizer 4096 --to tokens",
      "a vocabulary of 4096 tokens, and the book as samples of it" },
    { "data inspect tokens", "what the folder holds, and its first sample" },
    { "data samples configs/fc_mnist.yaml --step 7", "which samples step 7 takes" },
    { 0 },
};

const cse_command cse_command_data = {
    .name = "data",
    .group = CSE_GROUP_LOOK,
    .summary = "makes data for training, shows what data holds",
    .arguments = "tokenize INPUT..., inspect PATH, index TAR..., split INPUT, samples CONFIG.yaml, "
                 "tokens INPUT..., conversations INPUT...",
    .doc = "tokenize: texts (.txt) and JSON lines (.jsonl), plain or with .gz or .zst, become\n"
           "tokens. inspect: shapes, counts and the first sample. index: where the files of tar\n"
           "archives stand, in FILE.tar.idx, so that a run need not look. split: the lines of\n"
           "a file go to train and validation. samples: which samples a step takes.\n"
           "tokens: number, first and last place in characters, and text of each token.\n"
           "conversations: the same of what a chat template makes of them; * marks the tokens\n"
           "that the loss counts.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 65536,
    .words = "tokenize|inspect|index|split|samples|tokens|conversations",
    .values = "format=hdf5|npy on_bad_record=error|skip loss_on=answers|last_answer|all",
    .examples = examples,
    .run = run,
};
