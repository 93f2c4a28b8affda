/* Checkpoints of the user's own making: every value comes back to the bit under its key, a tensor
 * is read without the others, damage is found where it is touched, and states are loaded by
 * part. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"

enum { LARGE = 1 << 20 };

static char folder[64], path[96];

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void fails(cse_status status, cse_status wanted, const char *words)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(cse_error_message(), words) != NULL, "%s", cse_error_message());
}

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_state *own;
} training;

static training open_training(const char *optimizer, uint64_t seed)
{
    must(cse_configure(
        &(cse_configuration){ .model_dir = folder, .seed = seed, .no_run_store = true }));
    training t = { .model = cse_compile(cse_model_new(
                       "fc_mnist", "{input_size: 4, hidden_sizes: [6], num_classes: 2}")) };
    t.optimizer = cse_configure_optimizer(optimizer, t.model, "{lr: 0.05}");
    cse_configure_schedule(t.optimizer, "0.05");
    t.own = cse_state_new("own.state", cse_shape_of(3), CSE_FLOAT32,
                          (cse_initializer){ CSE_INIT_NORMAL, 0, 1 });
    must(cse_session_status());
    return t;
}

static cse_tensor *training_step(cse_step *step, void *self)
{
    training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

static void train(training *t, int64_t steps)
{
    must(cse_run(cse_executor_new(&(cse_executor_options){
                     .input = "{data_processor: synthetic, samples: 48, features: [4], "
                              "classes: 2, batch_size: 8}",
                     .num_steps = steps,
                     .checkpoint_steps = steps }),
                 training_step, t));
}

static uint64_t bits_of(cse_model *model)
{
    uint64_t bits = 0;
    for (int i = 0; i < cse_parameter_tensors(model); i++) {
        const uint32_t *view = cse_state_view(cse_parameter_at(model, i));
        const cse_shape shape = cse_state_shape(cse_parameter_at(model, i));
        int64_t count = 1;
        for (int d = 0; d < shape.rank; d++)
            count *= shape.dims[d];
        for (int64_t e = 0; e < count; e++)
            bits = bits * 31 + view[e];
    }
    return bits;
}

/* Bytes that this process has read by system calls so far. */
static int64_t bytes_read(void)
{
    int64_t bytes = -1;
    FILE *file = fopen("/proc/self/io", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "rchar: %" SCNd64, &bytes), 1);
    fclose(file);
    return bytes;
}

static const double numbers[] = { 0.1, -0.0, 1e-310, 1.7976931348623157e308, INFINITY, -INFINITY };

