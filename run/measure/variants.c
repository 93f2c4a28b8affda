/* Running variants: spawn, read lines, wait, clean up. */
#include "run/measure/variants.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/piped_program.h"
#include "engine/base/text.h"
#include "workers/control/process.h"

struct cse_variants {
    cse_variants_options options;
    char executable[4096];
    char directory[256];
    int number;
    struct sigaction before[4];
};

static const int handled[4] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

static volatile sig_atomic_t interrupted, running_child;

/* A terminal sends SIGINT to the child as well, so only other signals are passed on. SIGPIPE (the
 * reader of stdout is gone) is handled as an interruption. */
static void note_interrupt(int number)
{
    interrupted = 1;
    if (running_child > 0 && number != SIGINT)
        kill((pid_t)running_child, SIGTERM);
}

cse_status cse_variants_new(const cse_variants_options *options, cse_variants **result)
{
    cse_variants *variants = cse_calloc(1, sizeof *variants);
    const char *temporary = getenv("TMPDIR");
    const struct sigaction action = { .sa_handler = note_interrupt };
    *result = NULL;
    variants->options = *options;
    cse_status status =
        cse_worker_executable(NULL, variants->executable, sizeof variants->executable);
    snprintf(variants->directory, sizeof variants->directory, "%s/csengine-variants-XXXXXX",
             temporary != NULL && *temporary != '\0' ? temporary : "/tmp");
    if (status == CSE_OK && mkdtemp(variants->directory) == NULL)
        status = cse_fail(CSE_CANNOT_CREATE, "%s cannot be created: %s; TMPDIR sets the directory",
                          variants->directory, strerror(errno));
    if (status != CSE_OK) {
        free(variants);
        return status;
    }
    interrupted = 0;
    for (int i = 0; i < 4; i++)
        sigaction(handled[i], &action, &variants->before[i]);
    *result = variants;
    return CSE_OK;
}

void cse_variants_destroy(cse_variants **variants)
{
    if (*variants == NULL)
        return;
    for (int i = 0; i < 4; i++)
        sigaction(handled[i], &(*variants)->before[i], NULL);
    cse_remove_tree((*variants)->directory);
    free(*variants);
    *variants = NULL;
}

/* ---- one child ---- */

typedef struct arguments {
    char **words;
    int count, capacity;
} arguments;

static void add_word(arguments *list, const char *word)
{
    if (list->count + 1 >= list->capacity) {
        list->capacity = 2 * list->capacity + 32;
        list->words = cse_realloc(list->words, (size_t)list->capacity * sizeof *list->words);
    }
    list->words[list->count++] = cse_strdup(word);
    list->words[list->count] = NULL;
}

static void add_settings(arguments *list, const char *const *settings)
{
    for (; settings != NULL && *settings != NULL; settings++) {
        add_word(list, "--set");
        add_word(list, *settings);
    }
}

static void add_format(arguments *list, const char *format, const char *text)
{
    cse_text word = { 0 };
    cse_text_add(&word, format, text);
    add_word(list, word.data);
    cse_text_clear(&word);
}

static void clear_arguments(arguments *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->words[i]);
    free(list->words);
}

static void fill_arguments(cse_variants *variants, const char *const *settings, arguments *list)
{
    char steps[32], model_dir[sizeof variants->directory + 32];
    snprintf(steps, sizeof steps, "%lld", (long long)variants->options.steps);
    snprintf(model_dir, sizeof model_dir, "%s/%d", variants->directory, variants->number++);
    add_word(list, variants->executable);
    add_word(list, "start");
    add_settings(list, variants->options.settings);
    add_settings(list, settings);
    /* A variant trains from step 0, reports every step, and saves nothing. */
    static const char *const fixed[] = { "fit.val_dataloader=null", "fit.ckpt_path=null",
                                         "checkpoint.steps=null",   "loop.max_steps=null",
                                         "loop.num_epochs=null",    NULL };
    add_settings(list, fixed);
    add_format(list, "--num_steps=%s", steps);
    add_word(list, "--log_steps=1");
    add_word(list, "--json");
    add_format(list, "--model_dir=%s", model_dir);
    add_format(list, "--compile_dir=%s/compiled", variants->directory);
    add_word(list, variants->options.config);
}

/* One JSON line: a training step's loss (null: not finite), or another event. */
static void read_line(const char *line, cse_variant_result *result, int64_t *capacity)
{
    json_t *object = json_loads(line, 0, NULL);
    const char *event = json_string_value(json_object_get(object, "event"));
    if (event != NULL && strcmp(event, "step") == 0) {
        const json_t *loss = json_object_get(object, "loss");
        if (result->count == *capacity) {
            *capacity = 2 * *capacity + 256;
            result->losses =
                cse_realloc(result->losses, (size_t)*capacity * sizeof *result->losses);
        }
        result->losses[result->count++] =
            json_is_number(loss) ? (float)json_number_value(loss) : NAN;
    }
    json_decref(object);
}

static void read_lines(const cse_variants_options *options, int output, cse_variant_result *result)
{
    int64_t capacity = 0;
    size_t size = 0;
    char *line = NULL;
    FILE *file = fdopen(output, "r");
    while (getline(&line, &size, file) > 0 || (ferror(file) && errno == EINTR)) {
        clearerr(file);
        read_line(line, result, &capacity);
        if (options->on_step != NULL)
            options->on_step(options->self, result->count);
        if (options->goes_on == NULL || result->was_ended || result->count == 0 ||
            options->goes_on(options->self, result->losses, result->count))
            continue;
        result->was_ended = true;
        kill((pid_t)running_child, SIGTERM);
    }
    free(line);
    fclose(file);
}

cse_status cse_variants_run(cse_variants *variants, const char *const *settings,
                            cse_variant_result *result)
{
    char errors[sizeof variants->directory + 16];
    arguments list = { 0 };
    pid_t child = -1;
    int output = -1;
    *result = (cse_variant_result){ 0 };
    if (interrupted)
        return cse_fail(CSE_INTERRUPTED, "interrupted");
    snprintf(errors, sizeof errors, "%s/errors", variants->directory);
    char *model_dir = NULL;
    fill_arguments(variants, settings, &list);
    model_dir = strchr(list.words[list.count - 3], '=') + 1;
    const int64_t start = cse_clock_ns();
    cse_status status = cse_piped_program_start(list.words, errors, &child, &output);
    if (status == CSE_OK) {
        running_child = child;
        read_lines(&variants->options, output, result);
        result->exit_code = cse_piped_program_wait(child);
        running_child = 0;
        result->seconds = (double)(cse_clock_ns() - start) / 1e9;
        if (result->exit_code != 0)
            cse_piped_program_error(errors, result->message, sizeof result->message);
        cse_remove_tree(model_dir);
    }
    clear_arguments(&list);
    if (status == CSE_OK && interrupted)
        status = cse_fail(CSE_INTERRUPTED, "interrupted");
    return status;
}

void cse_variant_result_clear(cse_variant_result *result)
{
    free(result->losses);
    *result = (cse_variant_result){ 0 };
}

double cse_variant_final_loss(const cse_variant_result *result)
{
    double sum = 0;
    if (result->exit_code != 0 || result->count == 0)
        return NAN;
    const int64_t last = result->count < 10 ? 1 : result->count / 10;
    for (int64_t i = result->count - last; i < result->count; i++)
        sum += (double)result->losses[i];
    return sum / (double)last;
}
