/* Tokens that are decoded one by one, and the last token of a prompt, have the logits of an
 * evaluation's forward pass over the whole text, bit for bit: for weights of every packing, alone
 * and among others, in float32 and in bfloat16. Of the packings CSE_TEST_PART chooses a quarter. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/model.h"
#include "engine/base/random.h"
#include "engine/base/types/packed/packed.h"
#include "engine/nn/packed_parameters.h"
#include "run/infer/inference.h"
#include "run/infer/language_model.h"
#include "run/infer/token_decoder.h"
#include "run/session/session.h"
#include "tests/support/part.h"
#include "tests/support/temporary_folder.h"

enum { PARTS = 4, VOCABULARY = 96, TEXT = 40, PROMPT = 33, HIDDEN = 256, MOST_MATRICES = 64 };

static const char *precision; /* of the sessions that follow; NULL: float32 */
static char folder[] = "/tmp/check_packed_decoding.XXXXXX";

/* Values of finite blocks of every type, as those of check_packed_weight.c. */
static void draw_words(int32_t *words, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t counter[4] = { (uint32_t)i, seed, 3, 0 }, drawn[4];
        cse_philox(5, counter, drawn);
        words[i] = (int32_t)(0x20002000u + (drawn[0] & 0x83ff83ffu));
    }
}

static cse_model *new_model(void)
{
    char text[512];
    snprintf(text, sizeof text,
             "{hidden_size: %d, num_hidden_layers: 2, num_heads: 4, vocab_size: %d, filter_size: "
             "512, max_position_embeddings: %d, rotary_dim: 64, attention_module: "
             "multiquery_attention, extra_attention_params: {num_kv_groups: 2}}",
             HIDDEN, VOCABULARY, TEXT);
    return cse_compile(cse_model_new("llama", text));
}

/* The matrices of the model: collected from one in float32. */
static struct {
    char name[96];
    cse_shape shape;
} matrices[MOST_MATRICES];
static int matrix_count;

static cse_session *open_session(void)
{
    const cse_configuration configuration = { .model_dir = folder,
                                              .seed = 3,
                                              .precision = precision };
    ck_assert_msg(cse_configure(&configuration) == CSE_OK, "%s", cse_error_message());
    cse_session *session = cse_session_open_view("test");
    session->plan.inference_threads = 1;
    return session;
}

static void collect_matrices(void)
{
    const cse_network *network = &open_session()->network;
    ck_assert_ptr_nonnull(new_model());
    matrix_count = 0;
    for (int i = 0; i < network->state_count; i++) {
        const cse_state *state = network->states[i];
        if (state->shape.rank != 2)
            continue;
        snprintf(matrices[matrix_count].name, sizeof matrices[0].name, "%s",
                 state->name + strlen("model."));
        matrices[matrix_count++].shape = state->shape;
    }
    cse_finish();
    ck_assert_int_ge(matrix_count, 2 * 7 + 1);
}

/* All matrices are blocks of the type. */
static cse_model *open_model(const cse_packed_type *type)
{
    cse_session *session = open_session();
    cse_network *network = &session->network;
    network->packed = cse_packed_parameters_new(session->arena);
    network->packed->all = true;
    for (int i = 0; i < matrix_count; i++) {
        const cse_packed_parameter parameter = { matrices[i].name, type, matrices[i].shape };
        cse_packed_parameters_add(network->packed, &parameter);
    }
    cse_model *model = new_model();
    ck_assert_int_eq(network->packed->kept, matrix_count);
    for (int i = 0; i < network->state_count; i++) {
        cse_state *state = network->states[i];
        if (state->packed != NULL)
            draw_words(cse_state_values(network, state), cse_shape_elements(state->shape),
                       (uint32_t)i);
    }
    return model;
}

/* ---- an evaluation's forward pass ---- */

static int logits_output;

static void trace_evaluation(cse_inference *inference, void *self)
{
    const cse_stream tokens = { "tokens", cse_shape_of(TEXT), CSE_INT32 };
    cse_tensor *logits = cse_language_logits(self, cse_inference_input(inference, &tokens));
    logits_output = cse_inference_output(inference, "logits", logits);
}