START_TEST(every_value_comes_back)
{
    const float array[2][3] = { { 1, 2, 3 }, { -4, 0.5f, 6 } };
    float read[6];
    int64_t integer;
    double number;
    const char *text;
    training t = open_training("SGD", 1);
    cse_tree *tree = cse_tree_new(), *best = cse_tree_set_branch(tree, "best");
    cse_tree *deep = cse_tree_set_branch(best, "of all");
    cse_tree_set_integer(tree, "epoch", 2);
    cse_tree_set_integer(tree, "epoch", INT64_MIN); /* the newer one */
    for (int i = 0; i < 6; i++) {
        char key[16];
        snprintf(key, sizeof key, "n%d", i);
        cse_tree_set_number(deep, key, numbers[i]);
    }
    cse_tree_set_number(best, "nan", (double)NAN);
    cse_tree_set_text(best, "notes", "zwei\nZeilen \\ \"ü\"");
    cse_tree_set_array(tree, "history", cse_shape_of(2, 3), CSE_FLOAT32, array);
    cse_tree_set_state(tree, "kept", t.own);
    must(cse_save_tree(tree, path));
    cse_tree_destroy(&tree);
    ck_assert_ptr_null(tree);

    cse_saved *saved = NULL;
    must(cse_saved_open(path, &saved));
    ck_assert_int_eq(cse_saved_count(saved), 11);
    bool found = false;
    for (int i = 0; i < 11; i++) {
        const cse_saved_entry entry = cse_saved_at(saved, i);
        ck_assert_ptr_nonnull(entry.key);
        if (strcmp(entry.key, "history") != 0)
            continue;
        found = true;
        ck_assert_int_eq(entry.kind, CSE_SAVED_TENSOR);
        ck_assert_int_eq(entry.dtype, CSE_FLOAT32);
        ck_assert(entry.shape.rank == 2 && entry.shape.dims[0] == 2 && entry.shape.dims[1] == 3);
    }
    ck_assert(found);
    ck_assert_ptr_null(cse_saved_at(saved, 11).key);
    must(cse_saved_integer(saved, "epoch", &integer));
    ck_assert(integer == INT64_MIN);
    must(cse_saved_integer(saved, "global_step", &integer));
    ck_assert_int_eq(integer, 0);
    for (int i = 0; i < 6; i++) {
        char key[32];
        snprintf(key, sizeof key, "best.of all.n%d", i);
        must(cse_saved_number(saved, key, &number));
        ck_assert(memcmp(&number, &numbers[i], sizeof number) == 0);
    }
    must(cse_saved_number(saved, "best.nan", &number));
    ck_assert(isnan(number));
    must(cse_saved_text(saved, "best.notes", &text));
    ck_assert_str_eq(text, "zwei\nZeilen \\ \"ü\"");
    must(cse_saved_read(saved, "history", 0, 6, read));
    ck_assert(memcmp(read, array, sizeof array) == 0);
    must(cse_saved_read(saved, "history", 2, 3, read));
    ck_assert(read[0] == 3 && read[1] == -4 && read[2] == 0.5f);
    must(cse_saved_read(saved, "kept", 0, 3, read));
    ck_assert(memcmp(read, cse_state_view(t.own), 3 * sizeof *read) == 0);

    fails(cse_saved_number(saved, "best.none", &number), CSE_NO_INPUT, "best.none");
    fails(cse_saved_number(saved, "epoch", &number), CSE_SHAPE, "is an integer, not a number");
    fails(cse_saved_integer(saved, "history", &integer), CSE_SHAPE, "is a tensor");
    fails(cse_saved_read(saved, "history", 4, 3, read), CSE_SHAPE, "6 elements");
    fails(cse_saved_read(saved, "history", -1, 1, read), CSE_SHAPE, "6 elements");
    fails(cse_saved_read(saved, "epoch", 0, 1, read), CSE_SHAPE, "no tensor");
    cse_saved_close(&saved);
    cse_finish();
}
END_TEST

