/* The losses of preferences beside their formulas in float64, and their gradients beside finite
 * differences of these formulas, of a language model that is one table: the logits of the next
 * token are the row of the last one. The batch is cut into microbatches in three ways. Whole runs
 * are compared with TRL by tests/python/check_preferences.sh, the distillation with PyTorch by
 * tests/python/check_distillation.sh. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "csengine/modules.h"
#include "engine/base/config/settings.h"
#include "engine/nn/frozen_copy.h"
#include "engine/nn/objective.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { LETTERS = 6, END = LETTERS, VOCABULARY, TABLE = VOCABULARY * VOCABULARY, SAMPLES = 4 };

static char folder[64];

/* ---- the data ---- */

typedef struct sample {
    const char *prompt, *first, *second;
    bool desirable;
} sample;

static const sample samples[SAMPLES] = { { "ab", "cd", "f", true },
                                         { "c", "abcde", "ffe", false },
                                         { "ed", "a", "bbbb", true },
                                         { "fab", "cc", "dea", true } };

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}

static void write_data(void)
{
    char text[2][2048] = { "", "" };
    for (int i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        snprintf(text[0] + strlen(text[0]), sizeof text[0] - strlen(text[0]),
                 "{\"prompt\": \"%s\", \"chosen\": \"%s\", \"rejected\": \"%s\"}\n", s->prompt,
                 s->first, s->second);
        snprintf(text[1] + strlen(text[1]), sizeof text[1] - strlen(text[1]),
                 "{\"prompt\": \"%s\", \"completion\": \"%s\", \"label\": %s}\n", s->prompt,
                 s->first, s->desirable ? "true" : "false");
    }
    write_file("pairs.jsonl", text[0]);
    write_file("labelled.jsonl", text[1]);
    write_file("tokenizer.json",
               "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"d\": "
               "3, \"e\": 4, \"f\": 5}, \"merges\": []}, \"added_tokens\": [{\"id\": 6, "
               "\"content\": \"<|endoftext|>\"}], \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
               "\"add_prefix_space\": false}}");
}

/* ---- the formulas ---- */

typedef struct scores {
    double sum, tokens; /* of a completion with its end: logarithms of probabilities */
    double all, places; /* the same of prompt and completion but for the first token */
} scores;

static double log_probability(const double *table, int before, int token)
{
    double sum = 0;
    for (int v = 0; v < VOCABULARY; v++)
        sum += exp(table[before * VOCABULARY + v]);
    return table[before * VOCABULARY + token] - log(sum);
}

static scores score(const double *table, const char *prompt, const char *completion)
{
    char text[32];
    scores s = { 0, 0, 0, 0 };
    snprintf(text, sizeof text, "%s%s", prompt, completion);
    for (size_t t = 1; t <= strlen(text); t++) {
        const int token = text[t] != '\0' ? text[t] - 'a' : END;
        const double p = log_probability(table, text[t - 1] - 'a', token);
        s.all += p;
        s.places++;
        if (t < strlen(prompt))
            continue;
        s.sum += p;
        s.tokens++;
    }
    return s;
}

static double log_sigmoid(double x)
{
    return -log1p(exp(-x));
}

/* What an objective computes of both tables; [SAMPLES] pairs. */
typedef double formula(const double *table, const double *reference);

static double ratio(const double *table, const double *reference, const char *prompt,
                    const char *completion, bool of_token)
{
    const scores own = score(table, prompt, completion);
    const double difference = own.sum - score(reference, prompt, completion).sum;
    return of_token ? difference / own.tokens : difference;
}

static double margin(const double *table, const double *reference, int i, bool of_token)
{
    const sample *s = &samples[i];
    return ratio(table, reference, s->prompt, s->first, of_token) -
           ratio(table, reference, s->prompt, s->second, of_token);
}

/* The cross entropy of chosen completions, with their prompts or without. */
static double chosen(const double *table, bool with_prompt)
{
    double sum = 0, count = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const scores s = score(table, samples[i].prompt, samples[i].first);
        sum -= with_prompt ? s.all : s.sum;
        count += with_prompt ? s.places : s.tokens;
    }
    return sum / count;
}

static double dpo(const double *table, const double *reference)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const double x = 0.7 * margin(table, reference, i, false);
        sum -= 0.8 * log_sigmoid(x) + 0.2 * log_sigmoid(-x);
    }
    return sum / SAMPLES + 0.3 * chosen(table, false);
}

static double dpo_alone(const double *table, const double *reference)
{
    double sum = 0;
    (void)reference;
    for (int i = 0; i < SAMPLES; i++)
        sum -= log_sigmoid(0.7 * (score(table, samples[i].prompt, samples[i].first).sum -
                                  score(table, samples[i].prompt, samples[i].second).sum));
    return sum / SAMPLES;
}

