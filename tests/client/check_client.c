/* A process with the client library: it has no OpenMP, no oneDNN and no HDF5; it trains, saves and
 * reads checkpoints, and uses HDF5 tables as data; no call leaves another floating-point mode than
 * it found, and results do not depend on FTZ and DAZ; what a client cannot do says what to do. */
#include <check.h>
#include <fenv.h>
#include <immintrin.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csengine/csengine.h"

enum { STANDARD = 0x1f80, FLUSHING = 0x1f80 | 0x8040, STEPS = 6, WEIGHTS = 8 * 16 };

static unsigned mode;
static int calls;
static char folder[64];

/* Flags of exceptions that happened may change; whether they are masked, how results are rounded
 * and whether subnormal numbers count may not. */
static void look(const char *call)
{
    calls++;
    ck_assert_msg((_mm_getcsr() & ~0x3fu) == mode, "%s: MXCSR was %#x and is %#x", call, mode,
                  _mm_getcsr() & ~0x3fu);
    ck_assert_msg(fegetround() == ((mode & 0x6000) == 0x4000 ? FE_UPWARD : FE_TONEAREST),
                  "%s: rounds in mode %#x", call, (unsigned)fegetround());
}

static void good(cse_status status, const char *call)
{
    look(call);
    ck_assert_msg(status == CSE_OK, "%s: %s", call, cse_error_message());
}
#define GOOD(call) good(call, #call)

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    look("the call of the step");
    cse_tensor *features = cse_input(step, "images"), *labels = cse_input(step, "labels");
    look("cse_input");
    cse_tensor *loss = cse_cross_entropy(cse_forward(t->model, features), labels);
    look("operations");
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    look("cse_optimizer_step");
    return loss;
}

static void set_mode(unsigned wanted)
{
    mode = wanted;
    fesetround((wanted & 0x6000) == 0x4000 ? FE_UPWARD : FE_TONEAREST);
    _mm_setcsr(wanted);
}

/* Trains, and gives the bits of the first layer. */
static void train(unsigned wanted, float weights[WEIGHTS])
{
    char path[128];
    training t;
    cse_saved *saved = NULL;
    set_mode(wanted);
    GOOD(cse_configure(&(cse_configuration){ .model_dir = folder, .num_csx = 2, .seed = 7 }));
    t.model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [16], num_classes: 3}"));
    look("cse_model_new");
    t.optimizer = cse_configure_optimizer("AdamW", t.model, "{lr: 0.01}");
    look("cse_configure_optimizer");
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 240, features: [8], classes: 3, "
                 "batch_size: 24, micro_batch_size: 8}",
        .num_steps = STEPS,
        .checkpoint_steps = 3 });
    look("cse_executor_new");
    cse_loop *loop = cse_execution_begin(executor, training_step, &t);
    look("cse_execution_begin");
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP) {
        look("cse_execution_next");
        snprintf(path, sizeof path, "%s/in_loop.mdl", folder);
        if (cse_execution_at_checkpoint(loop))
            GOOD(cse_save(path));
    }
    GOOD(cse_execution_end(&loop));
    snprintf(path, sizeof path, "%s/client.mdl", folder);
    GOOD(cse_save(path));
    GOOD(cse_saved_open(path, &saved));
    GOOD(cse_saved_read(saved, "model.fc_layers.0.weight", 0, WEIGHTS, weights));
    cse_saved_close(&saved);
    look("cse_saved_close");
    cse_finish();
    look("cse_finish");
}

/* A tree of a program's own, with values that are no tensors. */
START_TEST(a_tree_is_saved)
{
    char path[128];
    cse_saved *saved = NULL;
    const char *text = NULL;
    int64_t number = 0;
    float values[2] = { 0 };
    set_mode(STANDARD);
    snprintf(path, sizeof path, "%s/tree.mdl", folder);
    GOOD(cse_configure(&(cse_configuration){ .model_dir = folder }));
    cse_tree *tree = cse_tree_new();
    cse_tree_set_integer(tree, "number", 7);
    cse_tree_set_text(tree, "text", "a text");
    cse_tree_set_array(tree, "array", (cse_shape){ 1, { 2 } }, CSE_FLOAT32,
                       (const float[]){ 1.5f, 2.5f });
    GOOD(cse_save_tree(tree, path));
    cse_tree_destroy(&tree);
    GOOD(cse_saved_open(path, &saved));
    GOOD(cse_saved_integer(saved, "number", &number));
    GOOD(cse_saved_text(saved, "text", &text));
    GOOD(cse_saved_read(saved, "array", 0, 2, values));
    ck_assert(number == 7 && strcmp(text, "a text") == 0);
    ck_assert(values[0] == 1.5f && values[1] == 2.5f);
    cse_saved_close(&saved);
    cse_finish();
}
END_TEST

START_TEST(modes_are_kept)
{
    float usual[WEIGHTS], flushed[WEIGHTS], again[WEIGHTS];
    train(STANDARD, usual);
    train(FLUSHING, flushed);
    ck_assert_msg(memcmp(usual, flushed, sizeof usual) == 0, "other bits with FTZ and DAZ");
    train(STANDARD | 0x4000, again);
    set_mode(STANDARD);
    ck_assert_int_gt(calls, 60);
}
END_TEST

