/* Token by token against a pass over whole texts: the logits of each token that is appended are
 * those of the model's evaluation with all tokens before it. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "run/infer/inference.h"
#include "run/infer/pair_decoder.h"
#include "run/infer/traced_predictions.h"
#include "tests/support/temporary_folder.h"

enum { VOCABULARY = 30, PROMPT = 16, TEXT = 12, START = 4 };

static char folder[] = "/tmp/check_pair_decoder.XXXXXX";

static void configure(void)
{
    const cse_configuration configuration = { .model_dir = folder, .seed = 3 };
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
}

static cse_model *t5_of(const char *more)
{
    char text[512];
    snprintf(text, sizeof text,
             "{src_vocab_size: %d, d_model: 24, d_kv: 5, d_ff: 32, num_heads: 3, "
             "encoder_num_hidden_layers: 2, decoder_num_hidden_layers: 3, "
             "relative_attention_num_buckets: 8, relative_attention_max_distance: 6, "
             "decoder_start_token_id: %d%s}",
             VOCABULARY, START, more);
    return cse_compile(cse_model_new("t5", text));
}

/* The whole pass: inputs in this order. */
static void trace(cse_inference *inference, void *self)
{
    cse_inference_input(inference, &(cse_stream){ "input_ids", cse_shape_of(PROMPT), CSE_INT32 });
    cse_inference_input(inference,
                        &(cse_stream){ "attention_mask", cse_shape_of(PROMPT), CSE_INT32 });
    cse_inference_input(inference,
                        &(cse_stream){ "decoder_input_ids", cse_shape_of(TEXT), CSE_INT32 });
    cse_inference_input(inference, &(cse_stream){ "labels", cse_shape_of(TEXT), CSE_INT32 });
    cse_inference_output(inference, "logits",
                         cse_trace_predictions(self, cse_inference_step(inference)));
}

static const float *whole_pass(cse_inference *inference, const int32_t *prompt, int count,
                               const int32_t *text)
{
    int32_t *tokens = cse_inference_input_memory(inference, 0);
    int32_t *mask = cse_inference_input_memory(inference, 1);
    for (int i = 0; i < PROMPT; i++) {
        tokens[i] = i < count ? prompt[i] : 0;
        mask[i] = i < count;
    }
    memcpy(cse_inference_input_memory(inference, 2), text, TEXT * sizeof *text);
    ck_assert_int_eq(cse_inference_run(inference), CSE_OK);
    return cse_inference_output_view(inference, 0, NULL, NULL);
}

static void compare(const char *more, int count)
{
    int32_t prompt[PROMPT], text[TEXT] = { START };
    cse_pair_decoder *decoder = NULL;
    cse_inference *inference = NULL;
    configure();
    cse_model *model = t5_of(more);
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = (7 * i + count) % VOCABULARY;
    for (int i = 1; i < TEXT; i++)
        text[i] = (11 * i + count) % VOCABULARY;
    cse_eval_mode(model);
    ck_assert_msg(
        cse_inference_new(&(cse_inference_options){ .batch = 1, .trace = trace, .self = model },
                          &inference) == CSE_OK,
        "%s", cse_error_message());
    cse_train_mode(model);
    ck_assert_msg(cse_pair_decoder_new(model, PROMPT, TEXT, &decoder) == CSE_OK, "%s",
                  cse_error_message());
    ck_assert_int_eq(cse_pair_decoder_vocabulary(decoder), VOCABULARY);
    const float *whole = whole_pass(inference, prompt, count, text);
    for (int round = 0; round < 2; round++) { /* nothing is left of the text before */
        ck_assert_int_eq(cse_pair_decoder_begin(decoder, prompt, count), CSE_OK);
        for (int n = 0; n < TEXT; n++) {
            if (n > 0)
                ck_assert_int_eq(cse_pair_decoder_append(decoder, text[n]), CSE_OK);
            const float *one = cse_pair_decoder_logits(decoder);
            for (int v = 0; v < VOCABULARY; v++)
                ck_assert_msg(fabsf(one[v] - whole[n * VOCABULARY + v]) <= 1e-5f,
                              "%s: token %d: %g, not %g", more, n, one[v],
                              whole[n * VOCABULARY + v]);
        }
    }
    ck_assert_int_eq(cse_pair_decoder_append(decoder, 1), CSE_USAGE);
    ck_assert_int_eq(cse_pair_decoder_begin(decoder, prompt, PROMPT + 1), CSE_DATA);
    cse_pair_decoder_destroy(&decoder);
    cse_inference_destroy(&inference);
    cse_finish();
}

START_TEST(tokens_that_are_appended_are_as_those_of_a_whole_text)
{
    compare("", 1);
    compare("", 9);
    compare(", encoder_nonlinearity: geglu_tanh, share_embedding_weights: false", PROMPT);
}
END_TEST

START_TEST(positions_are_those_of_the_whole_text)
{
    compare(", position_embedding_type: fixed", 5);
    compare(", position_embedding_type: learned_absolute, src_max_position_embeddings: 16, "
            "tgt_max_position_embeddings: 12",
            5);
}
END_TEST

START_TEST(what_ends_and_what_fits_is_told)
{
    configure();
    cse_model *model = t5_of(", eos_token_id: 7, tgt_max_position_embeddings: 40");
    ck_assert(cse_model_takes_pairs(model));
    ck_assert_int_eq(cse_pair_end_token(model), 7);
    ck_assert_int_eq(cse_longest_of_pair(model, true), 40);
    ck_assert_int_eq(cse_longest_of_pair(model, false), 0);
    cse_finish();
    configure();
    model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}"));
    ck_assert(!cse_model_takes_pairs(model));
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pair decoder");
    TCase *tests = tcase_create("all");
    if (mkdtemp(folder) == NULL)
        return 1;
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, tokens_that_are_appended_are_as_those_of_a_whole_text);
    tcase_add_test(tests, positions_are_those_of_the_whole_text);
    tcase_add_test(tests, what_ends_and_what_fits_is_told);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed != 0;
}
