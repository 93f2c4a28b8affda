/* The ModelZoo's MNLIDataProcessor: pairs of sentences, of which the first entails the second,
 * says nothing of it, or contradicts it. */
#include "dataloader/inputs/glue_sentences.h"

static const char *const classes[] = { "entailment", "neutral", "contradiction", NULL };
static const cse_glue_task task = { .training = "train.tsv",
                                    .validation = { "dev_matched.tsv", "dev_mismatched.tsv" },
                                    .sentences = { "sentence1", "sentence2" },
                                    .label = "gold_label",
                                    .classes = classes };

static cse_status mnli_open(cse_input *input, const cse_settings *settings)
{
    return cse_glue_open(input, settings, &task);
}

const cse_input_descriptor cse_input_mnli = {
    .name = "MNLIDataProcessor",
    .summary = "pairs of sentences with a class from the tables of MNLI, as the ModelZoo has them",
    .settings = cse_glue_settings,
    .open = mnli_open,
    .read = cse_glue_read,
    .locate = cse_glue_locate,
    .close = cse_glue_close,
    .describe = cse_glue_describe,
};
