/* The decoder against passes over whole sequences: a token that is appended gives the logits that a
 * prompt with it gives, to the bit where nothing but the causal mask hides keys. Models, lengths,
 * formats and tokens are drawn. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "engine/base/random.h"
#include "run/infer/token_decoder.h"
#include "run/session/session.h"
#include "tests/support/temporary_folder.h"

enum { VOCABULARY = 40, LONGEST = 24, LONG = 72 };

static char folder[] = "/tmp/check_token_decoder.XXXXXX";

static int threads = 1;

static void configure(const char *precision)
{
    const cse_configuration configuration = { .model_dir = folder,
                                              .seed = 3,
                                              .precision = precision };
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
    cse_session_open_view("test")->plan.inference_threads = threads;
}

static cse_model *gpt2_of(int layers, int heads)
{
    char text[256];
    snprintf(text, sizeof text,
             "{hidden_size: %d, num_layers: %d, num_heads: %d, vocab_size: %d, "
             "max_position_embeddings: %d}",
             heads * 8, layers, heads, VOCABULARY, LONGEST);
    return cse_compile(cse_model_new("gpt2", text));
}

/* Rotated positions, keys that heads share, a window with sinks, another kind of norm and gates. */
static cse_model *llama_of(const char *window)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{hidden_size: 32, num_hidden_layers: 2, num_heads: 4, vocab_size: %d, filter_size: 48, "
        "max_position_embeddings: %d, rotary_dim: 8, "
        "attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}%s}",
        VOCABULARY, LONGEST, window);
    return cse_compile(cse_model_new("llama", text));
}

static double largest_difference(const float *a, const float *b)
{
    double largest = 0;
    for (int i = 0; i < VOCABULARY; i++)
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    return largest;
}

static cse_status decoder_of(cse_model *model, int64_t prompt, int64_t most,
                             cse_token_decoder **decoder)
{
    const cse_token_decoder_sizes sizes = { .prompt_tokens = prompt,
                                            .max_tokens = most,
                                            .longest = most };
    return cse_token_decoder_new(model, &sizes, decoder);
}

/* Decodes `count` tokens after a prompt of `first`, and compares each with a prompt of so many.
 * Returns the largest difference. */
