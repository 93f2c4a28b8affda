/* How probable texts are to a model: what the objectives of preferences compare.
 *
 * The data have rows of tokens, two of each sample: input_ids, attention_mask and labels, int32
 * [batch, 2, time]. A label is the token that follows, in the completion alone, and -100
 * elsewhere. So both rows of a sample go through the model in one forward pass, and microbatches
 * bound what is kept of the logits. */
#ifndef CSE_ENGINE_NN_OBJECTIVES_SCORED_ROWS_H
#define CSE_ENGINE_NN_OBJECTIVES_SCORED_ROWS_H

#include "engine/nn/objective.h"

#define CSE_BETA_SETTING(default_, doc_)                                                        \
    {                                                                                           \
        .name = "beta", .type = CSE_SETTING_NUMBER, .default_value = (default_), .min = 0.0001, \
        .max = 1e6, .doc = (doc_)                                                               \
    }
#define CSE_REFERENCE_FREE_SETTING                                                    \
    {                                                                                 \
        .name = "reference_free", .type = CSE_SETTING_BOOL, .default_value = "false", \
        .doc = "there is no reference: all texts are as probable to it"               \
    }
typedef struct cse_scored_rows {
    cse_tensor *log_probabilities; /* [batch, rows]: sums over the tokens of completions */
    cse_tensor *tokens;            /* [batch, rows]: how many they are, float32 */
    cse_tensor *losses;            /* [batch, rows, time]: of each place; 0 where there is none */
} cse_scored_rows;

/* The inputs of the step. False after a failure, which is the step's. */
typedef struct cse_text_rows {
    cse_tensor *tokens, *mask, *labels; /* int32 [batch, rows, time] */
} cse_text_rows;
bool cse_text_rows_of(cse_step *step, cse_text_rows *rows);
/* Row `row` of each sample alone: [batch, 1, time]. */
cse_text_rows cse_text_rows_slice(const cse_text_rows *rows, int row);
/* A label for every token that follows another one, those of the prompt among them. */
cse_tensor *cse_text_rows_all_labels(const cse_text_rows *rows);

/* By the model that is trained. `labels` [batch, rows, time]: where the losses of places are
 * wanted, rows->labels among them; NULL: those. False after a failure, which is the step's. */
bool cse_score_rows(cse_model *model, const cse_text_rows *rows, cse_tensor *labels,
                    cse_scored_rows *scored);
/* By the reference, [batch, rows], without gradients; NULL after a failure. 0 where the objective
 * wants no reference. */
cse_tensor *cse_score_by_reference(const cse_objective *objective, const cse_text_rows *rows);

/* Whether the setting reference_free is not true. */
bool cse_has_reference(const cse_settings *settings);

/* 1 for each label that is not -100, float32. */
cse_tensor *cse_counted_labels(cse_tensor *labels);
/* Row `row` of [batch, rows]: [batch]. */
cse_tensor *cse_row_of(cse_tensor *values, int row);

#endif