START_TEST(nothing_else_is_loaded)
{
    static const char *const forbidden[] = { "gomp", "iomp", "dnnl", "hdf5" };
    char line[4096];
    bool client = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        client = client || strstr(line, "libcsengine_client.so") != NULL;
        ck_assert_msg(strstr(line, "libcsengine.so") == NULL, "%s", line);
        for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
            ck_assert_msg(strstr(line, forbidden[i]) == NULL, "%s", line);
    }
    fclose(maps);
    ck_assert(client);
}
END_TEST

extern char **environ;

/* Runs a command of the shell in the test's folder; whether it succeeded. */
static bool run_shell(const char *text)
{
    char shell[] = "sh", command[] = "-c", name[] = "check_client", copy[1024];
    char *const words[] = { shell, command, copy, name, folder, NULL };
    pid_t child;
    int how;
    snprintf(copy, sizeof copy, "cd \"$1\" && %s", text);
    return posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0 &&
           waitpid(child, &how, 0) == child && how == 0;
}

static void expect(cse_status status, cse_status wanted, const char *text)
{
    ck_assert_msg(status == wanted && strstr(cse_error_message(), text) != NULL, "%d: %s",
                  (int)status, cse_error_message());
}

static void configure(void)
{
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = folder }), CSE_OK);
}

static cse_tensor *language_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

/* Samples are counted here, by the shape that the program tells, and read by input workers. */
START_TEST(hdf5_tables_are_data)
{
    char input[256];
    training t;
    ck_assert(
        run_shell("awk 'BEGIN { for (i = 0; i < 300; i++) print \"the cat\", i }' >cats.txt"));
    ck_assert(run_shell("\"$CSENGINE_EXECUTABLE\" data tokenize cats.txt --train_tokenizer 300 "
                        "--sequence_length 16 --to tokens >made"));
    set_mode(STANDARD);
    GOOD(cse_configure(&(cse_configuration){ .model_dir = folder, .seed = 7 }));
    t.model = cse_compile(
        cse_model_new("gpt2", "{hidden_size: 16, num_layers: 1, num_heads: 2, vocab_size: 300, "
                              "max_position_embeddings: 16, dropout: 0.0}"));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.01}");
    snprintf(input, sizeof input,
             "{data_processor: hdf5_lm, data_dir: \"%s/tokens\", batch_size: 4, shuffle: true}",
             folder);
    cse_executor *executor =
        cse_executor_new(&(cse_executor_options){ .input = input, .num_steps = 2 });
    GOOD(cse_run(executor, language_step, &t));
    ck_assert_int_eq(cse_global_step(), 2);
    cse_finish();

    /* What is wrong with a file is told by the program, in the words of the library. */
    ck_assert(run_shell("head -c 3000 cats.txt >tokens/more.h5"));
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = folder }), CSE_OK);
    executor = cse_executor_new(&(cse_executor_options){ .input = input, .num_steps = 2 });
    t.model = cse_compile(cse_model_new("gpt2", "{hidden_size: 16, num_layers: 1, num_heads: 2, "
                                                "vocab_size: 300, max_position_embeddings: 16}"));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.01}");
    const cse_status status = cse_run(executor, language_step, &t);
    expect(status, CSE_DATA, "more.h5");
    cse_finish();
}
END_TEST

START_TEST(plugins_are_refused)
{
    configure();
    ck_assert_ptr_null(cse_model_load("/proc/self/exe", "m", "{}"));
    expect(cse_session_status(), CSE_UNAVAILABLE, "run the configuration with `csengine start`");
    cse_finish();
}
END_TEST

/* The program is another one: no message of a linker, no wait without an end. */
static void expect_program(const char *program, const char *text)
{
    training t;
    char compiled[96];
    snprintf(compiled, sizeof compiled, "%s/compiled.XXXXXX", folder);
    ck_assert_ptr_nonnull(mkdtemp(compiled));
    ck_assert_int_eq(cse_configure(&(cse_configuration){ .model_dir = folder,
                                                         .compile_dir = compiled,
                                                         .compile_only = true,
                                                         .worker_executable = program }),
                     CSE_OK);
    t.model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 8, hidden_sizes: [16], num_classes: 3}"));
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{lr: 0.01}");
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: synthetic, samples: 240, features: [8], classes: 3, "
                 "batch_size: 24}",
        .num_steps = 1 });
    set_mode(STANDARD);
    expect(cse_run(executor, training_step, &t), CSE_UNAVAILABLE, text);
    cse_finish();
}

static const char *script(const char *text)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/program", folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "#!/bin/sh\n%s\n", text);
    fclose(file);
    ck_assert_int_eq(chmod(path, 0700), 0);
    return path;
}

START_TEST(another_program_is_told)
{
    expect_program("/bin/false", "it was asked for choices and ended with exit code 1");
    expect_program(script("kill -9 $$"), "was ended by signal 9");
    expect_program(script("echo nonsense >&2; exit 69"), "exit code 69: nonsense; is it of this");
    expect_program(script("echo '99 wrong status' >&2; exit 69"), "exit code 69: 99 wrong status");
    expect_program("/nowhere/csengine", "install csengine, or give its path");
}
END_TEST

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/check_client.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    Suite *suite = suite_create("client");
    TCase *tests = tcase_create("client");
    tcase_add_test(tests, a_tree_is_saved);
    tcase_add_test(tests, modes_are_kept);
    tcase_add_test(tests, nothing_else_is_loaded);
    tcase_add_test(tests, hdf5_tables_are_data);
    tcase_add_test(tests, plugins_are_refused);
    tcase_add_test(tests, another_program_is_told);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return !run_shell("rm -rf \"$1\"") || failed != 0;
}