static void save_large(bool damaged)
{
    float *large = malloc(LARGE * sizeof *large);
    for (int i = 0; i < LARGE; i++)
        large[i] = (float)i;
    open_training("SGD", 1);
    cse_tree *tree = cse_tree_new();
    cse_tree_set_array(tree, "small", cse_shape_of(8), CSE_FLOAT32, large);
    cse_tree_set_array(tree, "large", cse_shape_of(LARGE), CSE_FLOAT32, large);
    cse_tree_set_array(tree, "other", cse_shape_of(LARGE), CSE_FLOAT32, large);
    cse_tree_set_integer(tree, "epoch", 3);
    must(cse_save_tree(tree, path));
    cse_tree_destroy(&tree);
    cse_finish();
    free(large);
    if (!damaged)
        return;
    /* A bit of an element of one of the large tensors: the last in the file's middle. */
    FILE *file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    fseek(file, LARGE * (long)sizeof *large, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(byte ^ 1, file);
    fclose(file);
}

START_TEST(only_what_is_touched_is_read)
{
    float value[2];
    int64_t epoch;
    save_large(false);
    cse_saved *saved = NULL;
    int64_t before = bytes_read();
    must(cse_saved_open(path, &saved));
    must(cse_saved_integer(saved, "epoch", &epoch));
    ck_assert_int_lt(bytes_read() - before, 64 << 10); /* of more than 8 MiB */
    before = bytes_read();
    must(cse_saved_read(saved, "small", 6, 2, value));
    ck_assert(value[0] == 6 && value[1] == 7);
    ck_assert_int_lt(bytes_read() - before, 4 << 10);
    before = bytes_read();
    must(cse_saved_read(saved, "large", LARGE - 2, 2, value));
    ck_assert(value[0] == LARGE - 2 && value[1] == LARGE - 1);
    const int64_t touched = bytes_read() - before, bytes = LARGE * (int64_t)sizeof(float);
    ck_assert(touched >= bytes && touched < bytes + (4 << 10));
    cse_saved_close(&saved);
}
END_TEST

START_TEST(damage_is_found_where_it_is_touched)
{
    float value[8];
    save_large(true);
    cse_saved *saved = NULL;
    must(cse_saved_open(path, &saved));
    must(cse_saved_read(saved, "small", 0, 8, value));
    const cse_status large = cse_saved_read(saved, "large", 0, 8, value);
    const cse_status other = cse_saved_read(saved, "other", LARGE - 8, 8, value);
    ck_assert_int_eq(large == CSE_OK, other != CSE_OK);
    ck_assert_int_eq(large == CSE_OK ? other : large, CSE_DATA);
    cse_saved_close(&saved);
    ck_assert_int_eq(truncate(path, 1000), 0);
    ck_assert_int_eq(cse_saved_open(path, &saved), CSE_DATA);
    ck_assert_ptr_null(saved);
    fails(cse_saved_open("/nowhere/x.mdl", &saved), CSE_NO_INPUT, "/nowhere/x.mdl");
}
END_TEST

START_TEST(parts_are_loaded_under_the_users_keys)
{
    int64_t step;
    training t = open_training("AdamW", 1);
    train(&t, 5);
    cse_tree *tree = cse_tree_new();
    cse_tree_set_part(tree, "net", CSE_PART_MODEL);
    cse_tree_set_part(tree, "adam", CSE_PART_OPTIMIZER);
    cse_tree_set_part(tree, "lr", CSE_PART_SCHEDULE);
    cse_tree_set_part(tree, "mine", CSE_PART_STATES);
    must(cse_save_tree(tree, path));
    cse_tree_destroy(&tree);
    train(&t, 5);
    const uint64_t expected = bits_of(t.model);
    cse_finish();

    /* A new session goes on where the first stood: in its states, and in the data by the step. */
    t = open_training("AdamW", 1);
    float own[3] = { 1, 2, 3 };
    must(cse_state_set(t.own, own, sizeof own));
    cse_saved *saved = NULL;
    must(cse_saved_open(path, &saved));
    must(cse_load_part(saved, "net", CSE_PART_MODEL));
    must(cse_load_part(saved, "adam", CSE_PART_OPTIMIZER));
    must(cse_load_part(saved, "lr", CSE_PART_SCHEDULE));
    must(cse_load_part(saved, "mine", CSE_PART_STATES));
    must(cse_saved_integer(saved, "global_step", &step));
    ck_assert_int_eq(step, 5);
    must(cse_set_global_step(step));
    ck_assert(memcmp(cse_state_view(t.own), own, sizeof own) != 0);
    train(&t, 5);
    ck_assert(bits_of(t.model) == expected);
    fails(cse_load_part(saved, "none", CSE_PART_MODEL), CSE_DATA, "none.");
    fails(cse_set_global_step(-1), CSE_CONFIG, "-1");
    cse_finish();

    /* The model alone, into a session with another optimizer; and a model of another shape. */
    t = open_training("SGD", 1);
    must(cse_load_part(saved, "net", CSE_PART_MODEL));
    fails(cse_load_part(saved, "adam", CSE_PART_MODEL), CSE_DATA, "adam.");
    cse_finish();
    must(cse_configure(&(cse_configuration){ .model_dir = folder, .no_run_store = true }));
    cse_compile(cse_model_new("fc_mnist", "{input_size: 4, hidden_sizes: [7], num_classes: 2}"));
    fails(cse_load_part(saved, "net", CSE_PART_MODEL), CSE_DATA, "fc_layers");
    cse_saved_close(&saved);
    cse_finish();
}
END_TEST

/* Under the standard keys a tree is a checkpoint that cse_load reads, and cse_save's is one that is
 * read in parts. */
START_TEST(both_kinds_of_files_are_of_one_kind)
{
    training t = open_training("AdamW", 1);
    train(&t, 5);
    const uint64_t expected = bits_of(t.model);
    cse_tree *tree = cse_tree_new();
    cse_tree_set_part(tree, "model", CSE_PART_MODEL);
    cse_tree_set_part(tree, "optimizer", CSE_PART_OPTIMIZER);
    cse_tree_set_part(tree, "schedulers", CSE_PART_SCHEDULE);
    cse_tree_set_state(tree, "own.state", t.own);
    must(cse_save_tree(tree, path));
    cse_tree_destroy(&tree);
    cse_finish();
    t = open_training("AdamW", 2);
    must(cse_load(path));
    ck_assert(bits_of(t.model) == expected);
    ck_assert_int_eq(cse_global_step(), 5);
    must(cse_save(path));
    cse_finish();
    t = open_training("AdamW", 3);
    cse_saved *saved = NULL;
    must(cse_saved_open(path, &saved));
    must(cse_load_part(saved, "model", CSE_PART_MODEL));
    ck_assert(bits_of(t.model) == expected);
    cse_saved_close(&saved);
    cse_finish();
}
END_TEST

START_TEST(mistakes_are_told_when_the_tree_is_saved)
{
    open_training("SGD", 1);
    static const char *const keys[] = { "", "a/b", "a\nb", "\xff", NULL };
    for (int i = 0; i < 5; i++) {
        cse_tree *tree = cse_tree_new();
        cse_tree_set_integer(tree, keys[i], 1);
        cse_tree_set_integer(cse_tree_set_branch(tree, "fine"), "x", 1);
        fails(cse_save_tree(tree, path), CSE_USAGE, "is no key");
        cse_tree_destroy(&tree);
    }
    cse_tree *tree = cse_tree_new();
    cse_tree_set_array(tree, "a", cse_shape_of(0), CSE_FLOAT32, keys);
    fails(cse_save_tree(tree, path), CSE_SHAPE, "sizes of at least 1");
    cse_tree_destroy(&tree);
    tree = cse_tree_new();
    cse_tree_set_text(tree, "t", "\xff");
    fails(cse_save_tree(tree, path), CSE_USAGE, "UTF-8");
    cse_tree_destroy(&tree);
    tree = cse_tree_new();
    cse_tree_set_state(tree, "s", NULL);
    fails(cse_save_tree(tree, path), CSE_USAGE, "no state");
    cse_tree_destroy(&tree);
    fails(cse_save_tree(NULL, path), CSE_USAGE, "no tree");
    ck_assert_int_ne(access(path, F_OK), 0);
    cse_finish();
}
END_TEST

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_saved_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tree.mdl", folder);
}

static void remove_folder(void)
{
    cse_finish();
    temporary_folder_remove(folder);
}

int main(void)
{
    Suite *suite = suite_create("saved");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, every_value_comes_back);
    tcase_add_test(cases, only_what_is_touched_is_read);
    tcase_add_test(cases, damage_is_found_where_it_is_touched);
    tcase_add_test(cases, parts_are_loaded_under_the_users_keys);
    tcase_add_test(cases, both_kinds_of_files_are_of_one_kind);
    tcase_add_test(cases, mistakes_are_told_when_the_tree_is_saved);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
