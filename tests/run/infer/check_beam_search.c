/* Beam search over two tokens against the sums of all pairs: the best begins are those of the
 * first token's probabilities, the best texts those of the sums over each of them. What a decoder
 * has kept is put back with its bits. tests/python/families/beam_search.py compares with
 * transformers. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "run/infer/beam_search.h"
#include "run/infer/sampler.h"
#include "tests/support/temporary_folder.h"

enum { VOCABULARY = 20, BEAMS = 4, PAIRS = BEAMS * VOCABULARY };

static char folder[] = "/tmp/check_beam_search.XXXXXX";
static const int32_t prompt[] = { 3, 14, 7, 7, 1 };
enum { PROMPT = sizeof prompt / sizeof prompt[0] };

static cse_text_decoder *open_decoder(void)
{
    char settings[256];
    cse_text_decoder *decoder = NULL;
    const cse_configuration configuration = { .model_dir = folder, .seed = 5 };
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
    snprintf(settings, sizeof settings,
             "{vocab_size: %d, hidden_size: 16, num_layers: 2, num_heads: 2, "
             "max_position_embeddings: 32, dropout: 0.0, initializer_range: 0.5}",
             VOCABULARY);
    cse_model *model = cse_compile(cse_model_new("gpt2", settings));
    ck_assert_msg(model != NULL, "%s", cse_error_message());
    const cse_text_decoder_options options = { .model = model,
                                               .longest_prompt = PROMPT,
                                               .max_new_tokens = 8 };
    ck_assert_msg(cse_text_decoder_new(&options, &decoder) == CSE_OK, "%s", cse_error_message());
    return decoder;
}

typedef struct pair {
    int32_t first, second;
    double sum;
} pair;

static int larger_first(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    return a->sum > b->sum ? -1 : a->sum < b->sum;
}

/* The sums of all pairs that begin with the BEAMS likeliest tokens. */
static void sum_pairs(cse_text_decoder *decoder, pair pairs[PAIRS])
{
    pair first[VOCABULARY];
    ck_assert_int_eq(cse_text_decoder_begin(decoder, prompt, PROMPT), CSE_OK);
    for (int t = 0; t < VOCABULARY; t++)
        first[t] =
            (pair){ t, -1, cse_log_probability(cse_text_decoder_logits(decoder), VOCABULARY, t) };
    qsort(first, VOCABULARY, sizeof *first, larger_first);
    for (int b = 0; b < BEAMS; b++) {
        ck_assert_int_eq(cse_text_decoder_begin(decoder, prompt, PROMPT), CSE_OK);
        ck_assert_int_eq(cse_text_decoder_append(decoder, first[b].first), CSE_OK);
        for (int t = 0; t < VOCABULARY; t++)
            pairs[b * VOCABULARY + t] =
                (pair){ first[b].first, t,
                        first[b].sum +
                            cse_log_probability(cse_text_decoder_logits(decoder), VOCABULARY, t) };
    }
    qsort(pairs, PAIRS, sizeof *pairs, larger_first);
}

START_TEST(the_best_pairs_are_found)
{
    pair pairs[PAIRS];
    cse_beam_text texts[BEAMS];
    int64_t count = 0;
    cse_text_decoder *decoder = open_decoder();
    sum_pairs(decoder, pairs);
    const cse_beam_request request = { .options = { .num_beams = BEAMS, .length_penalty = 2 },
                                       .prompt = prompt,
                                       .prompt_count = PROMPT,
                                       .max_new_tokens = 2 };
    ck_assert_msg(cse_beam_search(decoder, &request, texts, &count) == CSE_OK, "%s",
                  cse_error_message());
    ck_assert_int_eq(count, BEAMS);
    for (int i = 0; i < BEAMS; i++) {
        ck_assert_int_eq(texts[i].count, 2);
        ck_assert_int_eq(texts[i].tokens[0], pairs[i].first);
        ck_assert_int_eq(texts[i].tokens[1], pairs[i].second);
        ck_assert_double_eq_tol(texts[i].score, pairs[i].sum / 4, 1e-5); /* 2 tokens, squared */
        free(texts[i].tokens);
    }
    cse_text_decoder_destroy(&decoder);
    cse_finish();
}
END_TEST

START_TEST(what_is_kept_is_put_back)
{
    float after[VOCABULARY];
    cse_text_decoder *decoder = open_decoder();
    ck_assert_int_eq(cse_text_decoder_begin(decoder, prompt, PROMPT), CSE_OK);
    ck_assert_int_eq(cse_text_decoder_append(decoder, 2), CSE_OK);
    const int64_t count = cse_text_decoder_count(decoder);
    ck_assert_int_eq(count, PROMPT + 1);
    float *kept = calloc((size_t)(count * cse_text_decoder_kept_floats(decoder)), sizeof *kept);
    cse_text_decoder_save(decoder, kept);
    ck_assert_int_eq(cse_text_decoder_append(decoder, 11), CSE_OK);
    memcpy(after, cse_text_decoder_logits(decoder), sizeof after);
    const int32_t other[] = { 19, 18 }; /* another sequence in between */
    ck_assert_int_eq(cse_text_decoder_begin(decoder, other, 2), CSE_OK);
    ck_assert_int_eq(cse_text_decoder_append(decoder, 11), CSE_OK);
    ck_assert_mem_ne(after, cse_text_decoder_logits(decoder), sizeof after);
    cse_text_decoder_restore(decoder, kept, count);
    ck_assert_int_eq(cse_text_decoder_append(decoder, 11), CSE_OK);
    ck_assert_mem_eq(after, cse_text_decoder_logits(decoder), sizeof after);
    cse_text_decoder_cut(decoder, count);
    ck_assert_int_eq(cse_text_decoder_append(decoder, 11), CSE_OK);
    ck_assert_mem_eq(after, cse_text_decoder_logits(decoder), sizeof after);
    free(kept);
    cse_text_decoder_destroy(&decoder);
    cse_finish();
}
END_TEST

START_TEST(more_beams_than_tokens_are_refused)
{
    cse_beam_text texts[VOCABULARY];
    int64_t count = 0;
    cse_text_decoder *decoder = open_decoder();
    const cse_beam_request request = { .options = { .num_beams = VOCABULARY / 2 + 1 },
                                       .prompt = prompt,
                                       .prompt_count = PROMPT,
                                       .max_new_tokens = 2 };
    ck_assert_int_eq(cse_beam_search(decoder, &request, texts, &count), CSE_USAGE);
    ck_assert_int_eq(count, 0);
    cse_text_decoder_destroy(&decoder);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beam search");
    TCase *tests = tcase_create("all");
    if (mkdtemp(folder) == NULL)
        return 1;
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, the_best_pairs_are_found);
    tcase_add_test(tests, what_is_kept_is_put_back);
    tcase_add_test(tests, more_beams_than_tokens_are_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed != 0;
}
