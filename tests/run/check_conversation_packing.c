/* Conversations that share a row: the mean loss and three steps of training are those of rows of
 * their own, and a conversation has the same losses, bit for bit, whatever stands beside it. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/csengine.h"
#include "csengine/modules.h"
#include "tests/support/traced_run.h"

enum { TIME = 12, STEPS = 3 };

static char folder[128];

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Tokens are the letters a to h, and <e>, which ends a completion. */
static void begin(void)
{
    snprintf(folder, sizeof folder, "%s/cse_packing_XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    write_file(
        "tokenizer.json",
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3, "
        "\"e\": 4, \"f\": 5, \"g\": 6, \"h\": 7}, \"merges\": []}, \"added_tokens\": "
        "[{\"id\": 8, \"content\": \"<e>\"}], \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
        "\"add_prefix_space\": false}}");
}

static void end(void)
{
    static const char *const names[] = { "tokenizer.json", "data.jsonl" };
    char path[256];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

static const char *line(const char *prompt, const char *completion)
{
    static char text[256];
    snprintf(text, sizeof text, "{\"prompt\": \"%s\", \"completion\": \"%s\"}\n", prompt,
             completion);
    return text;
}

static void write_lines(const char *const pairs[][2], int count)
{
    char text[2048] = "";
    for (int i = 0; i < count; i++)
        strncat(text, line(pairs[i][0], pairs[i][1]), sizeof text - strlen(text) - 1);
    write_file("data.jsonl", text);
}

static const char *data(bool packs, int batch_size)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "{data_processor: conversations, path: %s/data.jsonl, tokenizer: %s, end_of_text: "
             "<e>, sequence_length: %d, packing: %s, shuffle: false, batch_size: %d}",
             folder, folder, TIME, packs ? "true" : "false", batch_size);
    return text;
}

static const char *const models[] = {
    "gpt2 learned",
    "llama rotary",
    "gpt2 alibi",
};

static cse_model *model_of(const char *name)
{
    char settings[512];
    const bool is_llama = strncmp(name, "llama", 5) == 0;
    snprintf(
        settings, sizeof settings,
        "{vocab_size: 9, hidden_size: 16, num_hidden_layers: 2, num_heads: 2, filter_size: 24, "
        "dropout_rate: 0.0, max_position_embeddings: %d%s}",
        TIME, strcmp(name, "gpt2 alibi") == 0 ? ", position_embedding_type: alibi" : "");
    return cse_model_new(is_llama ? "llama" : "gpt2", settings);
}

/* ---- training ---- */

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static void train(const char *name, const char *loader, double losses[STEPS])
{
    traced_run traced;
    open_session();
    training t = { .model = cse_compile(model_of(name)) };
    ck_assert_msg(t.model != NULL, "%s", cse_error_message());
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.5}");
    ck_assert_msg(t.optimizer != NULL, "%s", cse_error_message());
    traced_run_open(&traced, loader, training_step, &t);
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&traced);
        losses[s] = (double)straight_run_fetched(&traced.run, 0);
    }
    traced_run_close(&traced);
    cse_finish();
}

START_TEST(packed_losses_are_those_of_rows_of_their_own)
{
    static const char *const pairs[][2] = { { "abc", "de" }, { "ab", "c" },      { "a", "bcdefgh" },
                                            { "ha", "hb" },  { "cdcd", "efef" }, { "g", "g" } };
    double alone[STEPS], packed[STEPS];
    const char *name = models[_i];
    write_lines(pairs, 6);
    train(name, data(false, 6), alone);
    /* Lengths with <e>: 6, 4, 9, 5, 9, 3 become [6 5] [4] [9 3] [9]. */
    train(name, data(true, 4), packed);
    for (int s = 0; s < STEPS; s++)
        ck_assert_msg(fabs(alone[s] - packed[s]) < 1e-6, "%s: step %d: %.9g alone, %.9g packed",
                      name, s, alone[s], packed[s]);
    ck_assert(alone[0] != alone[2]);
}
END_TEST

/* ---- neighbours ---- */

/* The mean loss over the tokens of a row from `self[0]` to before `self[1]`. */
static cse_model *looked_at;
static cse_tensor *part_step(cse_step *step, void *self)
{
    const int *part = self;
    cse_tensor *predictions = NULL;
    if (cse_model_loss(looked_at, step, &predictions) == NULL)
        return NULL;
    cse_tensor *labels = cse_step_input(step, "labels");
    cse_tensor *place = cse_reshape(cse_iota(TIME, 0, 1), cse_shape_of(1, TIME));
    cse_tensor *inside = cse_logical_and(cse_less_equal(cse_constant_int(part[0]), place),
                                         cse_less(place, cse_constant_int(part[1])));
    return cse_cross_entropy(predictions, cse_where(inside, labels, cse_constant_int(-100)));
}

static float part_loss(const char *name, int from, int to)
{
    traced_run traced;
    int part[] = { from, to };
    open_session();
    looked_at = cse_compile(model_of(name));
    cse_eval_mode(looked_at);
    traced_run_open(&traced, data(true, 1), part_step, part);
    traced_run_step(&traced);
    const float loss = straight_run_fetched(&traced.run, 0);
    traced_run_close(&traced);
    cse_finish();
    return loss;
}

START_TEST(a_neighbour_changes_nothing)
{
    static const char *const first[][2] = { { "abc", "de" }, { "fg", "hh" } };
    static const char *const second[][2] = { { "hge", "fa" }, { "fg", "hh" } };
    static const char *const third[][2] = { { "abc", "de" }, { "aa", "bb" } };
    const char *name = models[_i];
    write_lines(first, 2);
    const float left = part_loss(name, 0, 6), right = part_loss(name, 6, 11);
    write_lines(second, 2);
    ck_assert_msg(part_loss(name, 6, 11) == right, "%s: the second one sees the first", name);
    ck_assert(part_loss(name, 0, 6) != left);
    write_lines(third, 2);
    ck_assert_msg(part_loss(name, 0, 6) == left, "%s: the first one sees the second", name);
    ck_assert(part_loss(name, 6, 11) != right);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conversation_packing");
    TCase *cases = tcase_create("conversation_packing");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_loop_test(cases, packed_losses_are_those_of_rows_of_their_own, 0, 3);
    tcase_add_loop_test(cases, a_neighbour_changes_nothing, 0, 3);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