static double compare(cse_model *model, int first, int count, double tolerance)
{
    int32_t tokens[LONGEST];
    float appended[VOCABULARY];
    double largest = 0;
    cse_token_decoder *decoder = NULL, *whole = NULL;
    for (int i = 0; i < LONGEST; i++)
        tokens[i] = (int32_t)(cse_draw_uniform(7, i, 1, (uint32_t)first, 0) * VOCABULARY);
    ck_assert_msg(decoder_of(model, first, LONGEST, &decoder) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(decoder_of(model, LONGEST, LONGEST, &whole), CSE_OK);
    ck_assert_int_eq(cse_token_decoder_vocabulary(decoder), VOCABULARY);
    for (int round = 0; round < 2; round++) { /* nothing is left of the sequence before */
        ck_assert_int_eq(cse_token_decoder_begin(decoder, tokens + round, first), CSE_OK);
        for (int n = first; n <= first + count; n++) {
            if (n > first)
                ck_assert_int_eq(cse_token_decoder_append(decoder, tokens[round + n - 1]), CSE_OK);
            memcpy(appended, cse_token_decoder_logits(decoder), sizeof appended);
            ck_assert_int_eq(cse_token_decoder_begin(whole, tokens + round, n), CSE_OK);
            const double difference = largest_difference(appended, cse_token_decoder_logits(whole));
            ck_assert_msg(difference <= tolerance, "prompt %d, token %d: logits differ by %g",
                          first, n, difference);
            largest = fmax(largest, difference);
        }
    }
    cse_token_decoder_destroy(&decoder);
    cse_token_decoder_destroy(&whole);
    return largest;
}

START_TEST(tokens_that_are_appended_are_as_those_of_a_prompt)
{
    configure(NULL);
    cse_model *model = gpt2_of(3, 2);
    compare(model, 1, 22, 0);
    compare(model, 7, 10, 0);
    compare(model, 22, 1, 0);
    cse_finish();
}
END_TEST

START_TEST(models_in_16_bits_are_decoded)
{
    configure("{fp16_type: bfloat16, precision_opt_level: 1}");
    compare(gpt2_of(2, 4), 5, 12, 0);
    cse_finish();
}
END_TEST

/* In cbfloat16 and float16 keys lie in no pages, and a token's attention sums in another order:
 * what docs/time_travel.md says of it holds as long as this does. */
START_TEST(other_formats_agree_within_their_rounding)
{
    static const char *const formats[] = { "cbfloat16", "float16" };
    static const double most[] = { 1e-3, 5e-4 };
    for (int f = 0; f < 2; f++)
        for (int kind = 0; kind < 2; kind++) {
            char text[80];
            snprintf(text, sizeof text, "{fp16_type: %s, graphamp: {preset: mp4}}", formats[f]);
            configure(text);
            const double largest =
                compare(kind == 0 ? gpt2_of(2, 4) : llama_of(""), 5, 12, most[f]);
            ck_assert_msg(largest > 0, "%s: equal, and docs/time_travel.md says they are not",
                          text);
            cse_finish();
        }
}
END_TEST

START_TEST(rotation_shared_keys_and_windows_are_those_of_a_whole_pass)
{
    configure(NULL);
    compare(llama_of(""), 3, 18, 0);
    cse_finish();
    configure(NULL);
    compare(llama_of(", attention_sliding_window_length: 5, attention_sink_tokens: 2"), 2, 20,
            2e-6);
    cse_finish();
}
END_TEST

/* Norms of queries and keys, caps, layers of several kinds, and positions that are scaled. */
START_TEST(layers_of_several_kinds_are_those_of_a_whole_pass)
{
    configure(NULL);
    compare(llama_of(", attention_sliding_window_length: 5, attention_window_layers: [1, 0], "
                     "attention_window_rope_theta: 100, rotary_layers: [1, 0], "
                     "attention_qk_norm_layer: zero-centered-rmsnorm, norm_of_outputs_alone: true, "
                     "attention_logit_softcapping: 0.5"),
            2, 20, 2e-6);
    cse_finish();
    configure(NULL);
    compare(llama_of(", attention_qk_norm_layer: rmsnorm, attention_qk_norm_size: all_heads, "
                     "pos_scaling_type: longrope, pos_scaling_extra_args: "
                     "{original_max_position_embeddings: 8, short_factor: [1, 1, 1, 1], "
                     "long_factor: [1, 2, 3, 4]}"),
            2, 20, 2e-6);
    cse_finish();
}
END_TEST

/* Sequences of several lengths, over several pages, that begin, rest and end at other times: each
 * has the bits of a pass over the whole of it. */
static void go_together(const char *precision, int sequences, const char *heads)
{
    int32_t tokens[LONG + 8], given[8];
    char text[512];
    cse_token_decoder *together = NULL, *whole = NULL;
    configure(precision);
    snprintf(text, sizeof text,
             "{hidden_size: 48, num_hidden_layers: 2, num_heads: 4, vocab_size: %d, filter_size: "
             "80, max_position_embeddings: %d, rotary_dim: 12%s}",
             VOCABULARY, LONG, heads);
    cse_model *model = cse_compile(cse_model_new("llama", text));
    for (int i = 0; i < LONG + 8; i++)
        tokens[i] = (5 * i * i + i + 3) % VOCABULARY;
    ck_assert_int_eq(cse_token_decoder_new(model,
                                           &(cse_token_decoder_sizes){ .prompt_tokens = 40,
                                                                       .max_tokens = LONG,
                                                                       .longest = LONG,
                                                                       .sequences = sequences },
                                           &together),
                     CSE_OK);
    ck_assert_int_eq(cse_token_decoder_sequences(together), sequences);
    ck_assert_int_eq(decoder_of(model, LONG, LONG, &whole), CSE_OK);
    for (int s = 0; s < sequences - 1; s++)
        ck_assert_int_eq(cse_token_decoder_begin_at(together, s, tokens + s, 30 + s), CSE_OK);
    cse_token_decoder_copy(together, 0, sequences - 1);
    for (int step = 0; step < 36; step++) {
        for (int s = 0; s < sequences; s++) {
            const int shift = s == sequences - 1 ? 0 : s;
            /* The second sequence joins every other time, so that it is half as long. */
            const int at = 30 + shift + (s == 1 ? step / 2 : step);
            given[s] = s == 1 && step % 2 == 0 ? CSE_TOKEN_RESTS : tokens[shift + at];
        }
        ck_assert_int_eq(cse_token_decoder_append_each(together, given), CSE_OK);
        for (int s = 0; s < sequences && step % 5 == 0; s++) {
            if (given[s] == CSE_TOKEN_RESTS)
                continue;
            const int shift = s == sequences - 1 ? 0 : s;
            const int count = 31 + shift + (s == 1 ? step / 2 : step);
            ck_assert_int_eq(cse_token_decoder_begin(whole, tokens + shift, count), CSE_OK);
            ck_assert_msg(memcmp(cse_token_decoder_logits_of(together, s),
                                 cse_token_decoder_logits(whole), VOCABULARY * sizeof(float)) == 0,
                          "sequence %d of %d has other bits at %d tokens", s, sequences, count);
        }
    }
    cse_token_decoder_destroy(&together);
    cse_token_decoder_destroy(&whole);
    cse_finish();
}

START_TEST(sequences_that_go_together_have_the_bits_of_a_whole_pass)
{
    static const char *const shared =
        ", attention_module: multiquery_attention, extra_attention_params: {num_kv_groups: 2}";
    go_together(NULL, 3, "");
    go_together(NULL, 8, shared);
    go_together("{fp16_type: bfloat16, precision_opt_level: 1}", 4, shared);
}
END_TEST

/* Sequences that come and go, with a place for what they need alone: passes over fewer or more of
 * them, and over prompts of any length, have the bits of a pass over the whole sequence. */
static void come_and_go(const char *precision, const char *heads)
{
    enum { SEQUENCES = 8, ROUNDS = 90, POOL = 150, KINDS = 5 };
    static const int prompts[KINDS] = { 1, 17, 33, 40, 64 };
    int32_t tokens[LONG + KINDS], given[SEQUENCES];
    int ends[SEQUENCES] = { 0 }, counts[SEQUENCES], shifts[SEQUENCES], refused = 0, least = 99,
        most = 0;
    char text[512];
    cse_token_decoder *decoder = NULL, *whole = NULL;
    configure(precision);
    snprintf(text, sizeof text,
             "{hidden_size: 48, num_hidden_layers: 2, num_heads: 4, vocab_size: %d, filter_size: "
             "80, max_position_embeddings: %d, rotary_dim: 12%s}",
             VOCABULARY, LONG, heads);
    cse_model *model = cse_compile(cse_model_new("llama", text));
    for (int i = 0; i < LONG + KINDS; i++)
        tokens[i] = (3 * i * i + 5 * i + 1) % VOCABULARY;
    const cse_token_decoder_sizes sizes = { .prompt_tokens = 16,
                                            .most_prompt_tokens = LONG,
                                            .max_tokens = LONG,
                                            .longest = LONG,
                                            .sequences = SEQUENCES,
                                            .pool_tokens = POOL };
    ck_assert_msg(cse_token_decoder_new(model, &sizes, &decoder) == CSE_OK, "%s",
                  cse_error_message());
    ck_assert_int_eq(decoder_of(model, LONG, LONG, &whole), CSE_OK);
    ck_assert_int_eq(cse_token_decoder_sequences(decoder), SEQUENCES);
    for (int round = 0; round < ROUNDS; round++) {
        const int s = (5 * round) % SEQUENCES, kind = round % KINDS;
        const int wanted = prompts[kind] + 2 + round % 6;
        if (ends[s] == 0 && !cse_token_decoder_take(decoder, s, wanted)) {
            refused++;
        } else if (ends[s] == 0) {
            ends[s] = wanted;
            counts[s] = prompts[kind];
            shifts[s] = kind;
            ck_assert_int_eq(cse_token_decoder_begin_at(decoder, s, tokens + kind, prompts[kind]),
                             CSE_OK);
        }
        int active = 0;
        for (int i = 0; i < SEQUENCES; i++) {
            const bool rests = ends[i] == 0 || (i + round) % 7 == 0;
            given[i] = rests ? CSE_TOKEN_RESTS : tokens[shifts[i] + counts[i]];
            active += !rests;
        }
        least = active > 0 && active < least ? active : least;
        most = active > most ? active : most;
        ck_assert_msg(cse_token_decoder_append_each(decoder, given) == CSE_OK, "%s",
                      cse_error_message());
        for (int i = 0; i < SEQUENCES; i++) {
            if (given[i] == CSE_TOKEN_RESTS)
                continue;
            counts[i]++;
            ck_assert_int_eq(cse_token_decoder_begin(whole, tokens + shifts[i], counts[i]), CSE_OK);
            ck_assert_msg(memcmp(cse_token_decoder_logits_of(decoder, i),
                                 cse_token_decoder_logits(whole), VOCABULARY * sizeof(float)) == 0,
                          "round %d: sequence %d of %d tokens has other bits", round, i, counts[i]);
            if (counts[i] < ends[i])
                continue;
            ends[i] = 0;
            cse_token_decoder_leave(decoder, i);
        }
    }
    ck_assert_msg(refused > 0 && least == 1 && most >= 3, "%d refused, %d to %d sequences", refused,
                  least, most);
    cse_token_decoder_destroy(&decoder);
    cse_token_decoder_destroy(&whole);
    cse_finish();
}

START_TEST(sequences_come_and_go)
{
    come_and_go(NULL, ", attention_module: multiquery_attention, "
                      "extra_attention_params: {num_kv_groups: 2}");
    come_and_go("{fp16_type: bfloat16, precision_opt_level: 1}", "");
}
END_TEST

/* A window hides keys that lie in no pages: one sequence at a time. */
START_TEST(windows_are_decoded_alone)
{
    configure(NULL);
    cse_token_decoder *decoder = NULL;
    const cse_token_decoder_sizes sizes = { 8, LONGEST, LONGEST, 4, 4 * LONGEST, LONGEST };
    ck_assert_int_eq(
        cse_token_decoder_new(llama_of(", attention_sliding_window_length: 5"), &sizes, &decoder),
        CSE_OK);
    ck_assert_int_eq(cse_token_decoder_sequences(decoder), 1);
    ck_assert(cse_token_decoder_take(decoder, 0, LONGEST));
    ck_assert_int_eq(cse_token_decoder_begin(decoder, (const int32_t[]){ 1, 2, 3 }, 3), CSE_OK);
    ck_assert_int_eq(cse_token_decoder_append(decoder, 4), CSE_OK);
    cse_token_decoder_destroy(&decoder);
    cse_finish();
}
END_TEST

/* Logits of a prompt and of tokens behind it; products are large enough to be divided. */
static void decode_on(int count, const char *precision, float logits[][VOCABULARY], int steps)
{
    int32_t tokens[LONGEST];
    char text[512];
    cse_token_decoder *decoder = NULL;
    threads = count;
    configure(precision);
    threads = 1;
    snprintf(text, sizeof text,
             "{hidden_size: 256, num_hidden_layers: 1, num_heads: 4, vocab_size: %d, filter_size: "
             "600, max_position_embeddings: %d, rotary_dim: 64}",
             VOCABULARY, LONGEST);
    ck_assert_msg(decoder_of(cse_compile(cse_model_new("llama", text)), 9, LONGEST, &decoder) ==
                      CSE_OK,
                  "%s", cse_error_message());
    for (int i = 0; i < LONGEST; i++)
        tokens[i] = (7 * i + 3) % VOCABULARY;
    ck_assert_int_eq(cse_token_decoder_begin(decoder, tokens, 9), CSE_OK);
    for (int s = 0; s < steps; s++) {
        memcpy(logits[s], cse_token_decoder_logits(decoder), sizeof logits[s]);
        ck_assert_int_eq(cse_token_decoder_append(decoder, tokens[9 + s]), CSE_OK);
    }
    cse_token_decoder_destroy(&decoder);
    cse_finish();
}

START_TEST(threads_that_share_a_pass_change_no_bit)
{
    enum { STEPS = 4, MOST_THREADS = 4 };
    static const char *const precisions[] = { NULL,
                                              "{fp16_type: bfloat16, precision_opt_level: 1}" };
    float wanted[STEPS][VOCABULARY], got[STEPS][VOCABULARY];
    decode_on(1, precisions[_i], wanted, STEPS);
    for (int count = 2; count <= MOST_THREADS; count++) {
        decode_on(count, precisions[_i], got, STEPS);
        ck_assert_msg(memcmp(got, wanted, sizeof wanted) == 0, "other bits on %d threads", count);
    }
}
END_TEST

START_TEST(mistakes_are_told)
{
    configure(NULL);
    cse_token_decoder *decoder = NULL;
    cse_model *model = gpt2_of(1, 1);
    const int32_t tokens[LONGEST + 1] = { 0 };
    ck_assert_int_eq(decoder_of(model, 4, 3, &decoder), CSE_USAGE);
    ck_assert_int_eq(decoder_of(model, LONGEST + 1, LONGEST + 1, &decoder), CSE_SHAPE);
    ck_assert_ptr_null(decoder);
    cse_finish();

    configure(NULL);
    model = gpt2_of(1, 1);
    ck_assert_int_eq(decoder_of(model, 2, 3, &decoder), CSE_OK);
    ck_assert_int_eq(cse_token_decoder_begin(decoder, tokens, 0), CSE_DATA);
    ck_assert_int_eq(cse_token_decoder_begin(decoder, tokens, 3), CSE_DATA);
    ck_assert_int_eq(cse_token_decoder_begin(decoder, (const int32_t[]){ VOCABULARY }, 1),
                     CSE_DATA);
    ck_assert_int_eq(cse_token_decoder_begin(decoder, (const int32_t[]){ -1 }, 1), CSE_DATA);
    ck_assert_int_eq(cse_token_decoder_begin(decoder, tokens, 2), CSE_OK);
    ck_assert_int_eq(cse_token_decoder_append(decoder, 0), CSE_OK);
    ck_assert_int_eq(cse_token_decoder_append(decoder, 0), CSE_USAGE);
    cse_token_decoder_destroy(&decoder);
    cse_finish();
}
END_TEST

/* A model without attention over tokens has no logits for each. */
START_TEST(other_models_are_refused)
{
    configure(NULL);
    cse_token_decoder *decoder = NULL;
    cse_model *model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [4], num_classes: 3}"));
    ck_assert_int_ne(decoder_of(model, 8, 8, &decoder), CSE_OK);
    ck_assert_ptr_null(decoder);
    cse_finish();

    /* An encoder has logits for each token, but sees those after it. */
    configure(NULL);
    model = cse_compile(cse_model_new(
        "bert", "{hidden_size: 16, num_hidden_layers: 1, num_heads: 2, filter_size: 32, "
                "vocab_size: 20, max_position_embeddings: 8, disable_nsp: true}"));
    ck_assert_int_eq(decoder_of(model, 8, 8, &decoder), CSE_USAGE);
    ck_assert_ptr_null(decoder);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token decoder");
    TCase *tests = tcase_create("all");
    if (mkdtemp(folder) == NULL)
        return 1;
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, tokens_that_are_appended_are_as_those_of_a_prompt);
    tcase_add_test(tests, models_in_16_bits_are_decoded);
    tcase_add_test(tests, other_formats_agree_within_their_rounding);
    tcase_add_test(tests, rotation_shared_keys_and_windows_are_those_of_a_whole_pass);
    tcase_add_test(tests, layers_of_several_kinds_are_those_of_a_whole_pass);
    tcase_add_test(tests, sequences_that_go_together_have_the_bits_of_a_whole_pass);
    tcase_add_test(tests, sequences_come_and_go);
    tcase_add_test(tests, windows_are_decoded_alone);
    tcase_add_loop_test(tests, threads_that_share_a_pass_change_no_bit, 0, 2);
    tcase_add_test(tests, mistakes_are_told);
    tcase_add_test(tests, other_models_are_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed != 0;
}
