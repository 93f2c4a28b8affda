/* The contract of every logger: the bytes of its own samples can be read after flush, and opening
 * the logger again in the same folder keeps them. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "run/loggers/logger.h"
#include "tests/support/temporary_folder.h"

enum { MOST_SAMPLES = 256, MOST_BYTES = 1 << 16 };

typedef struct sampled {
    const cse_logger_descriptor *logger;
    const cse_logger_sample *sample;
} sampled;

static sampled values[MOST_SAMPLES], refusals[MOST_SAMPLES];
static int value_count, refusal_count;
static char folder[64];

static void list_samples(void)
{
    for (int k = 0; cse_loggers[k] != NULL; k++)
        for (const cse_logger_sample *s = cse_loggers[k]->samples; s != NULL && s->settings != NULL;
             s++) {
            if (value_count == MOST_SAMPLES || refusal_count == MOST_SAMPLES)
                abort();
            sampled at = { cse_loggers[k], s };
            if (s->refusal != NULL)
                refusals[refusal_count++] = at;
            else
                values[value_count++] = at;
        }
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cse_loggers_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    temporary_folder_remove(folder);
}

/* As logger.h lists them. */
static const cse_logged_scalar scalars[] = {
    { "loss", 1, 1700000000.25, 0.5 },
    { "val \"accuracy\", %", 300, 1700000001.5, 0.1 },
    { "lr/0", 70000, 1700000002.75, INFINITY },
};

typedef struct open_logger {
    const cse_logger_descriptor *descriptor;
    cse_settings *settings;
    void *logger;
} open_logger;

static cse_status open_sample(const sampled *at, open_logger *opened)
{
    char text[1024] = "";
    const char *rest = at->sample->settings, *found = strstr(rest, "$folder");
    *opened = (open_logger){ .descriptor = at->logger };
    if (found != NULL)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(found - rest), rest, folder,
                 found + strlen("$folder"));
    else
        snprintf(text, sizeof text, "%s", rest);
    ck_assert_int_eq(
        cse_settings_parse(at->logger->settings, at->logger->name, text, &opened->settings),
        CSE_OK);
    return at->logger->open(opened->settings, folder, &opened->logger);
}

static void close_sample(open_logger *opened)
{
    opened->descriptor->close(opened->logger);
    cse_settings_destroy(&opened->settings);
}

static void find_file(const cse_logger_sample *sample, char path[512])
{
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s", folder, sample->file);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    snprintf(path, 512, "%s", found.gl_pathv[0]);
    globfree(&found);
}

static size_t read_file(const char *path, char *bytes)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(bytes, 1, MOST_BYTES, file);
    fclose(file);
    return size;
}

START_TEST(samples_are_met)
{
    static char bytes[MOST_BYTES], later[MOST_BYTES];
    const sampled *at = &values[_i];
    char path[512];
    open_logger opened;
    size_t skipped = at->sample->skipped_bytes;
    size_t expected = at->sample->size > 0 ? at->sample->size : strlen(at->sample->bytes);
    ck_assert_ptr_nonnull(at->sample->source);
    ck_assert_msg(open_sample(at, &opened) == CSE_OK, "%s", cse_error_message());
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        ck_assert_int_eq(at->logger->scalar(opened.logger, &scalars[i]), CSE_OK);
    ck_assert_int_eq(at->logger->flush(opened.logger), CSE_OK);
    if (at->logger->later)
        close_sample(&opened);
    find_file(at->sample, path);
    size_t size = read_file(path, bytes);
    ck_assert_uint_eq(size, skipped + expected);
    ck_assert_mem_eq(bytes + skipped, at->sample->bytes, expected);
    if (!at->logger->later)
        close_sample(&opened);
    ck_assert_int_eq(open_sample(at, &opened), CSE_OK);
    ck_assert_int_eq(at->logger->scalar(opened.logger, &scalars[0]), CSE_OK);
    close_sample(&opened);
    ck_assert_uint_ge(read_file(path, later), size);
    ck_assert_mem_eq(later, bytes, size);
}
END_TEST

START_TEST(a_place_that_cannot_be_written_is_refused)
{
    open_logger opened;
    ck_assert_int_ne(open_sample(&refusals[_i], &opened), CSE_OK);
    ck_assert_msg(strstr(cse_error_message(), refusals[_i].sample->refusal) != NULL, "%s",
                  cse_error_message());
    cse_settings_destroy(&opened.settings);
}
END_TEST

START_TEST(a_descriptor_is_complete)
{
    for (int k = 0; cse_loggers[k] != NULL; k++) {
        const cse_logger_descriptor *d = cse_loggers[k];
        bool found = false;
        ck_assert(d->summary != NULL && d->summary[0] != '\0' && d->settings != NULL);
        ck_assert(d->open != NULL && d->scalar != NULL && d->flush != NULL && d->close != NULL);
        for (int v = 0; v < value_count; v++)
            found = found || values[v].logger == d;
        ck_assert_msg(found, "logger %s has no sample with bytes", d->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loggers");
    TCase *cases = tcase_create("all");
    list_samples();
    tcase_add_checked_fixture(cases, make_folder, remove_folder);
    tcase_add_test(cases, a_descriptor_is_complete);
    tcase_add_loop_test(cases, samples_are_met, 0, value_count);
    tcase_add_loop_test(cases, a_place_that_cannot_be_written_is_refused, 0, refusal_count);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