static double ipo(const double *table, const double *reference)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        sum += pow(margin(table, reference, i, true) - 1 / (2 * 0.4), 2);
    return sum / SAMPLES;
}

static double mean_of(const double *table, const char *prompt, const char *completion)
{
    const scores s = score(table, prompt, completion);
    return s.sum / s.tokens;
}

static double log_odds(double mean)
{
    return mean - log1p(-exp(mean));
}

static double orpo(const double *table, const double *reference)
{
    double sum = 0;
    (void)reference;
    for (int i = 0; i < SAMPLES; i++)
        sum -= log_sigmoid(log_odds(mean_of(table, samples[i].prompt, samples[i].first)) -
                           log_odds(mean_of(table, samples[i].prompt, samples[i].second)));
    return chosen(table, true) + 0.6 * sum / SAMPLES;
}

static double simpo(const double *table, const double *reference)
{
    double sum = 0;
    (void)reference;
    for (int i = 0; i < SAMPLES; i++) {
        const double x = 1.5 * (mean_of(table, samples[i].prompt, samples[i].first) -
                                mean_of(table, samples[i].prompt, samples[i].second)) -
                         0.4;
        sum -= 0.9 * log_sigmoid(x) + 0.1 * log_sigmoid(-x);
    }
    return sum / SAMPLES + 0.5 * chosen(table, false);
}

/* Completions move by one among all four; the divergence of two samples each. It gives no gradient:
 * it is that of `held`. */
static const double *held;

static double kto(const double *table, const double *reference)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double far = 0;
        for (int k = i / 2 * 2; k < i / 2 * 2 + 2; k++)
            far += ratio(held, reference, samples[k].prompt,
                         samples[(k + SAMPLES - 1) % SAMPLES].first, false) /
                   2;
        far = fmax(far, 0);
        const double r = ratio(table, reference, samples[i].prompt, samples[i].first, false);
        const double x = 0.5 * (samples[i].desirable ? r - far : far - r);
        sum += (samples[i].desirable ? 1.3 : 0.6) * (1 - 1 / (1 + exp(-x)));
    }
    return sum / SAMPLES;
}

static const struct {
    const char *name, *settings, *data;
    formula *formula;
} cases[] = {
    { "dpo", "{beta: 0.7, label_smoothing: 0.2, rpo_alpha: 0.3}", "pairs", dpo },
    { "dpo", "{beta: 0.7, reference_free: true}", "pairs", dpo_alone },
    { "ipo", "{beta: 0.4}", "pairs", ipo },
    { "orpo", "{beta: 0.6}", "pairs", orpo },
    { "simpo", "{beta: 1.5, simpo_gamma: 0.4, cpo_alpha: 0.5, label_smoothing: 0.1}", "pairs",
      simpo },
    { "kto", "{beta: 0.5, desirable_weight: 1.3, undesirable_weight: 0.6, kl_samples: 2}",
      "labelled", kto },
};
static const int micro_batch_sizes[] = { 4, 2, 1 };

/* ---- the model ---- */

typedef struct table_model {
    cse_state *table;
} table_model;

static const cse_setting no_settings[] = { { .name = NULL } };

static cse_status build(cse_model *model, const cse_settings *settings)
{
    table_model *self = cse_model_self(model);
    (void)settings;
    self->table = cse_parameter(model, "table", cse_shape_of(VOCABULARY, VOCABULARY),
                                (cse_initializer){ CSE_INIT_NORMAL, 0, 1 });
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *tokens)
{
    const table_model *self = cse_model_self(model);
    return cse_embedding(cse_read(self->table), tokens);
}

static const cse_model_descriptor descriptor = { .name = "table",
                                                 .summary = "logits of the last token",
                                                 .settings = no_settings,
                                                 .abi = CSE_MODEL_ABI,
                                                 .self_bytes = sizeof(table_model),
                                                 .build = build,
                                                 .forward = forward };

/* ---- a step ---- */

typedef struct trained {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_state *loss;
} trained;

static cse_tensor *step_of(cse_step *step, void *self)
{
    const trained *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    cse_assign(t->loss, cse_batch_mean(loss));
    return loss;
}

