/* A plan that is found again equals the one that the passes make: same graph to the last
 * annotation, same places of source, same bytes in the artefact; for models, precisions and
 * random graphs. And what is not its own is not found; what is damaged is refused, whatever byte
 * it is. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/code/codegen/codegen.h"
#include "engine/code/codegen/plan_file.h"
#include "engine/graph/precision/graphamp.h"
#include "tests/support/open_loader.h"
#include "tests/support/random_graph.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { RANDOM_GRAPHS = 6, RANDOM_NODES = 60 };

static char compile_dir[64];

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

/* Everything that later code reads of a plan, as text. */
static char *described(const cse_graph *graph)
{
    cse_text text = { 0 };
    cse_graph_to_json(graph, &text);
    cse_graph_print(graph, &text);
    cse_precision_report_json(graph, "step", &text);
    for (int n = 0; n < graph->node_count; n++) {
        const cse_node *node = graph->nodes[n];
        cse_text_add(&text, "%d %s:%d batch %d tracked %d\n", n,
                     node->file != NULL ? node->file : "-", node->line, (int)node->batch,
                     node->tracked);
    }
    for (int i = 0; i < graph->input_count; i++)
        cse_text_add(&text, "%s below %lld: %s\n", graph->inputs[i].name,
                     (long long)graph->inputs[i].index_count,
                     graph->inputs[i].index_use != NULL ? graph->inputs[i].index_use : "-");
    return text.data;
}

/* Plans a traced graph and, if that was not found, compiles it. True when it was found. */
static bool plan_and_compile(cse_graph *graph)
{
    cse_compilation *compilation;
    cse_compile_result result;
    const cse_node *before = graph->node_count > 0 ? graph->nodes[0] : NULL;
    must(cse_compilation_new(graph, NULL, compile_dir, &compilation));
    must(cse_compilation_plan(compilation, graph, NULL));
    must(cse_compilation_finish(compilation, graph, &result));
    cse_compilation_destroy(&compilation);
    ck_assert_ptr_nonnull(before->op); /* nodes of before are still there */
    return result.cached;
}

/* Two equal traced graphs: the first is planned, the second found. */
static void compare_and_destroy(cse_graph *first, cse_graph *second)
{
    ck_assert(!plan_and_compile(first));
    ck_assert(plan_and_compile(second));
    char *made = described(first), *found = described(second);
    ck_assert_msg(strcmp(made, found) == 0, "a found plan differs from one that is made");
    free(made);
    free(found);
}

START_TEST(random_plans_are_found)
{
    cse_graph *first = random_graph_new(100 + (uint64_t)_i, RANDOM_NODES);
    cse_graph *second = random_graph_new(100 + (uint64_t)_i, RANDOM_NODES);
    compare_and_destroy(first, second);
    cse_graph_destroy(&first);
    cse_graph_destroy(&second);
}
END_TEST

/* ---- models ---- */

#define FC                                                                                      \
    "fc_mnist", "{input_size: 40, hidden_sizes: [36, 20], num_classes: 5, dropout: 0.2}",       \
        "{data_processor: synthetic, samples: 256, features: [40], classes: 5, batch_size: 8, " \
        "micro_batch_size: 4}"
#define CNN                                                                                  \
    "cnn",                                                                                   \
        "{image_size: 8, channels: 2, conv_channels: [3, 5], hidden_size: 12, num_classes: " \
        "4}",                                                                                \
        "{data_processor: synthetic, samples: 64, features: [2, 8, 8], classes: 4, "         \
        "batch_size: 8, micro_batch_size: 4}"
#define GPT2                                                                    \
    "gpt2",                                                                     \
        "{hidden_size: 16, num_layers: 2, num_heads: 2, vocab_size: 256, "      \
        "max_position_embeddings: 8, dropout: 0.1}",                            \
        "{data_processor: text_bytes, path: /usr/share/common-licenses/GPL-3, " \
        "sequence_length: 8, batch_size: 4, micro_batch_size: 2}"

static const struct {
    const char *model, *settings, *data, *precision, *numerics;
} cases[] = {
    { FC, NULL, NULL },
    { FC, "{fp16_type: bfloat16, graphamp: {preset: mp2}}", "{every: 2, tensors: ['*']}" },
    { CNN, NULL, NULL },
    { CNN, "{fp16_type: float16, precision_opt_level: 2, emulate_accumulation: true}", NULL },
    { GPT2, NULL, NULL },
    { GPT2, "{fp16_type: bfloat16, graphamp: {preset: mp2}}", NULL },
    { GPT2, "{fp16_type: cbfloat16, precision_opt_level: 1}", "{every: 5, tensors: ['*']}" },
};

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

START_TEST(plans_of_models_are_found)
{
    cse_dataloader *loader = NULL;
    cse_step *steps[2] = { NULL, NULL };
    must(cse_configure(&(cse_configuration){ .model_dir = "/nowhere",
                                             .seed = 1,
                                             .precision = cases[_i].precision,
                                             .numerics = cases[_i].numerics }));
    training t = { .model = cse_compile(cse_model_new(cases[_i].model, cases[_i].settings)) };
    t.optimizer = cse_configure_optimizer("AdamW", t.model, "{lr: 0.001}");
    must(cse_session_status());
    must(open_loader(cases[_i].data, 1, &loader));
    for (int s = 0; s < 2; s++)
        must(cse_step_trace(cse_session_open_view("test"), loader, training_step, &t, &steps[s]));
    compare_and_destroy(steps[0]->graph, steps[1]->graph);
    cse_step_destroy(&steps[0]);
    cse_step_destroy(&steps[1]);
    cse_dataloader_close(&loader);
    cse_finish();
}
END_TEST