static void evaluate(cse_model *model, const int32_t tokens[TEXT], float logits[TEXT][VOCABULARY])
{
    cse_inference *inference = NULL;
    cse_eval_mode(model);
    ck_assert_msg(
        cse_inference_new(
            &(cse_inference_options){ .batch = 1, .trace = trace_evaluation, .self = model },
            &inference) == CSE_OK,
        "%s", cse_error_message());
    cse_train_mode(model);
    memcpy(cse_inference_input_memory(inference, 0), tokens, TEXT * sizeof *tokens);
    ck_assert_int_eq(cse_inference_run(inference), CSE_OK);
    memcpy(logits, cse_inference_output_view(inference, logits_output, NULL, NULL),
           sizeof(float) * TEXT * VOCABULARY);
    cse_inference_destroy(&inference);
}

/* ---- decoding ---- */

static void has_bits_of(const cse_token_decoder *decoder, int64_t sequence, const float *wanted,
                        const char *what)
{
    ck_assert_msg(memcmp(cse_token_decoder_logits_of(decoder, sequence), wanted,
                         VOCABULARY * sizeof *wanted) == 0,
                  "%s: sequence %d has other bits", what, (int)sequence);
}

static void decode(cse_model *model, int sequences, const int32_t tokens[TEXT],
                   float logits[TEXT][VOCABULARY], const char *what)
{
    int32_t given[8];
    cse_token_decoder *decoder = NULL;
    const cse_token_decoder_sizes sizes = {
        .prompt_tokens = PROMPT, .max_tokens = TEXT, .longest = TEXT, .sequences = sequences
    };
    ck_assert_msg(cse_token_decoder_new(model, &sizes, &decoder) == CSE_OK, "%s",
                  cse_error_message());
    for (int s = 0; s < sequences; s++) {
        ck_assert_int_eq(cse_token_decoder_begin_at(decoder, s, tokens, PROMPT - s), CSE_OK);
        has_bits_of(decoder, s, logits[PROMPT - s - 1], what);
    }
    for (int n = PROMPT; n < TEXT; n++) {
        for (int s = 0; s < sequences; s++)
            given[s] = tokens[n - s];
        ck_assert_int_eq(cse_token_decoder_append_each(decoder, given), CSE_OK);
        for (int s = 0; s < sequences; s++)
            has_bits_of(decoder, s, logits[n - s], what);
    }
    cse_token_decoder_destroy(&decoder);
}

static void compare(const cse_packed_type *type)
{
    static float logits[TEXT][VOCABULARY];
    int32_t tokens[TEXT];
    for (int i = 0; i < TEXT; i++)
        tokens[i] = (7 * i * i + i + 2) % VOCABULARY;
    cse_model *model = open_model(type);
    evaluate(model, tokens, logits);
    ck_assert_msg(logits[0][0] != logits[0][1] && logits[0][0] == logits[0][0], "%s: no numbers",
                  type->name);
    decode(model, 1, tokens, logits, type->name);
    decode(model, 5, tokens, logits, type->name);
    cse_finish();
}

/* Of the types those of the part, counted from `first` on; the number behind the last. */
static int compare_types(const cse_packed_type *const *types, int first, int part)
{
    for (; *types != NULL; types++, first++) {
        if (part < 0 || first % PARTS == part)
            compare(*types);
    }
    return first;
}

static void compare_all(void)
{
    static const cse_packed_type *const others[] = { &cse_packed_nf4, &cse_packed_uint4_128, NULL };
    const int part = part_of(PARTS, "packings");
    collect_matrices();
    compare_types(others, compare_types(cse_packed_types, 0, part), part);
}

START_TEST(tokens_have_the_bits_of_an_evaluation)
{
    precision = NULL;
    compare_all();
}
END_TEST

START_TEST(and_in_bfloat16)
{
    precision = "{fp16_type: bfloat16, graphamp: {preset: mp2}}";
    compare_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decoding with packed weights");
    TCase *tests = tcase_create("all");
    if (mkdtemp(folder) == NULL)
        return 1;
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, tokens_have_the_bits_of_an_evaluation);
    tcase_add_test(tests, and_in_bfloat16);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed != 0;
}