static trained open_model(const char *name, const char *settings)
{
    open_session();
    trained t = { .model = cse_compile(cse_model_define(&descriptor, NULL)) };
    ck_assert_msg(cse_configure_objective(name, t.model, settings) == CSE_OK, "%s",
                  cse_error_message());
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{learning_rate: 1}");
    t.loss = cse_state_new("loss", (cse_shape){ .rank = 0 }, CSE_FLOAT32,
                           (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    return t;
}

static void fill(const traced_run *traced, const char *name, double phase, double values[TABLE])
{
    float *state = traced_floats(traced, name);
    for (int e = 0; e < TABLE; e++)
        values[e] = (double)(state[e] = (float)sin(phase + 1.7 * e));
}

static double difference(formula *f, double *table, const double *reference, int e)
{
    static const double step = 1e-5;
    const double value = table[e];
    table[e] = value + step;
    const double above = f(table, reference);
    table[e] = value - step;
    const double below = f(table, reference);
    table[e] = value;
    return (above - below) / (2 * step);
}

START_TEST(losses_and_gradients_are_those_of_the_formula)
{
    char yaml[512];
    traced_run traced;
    double table[TABLE], reference[TABLE] = { 0 };
    const int c = _i / 3, micro_batch_size = micro_batch_sizes[_i % 3];
    const bool is_kto = strcmp(cases[c].name, "kto") == 0;
    if (is_kto && micro_batch_size == 1)
        return; /* kl_samples does not divide it: see below */
    trained t = open_model(cases[c].name, cases[c].settings);
    snprintf(yaml, sizeof yaml,
             "{data_processor: preferences, path: %s/%s.jsonl, kind: %s, tokenizer: "
             "%s/tokenizer.json, max_sequence_length: 10, batch_size: 4, micro_batch_size: %d, "
             "shuffle: false}",
             folder, cases[c].data, is_kto ? "unpaired" : "paired", folder, micro_batch_size);
    traced_run_open(&traced, yaml, step_of, &t);
    fill(&traced, "model.table", 0.3, table);
    if (t.model->objective->other != NULL)
        fill(&traced, "reference.table", 0.8, reference);
    double before[TABLE];
    memcpy(before, table, sizeof before);
    held = before;
    traced_run_step(&traced);
    const double wanted = cases[c].formula(table, reference);
    ck_assert_double_eq_tol((double)traced_floats(&traced, "loss")[0], wanted, 2e-6);
    double largest = 0;
    for (int e = 0; e < TABLE; e++) {
        const double gradient = table[e] - (double)traced_floats(&traced, "model.table")[e];
        const double expected = difference(cases[c].formula, table, reference, e);
        ck_assert_double_eq_tol(gradient, expected, 2e-6);
        largest = fmax(largest, fabs(gradient));
    }
    ck_assert_double_gt(largest, 1e-3);
    traced_run_close(&traced);
    cse_finish();
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *settings, *message;
} divergences[] = {
    { "{kl_samples: 3}", "does not divide the 2 samples of a microbatch" },
    { "{}", "the batch has 2 of 2 samples each: say by kl_samples over how many" },
};

START_TEST(samples_of_a_divergence_are_of_one_microbatch)
{
    char yaml[512];
    trained t = open_model("kto", divergences[_i].settings);
    snprintf(yaml, sizeof yaml,
             "{data_processor: preferences, path: %s/labelled.jsonl, kind: unpaired, tokenizer: "
             "%s/tokenizer.json, max_sequence_length: 10, batch_size: 4, micro_batch_size: 2}",
             folder, folder);
    const char *message = traced_failure(yaml, step_of, &t);
    ck_assert_msg(strstr(message, divergences[_i].message) != NULL, "%s", message);
    cse_finish();
}
END_TEST

static const struct {
    const char *name, *kind, *data, *message;
} unfit[] = {
    { "dpo", "unpaired", "labelled", "objective dpo compares pairs" },
    { "orpo", "unpaired", "labelled", "objective orpo compares pairs" },
    { "kto", "paired", "pairs", "kind: unpaired of the input function preferences gives it" },
};

START_TEST(data_of_the_other_kind_are_refused)
{
    char yaml[512];
    trained t = open_model(unfit[_i].name, "{}");
    snprintf(yaml, sizeof yaml,
             "{data_processor: preferences, path: %s/%s.jsonl, kind: %s, tokenizer: "
             "%s/tokenizer.json, max_sequence_length: 10, batch_size: 4}",
             folder, unfit[_i].data, unfit[_i].kind, folder);
    const char *message = traced_failure(yaml, step_of, &t);
    ck_assert_msg(strstr(message, unfit[_i].message) != NULL, "%s", message);
    cse_finish();
}
END_TEST

START_TEST(data_without_pairs_are_refused)
{
    trained t = open_model("dpo", "{}");
    const char *message = traced_failure("{data_processor: synthetic, samples: 4, features: [6], "
                                         "classes: 3, batch_size: 4, shuffle: false}",
                                         step_of, &t);
    ck_assert_msg(strstr(message, "the data have no input 'input_ids'") != NULL, "%s", message);
    cse_finish();
}
END_TEST

/* It would be compared with every sample of the batch. */
START_TEST(a_label_that_is_not_one_of_a_sample_is_refused)
{
    trained t = open_model("kto", "{}");
    const char *message = traced_failure(
        "{data_processor: command, command: [none], sample_count: 8, streams: [input_ids int32 2 "
        "6, labels int32 2 6, attention_mask int32 2 6, desirable int32 1], batch_size: 4}",
        step_of, &t);
    ck_assert_msg(strstr(message, "'desirable' is [4, 1] int32") != NULL, "%s", message);
    cse_finish();
}
END_TEST

START_TEST(a_reference_begins_as_the_model_and_stays)
{
    float own[TABLE], copied[TABLE] = { 0 };
    const cse_state *copy = NULL;
    trained t = open_model("dpo", "{}");
    copy = t.model->objective->other->parameters[0];
    ck_assert_str_eq(copy->name, "reference.table");
    ck_assert(!copy->trainable && copy->persistent);
    ck_assert_int_eq(cse_parameter_tensors(t.model->objective->other), 0);
    for (int e = 0; e < TABLE; e++)
        own[e] = (float)e;
    ck_assert_int_eq(cse_state_set(t.model->parameters[0], own, sizeof own), CSE_OK);
    cse_network_settle_copies(cse_network_open_view("test"));
    ck_assert_int_eq(cse_state_set(t.model->parameters[0], copied, sizeof copied), CSE_OK);
    ck_assert_int_eq(cse_state_get(t.model->objective->other->parameters[0], copied, sizeof copied),
                     CSE_OK);
    ck_assert_mem_eq(own, copied, sizeof own);
    cse_finish();
}
END_TEST

/* ---- calls of a program ---- */

static const struct {
    const char *name, *settings, *message;
    cse_status status;
} mistakes[] = {
    { "dpoo", "{}", "did you mean 'dpo'", CSE_CONFIG },
    { "dpo", "{betta: 1}", "did you mean \"beta\"", CSE_CONFIG },
    { "dpo", "{beta: -1}", "beta", CSE_CONFIG },
    { "distillation", "{teacher: ./large}", "its teacher is read anew at each start", CSE_USAGE },
};

START_TEST(mistakes_of_a_program_are_told)
{
    open_session();
    cse_model *model = cse_compile(cse_model_define(&descriptor, NULL));
    ck_assert_int_eq(cse_configure_objective(mistakes[_i].name, model, mistakes[_i].settings),
                     mistakes[_i].status);
    ck_assert_msg(strstr(cse_error_message(), mistakes[_i].message) != NULL, "%s",
                  cse_error_message());
    ck_assert_int_eq(cse_session_status(), mistakes[_i].status);
    cse_finish();
}
END_TEST

START_TEST(a_model_has_one_objective)
{
    open_session();
    cse_model *model = cse_compile(cse_model_define(&descriptor, NULL));
    ck_assert_int_eq(cse_configure_objective("ipo", model, NULL), CSE_OK);
    ck_assert_int_eq(cse_configure_objective("dpo", model, NULL), CSE_USAGE);
    ck_assert(strstr(cse_error_message(), "has the objective ipo already") != NULL);
    cse_finish();
    open_session();
    ck_assert_int_eq(cse_configure_objective("ipo", NULL, NULL), CSE_USAGE);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("objectives");
    TCase *tests = tcase_create("preferences");
    snprintf(folder, sizeof folder, "/tmp/cse_objectives_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    write_data();
    tcase_add_loop_test(tests, losses_and_gradients_are_those_of_the_formula, 0,
                        3 * (int)(sizeof cases / sizeof cases[0]));
    tcase_add_loop_test(tests, samples_of_a_divergence_are_of_one_microbatch, 0, 2);
    tcase_add_loop_test(tests, data_of_the_other_kind_are_refused, 0,
                        (int)(sizeof unfit / sizeof unfit[0]));
    tcase_add_test(tests, data_without_pairs_are_refused);
    tcase_add_test(tests, a_label_that_is_not_one_of_a_sample_is_refused);
    tcase_add_loop_test(tests, mistakes_of_a_program_are_told, 0,
                        (int)(sizeof mistakes / sizeof mistakes[0]));
    tcase_add_test(tests, a_model_has_one_objective);
    tcase_add_test(tests, a_reference_begins_as_the_model_and_stays);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return !temporary_folder_remove(folder) || failed != 0;
}