/* ---- what is not found ---- */

START_TEST(other_settings_have_other_plans)
{
    cse_graph *graph = random_graph_new(77, RANDOM_NODES);
    ck_assert(!plan_and_compile(graph));
    cse_graph_destroy(&graph);
    setenv("CSE_DISABLE", "fusion", 1);
    graph = random_graph_new(77, RANDOM_NODES);
    ck_assert(!plan_and_compile(graph));
    cse_graph_destroy(&graph);
    unsetenv("CSE_DISABLE");
    graph = random_graph_new(77, RANDOM_NODES);
    graph->microbatch_count++;
    ck_assert(!plan_and_compile(graph));
    cse_graph_destroy(&graph);
}
END_TEST

/* ---- damage ---- */

/* Every byte of a plan in turn: what a reader makes of it passes every check or is refused, and
 * never reads beyond its end (the sanitizers watch). The digest is left out, so that the checks
 * behind it are reached. */
START_TEST(no_byte_is_trusted)
{
    cse_graph *graph = random_graph_new(55, RANDOM_NODES), *back;
    cse_text c = { 0 }, packed = { 0 };
    cse_program program = { 0 }, read;
    fixture_passes(graph, "");
    must(cse_codegen_print(graph, &program, &c));
    must(cse_program_check(&program, graph));
    cse_calls *calls = cse_calls_new(graph);
    cse_program_pack(&program, &packed);
    const size_t graph_starts = packed.size;
    cse_graph_pack(graph, calls, &packed);
    int refused = 0;
    for (size_t at = 0; at < packed.size; at++) {
        const char kept = packed.data[at];
        packed.data[at] = (char)(kept ^ (1 << at % 8));
        cse_unpacker from = { (const unsigned char *)packed.data,
                              (const unsigned char *)packed.data + packed.size, false };
        cse_program_unpack(&from, &read);
        if (at < graph_starts) {
            refused += from.wrong || cse_program_check(&read, graph) != CSE_OK;
        } else if (cse_graph_unpack(&from, calls, &back) == CSE_OK) {
            (void)cse_program_check(&read, back);
            cse_graph_destroy(&back);
        } else {
            refused++;
        }
        cse_program_clear(&read);
        packed.data[at] = kept;
    }
    ck_assert_int_gt(refused, 100);
    for (size_t size = graph_starts; size < packed.size; size += 7) {
        cse_unpacker from = { (const unsigned char *)packed.data + graph_starts,
                              (const unsigned char *)packed.data + size, false };
        ck_assert_int_eq(cse_graph_unpack(&from, calls, &back), CSE_DATA);
    }
    cse_calls_destroy(&calls);
    cse_program_clear(&program);
    cse_text_clear(&packed);
    cse_text_clear(&c);
    cse_graph_destroy(&graph);
}
END_TEST

/* A function number, a place and a count that are out of their range are each told. */
START_TEST(wrong_programs_are_refused)
{
    cse_graph *graph = random_graph_new(55, RANDOM_NODES);
    cse_text c = { 0 };
    cse_program program = { 0 };
    fixture_passes(graph, "");
    must(cse_codegen_print(graph, &program, &c));
    program.functions_of[1] += program.function_count;
    ck_assert_int_eq(cse_program_check(&program, graph), CSE_DATA);
    program.functions_of[1] -= program.function_count;
    for (int g = 0; g < graph->group_count; g++) {
        const cse_program_function *function = &program.functions[program.functions_of[g]];
        for (int i = 0; i < function->count; i++) {
            int64_t *value = &program.values[program.first_values[g] + i];
            if (program.parameters[function->first + i].kind == CSE_PARAMETER_STREAM)
                continue;
            *value += INT64_C(1) << 40;
            ck_assert_int_eq(cse_program_check(&program, graph), CSE_DATA);
            *value -= INT64_C(1) << 41;
            ck_assert_int_eq(cse_program_check(&program, graph), CSE_DATA);
            *value += INT64_C(1) << 40;
        }
    }
    program.group_count--;
    ck_assert_int_eq(cse_program_check(&program, graph), CSE_DATA);
    cse_program_clear(&program);
    cse_text_clear(&c);
    cse_graph_destroy(&graph);
}
END_TEST

int main(void)
{
    snprintf(compile_dir, sizeof compile_dir, "/tmp/cse_plans_XXXXXX");
    if (mkdtemp(compile_dir) == NULL)
        return 1;
    Suite *suite = suite_create("cached plan");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, random_plans_are_found, 0, RANDOM_GRAPHS);
    tcase_add_loop_test(all, plans_of_models_are_found, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(all, other_settings_have_other_plans);
    tcase_add_test(all, no_byte_is_trusted);
    tcase_add_test(all, wrong_programs_are_refused);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(compile_dir);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
