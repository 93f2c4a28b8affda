/* Steps of models whose values are destroyed once the memory plan gives their place away: the same
 * bits as without, whichever executable runs them; and a plan that ends a value too early is
 * noticed. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "engine/code/execute/poison.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { STEPS = 2, TRIES = 8 };

static char folder[64];

static const struct {
    const char *model, *settings, *data, *precision;
} cases[] = {
    { "fc_mnist", "{input_size: 40, hidden_sizes: [36, 20], num_classes: 5, dropout: 0.2}",
      "{data_processor: synthetic, samples: 256, features: [40], classes: 5, batch_size: 48, "
      "micro_batch_size: 16}",
      NULL },
    { "cnn", "{image_size: 12, channels: 1, conv_channels: [4, 6], hidden_size: 20}",
      "{data_processor: synthetic, samples: 64, features: [1, 12, 12], classes: 10, "
      "batch_size: 16}",
      NULL },
    { "gpt2",
      "{hidden_size: 16, num_layers: 3, num_heads: 2, vocab_size: 256, "
      "max_position_embeddings: 12}",
      "{data_processor: text_bytes, path: %s/text, sequence_length: 12, batch_size: 4}", NULL },
    { "gpt2",
      "{hidden_size: 32, num_layers: 3, num_heads: 2, vocab_size: 256, "
      "max_position_embeddings: 12}",
      "{data_processor: text_bytes, path: %s/text, sequence_length: 12, batch_size: 4, "
      "micro_batch_size: 2}",
      "{fp16_type: bfloat16, graphamp: {preset: mp2}}" },
};
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    char data[256];
    traced_run traced;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, &(cse_clip){ .max_norm = 1 });
    return loss;
}

static void begin(training *t, int number, bool compiled)
{
    *t = (training){ .model = NULL };
    snprintf(t->data, sizeof t->data, cases[number].data, folder);
    cse_configure(&(cse_configuration){
        .model_dir = "/nowhere", .seed = 1, .precision = cases[number].precision });
    t->model = cse_compile(cse_model_new(cases[number].model, cases[number].settings));
    t->optimizer = cse_configure_optimizer("AdamW", t->model, "{learning_rate: 0.01}");
    if (compiled)
        traced_run_open_compiled(&t->traced, t->data, training_step, t, folder);
    else
        traced_run_open(&t->traced, t->data, training_step, t);
}

static void end(training *t)
{
    traced_run_close(&t->traced);
    cse_finish();
}

static unsigned char *states_after(int number, bool compiled, bool poisoned, size_t *bytes)
{
    training t;
    if (poisoned)
        setenv("CSE_POISON", "1", 1);
    begin(&t, number, compiled);
    unsetenv("CSE_POISON");
    ck_assert_int_eq(t.traced.executable->poison != NULL, poisoned);
    for (int s = 0; s < STEPS; s++)
        traced_run_step(&t.traced);
    const cse_graph *graph = t.traced.executable->graph;
    *bytes = (size_t)graph->space_bytes[CSE_SPACE_STATE];
    unsigned char *states = cse_malloc(*bytes);
    memcpy(states, t.traced.run.spaces[CSE_SPACE_STATE], *bytes);
    ck_assert_int_gt(graph->space_bytes[CSE_SPACE_LENT], 0);
    end(&t);
    return states;
}

START_TEST(poisoned_steps_have_the_same_bits)
{
    const bool compiled = _i % 2 == 0;
    size_t bytes[2];
    unsigned char *plain = states_after(_i / 2, compiled, false, &bytes[0]);
    unsigned char *poisoned = states_after(_i / 2, compiled, true, &bytes[1]);
    ck_assert_uint_eq(bytes[0], bytes[1]);
    ck_assert_mem_eq(plain, poisoned, bytes[0]);
    free(plain);
    free(poisoned);
}
END_TEST

/* Hides from the graph that group `group` reads the value, or shows it again. */
static int replace_reads(cse_graph *graph, int group, cse_node *from, cse_node *to)
{
    int count = 0;
    for (int n = 0; n < graph->groups[group].node_count; n++) {
        cse_node *node = graph->groups[group].nodes[n];
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i] == from) {
                node->inputs[i] = to;
                count++;
            }
    }
    return count;
}

/* As if the plan ended the value before the last group that reads it; NULL: it does not. */
static cse_poison *poison_too_early(cse_graph *graph, cse_node *value, cse_node *leaf)
{
    int last = -1, readers = 0;
    for (int g = 0; g < graph->group_count; g++)
        if (replace_reads(graph, g, value, value) > 0 && g > value->group) {
            last = g;
            readers++;
        }
    const bool stored = value->space == CSE_SPACE_REPLICA || value->space == CSE_SPACE_LENT;
    if (readers < 2 || !stored || value->backward || !cse_dtype_is_float(value->dtype) ||
        graph->groups[last].part != CSE_PART_REPLICA)
        return NULL;
    replace_reads(graph, last, value, leaf);
    cse_poison *poison = cse_poison_new(graph);
    replace_reads(graph, last, leaf, value);
    return poison;
}

START_TEST(a_read_after_the_end_is_noticed)
{
    training t;
    straight_run right;
    int tried = 0;
    begin(&t, 2, _i == 0);
    cse_graph *graph = t.traced.step->graph;
    cse_node leaf = { .op = &cse_op_input, .group = -1, .attributes = { .integer_count = 0 } };
    straight_run_init(&right, t.traced.executable, 1);
    traced_run_step(&t.traced);
    straight_run_step(&right, t.traced.inputs);
    const size_t bytes = (size_t)graph->space_bytes[CSE_SPACE_STATE];
    ck_assert_mem_eq(right.spaces[CSE_SPACE_STATE], t.traced.run.spaces[CSE_SPACE_STATE], bytes);
    for (int n = 0; n < graph->node_count && tried < TRIES; n++) {
        setenv("CSE_POISON", "1", 1);
        cse_poison *poison = poison_too_early(graph, graph->nodes[n], &leaf);
        unsetenv("CSE_POISON");
        if (poison == NULL)
            continue;
        straight_run wrong;
        straight_run_init(&wrong, t.traced.executable, 1);
        t.traced.executable->poison = poison;
        straight_run_step(&wrong, t.traced.inputs);
        t.traced.executable->poison = NULL;
        ck_assert_msg(memcmp(wrong.spaces[CSE_SPACE_STATE], right.spaces[CSE_SPACE_STATE], bytes) !=
                          0,
                      "%s in group %d", graph->nodes[n]->op->name, graph->nodes[n]->group);
        straight_run_clear(&wrong);
        cse_poison_destroy(&poison);
        tried++;
    }
    ck_assert_int_gt(tried, 3);
    straight_run_clear(&right);
    end(&t);
}
END_TEST

static bool write_text(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/text", folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; file != NULL && i < 300; i++)
        fprintf(file, "line %d of a text\n", i);
    return file != NULL && fclose(file) == 0;
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_poison_XXXXXX");
    if (mkdtemp(folder) == NULL || !write_text())
        return 1;
    Suite *suite = suite_create("poison");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, poisoned_steps_have_the_same_bits, 0, 2 * CASES);
    tcase_add_loop_test(all, a_read_after_the_end_is_noticed, 0, 2);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(folder);
    return failed == 0 ? 0 : 1;
}
