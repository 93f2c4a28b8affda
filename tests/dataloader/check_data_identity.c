/* The identity of data files: its text, what counts as the same file, large files by samples, and
 * the cache of digests. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataloader/data_open.h"
#include "dataloader/identity/data_cache.h"
#include "engine/base/arena.h"
#include "tests/dataloader/fixture.h"

static const char samples[] = "a,b\n1,0\n2,1\n3,0\n4,1\n";

static cse_status open_table(const cse_data_watch *watch)
{
    char text[512];
    cse_settings *settings = NULL;
    cse_yaml_node *tree = NULL;
    cse_arena *arena = cse_arena_new();
    cse_dataloader *loader = NULL;
    snprintf(text, sizeof text, "{data_processor: csv, path: %s, label: b, batch_size: 2}",
             fixture_path("table.csv"));
    ck_assert_int_eq(cse_yaml_parse(arena, "test", text, strlen(text), &tree), CSE_OK);
    ck_assert_int_eq(cse_dataloader_settings_read(arena, tree, &settings), CSE_OK);
    cse_status status = cse_data_open(settings, 1, watch, &loader);
    cse_arena_destroy(&arena);
    ck_assert((loader != NULL) == (status == CSE_OK));
    cse_dataloader_close(&loader);
    return status;
}

/* Each with another time: a system's clock of files may stand still from one write to the next. */
static void write_table(const char *text)
{
    static time_t seconds = 1000000000;
    const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
    seconds++;
    fixture_write_text("table.csv", text);
    ck_assert_int_eq(utimensat(AT_FDCWD, fixture_path("table.csv"), times, 0), 0);
}

START_TEST(a_changed_file_is_refused)
{
    cse_data_identity identity = { 0 };
    cse_data_watch watch = { .identity = &identity };
    write_table(samples);
    ck_assert_int_eq(open_table(&watch), CSE_OK);
    ck_assert_int_eq(identity.count, 1);
    ck_assert(identity.files[0].opened);
    /* hashlib.blake2b(b"a,b\n1,0\n2,1\n3,0\n4,1\n", digest_size=32) */
    ck_assert_str_eq(identity.files[0].digest,
                     "blake2b:5122d26819b1ee2f44650bbcc81d026b5cb79269862cc128d384cce7041c52ec");
    const int64_t modified_ns = identity.files[0].modified_ns;
    unlink(fixture_path("table.csv"));
    write_table(samples);
    ck_assert_int_eq(open_table(&watch), CSE_OK); /* the same content, another file */
    ck_assert(identity.files[0].modified_ns != modified_ns);
    write_table("a,b\n1,0\n2,1\n3,0\n5,1\n");
    ck_assert_int_eq(open_table(&watch), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "table.csv: 20 bytes, blake2b:"));
    cse_data_identity_clear(&identity);
    watch.complete = true;
    ck_assert_int_eq(open_table(&watch), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "did not read a file of this name"));
}
END_TEST

/* In place, with as many bytes and the same time of modification, at once. */
START_TEST(a_change_within_the_same_moment_is_seen)
{
    cse_data_identity identity = { 0 };
    const cse_data_watch watch = { .identity = &identity };
    const struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    write_table(samples);
    ck_assert_int_eq(utimensat(AT_FDCWD, fixture_path("table.csv"), times, 0), 0);
    ck_assert_int_eq(open_table(&watch), CSE_OK);
    ck_assert_int_eq(open_table(&watch), CSE_OK);
    int file = open(fixture_path("table.csv"), O_WRONLY);
    ck_assert(file >= 0 && pwrite(file, "7", 1, 4) == 1 && futimens(file, times) == 0);
    close(file);
    ck_assert_int_eq(open_table(&watch), CSE_DATA);
    cse_data_identity_clear(&identity);
}
END_TEST

START_TEST(the_text_is_read_again)
{
    cse_data_identity identity = { 0 }, again = { 0 };
    cse_text text = { 0 }, second = { 0 };
    cse_data_file files[2] = { { .path = cse_strdup("/data/a file%\n.csv"),
                                 .bytes = 12,
                                 .modified_ns = -5,
                                 .changed_ns = INT64_MAX,
                                 .device = UINT64_MAX,
                                 .inode = 3,
                                 .digest = "blake2b:00",
                                 .training = true },
                               { .path = cse_strdup("b"), .digest = "sampled:11" } };
    identity.files = cse_calloc(2, sizeof *files);
    memcpy(identity.files, files, sizeof files);
    identity.count = 2;
    cse_data_identity_print(&identity, &text);
    ck_assert(cse_data_identity_parse(text.data, &again));
    ck_assert_int_eq(again.count, 2);
    ck_assert_str_eq(again.files[0].path, files[0].path);
    ck_assert(again.files[0].training && !again.files[1].training);
    cse_data_identity_print(&again, &second);
    ck_assert_str_eq(text.data, second.data);
    cse_data_identity_clear(&again);
    ck_assert(cse_data_identity_parse("", &again) && again.count == 0);
    static const char *const wrong[] = { "train", "tr x 1 2 3 4 5 p\n", "train x y 2 3 4 5 p",
                                         "train x 1 2 3 4 5\n", "train x 1 2 3 4 5 \n" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert(!cse_data_identity_parse(wrong[i], &again) && again.count == 0);
    cse_text_clear(&text);
    cse_text_clear(&second);
    cse_data_identity_clear(&identity);
}
END_TEST

static void examine(int file, cse_data_file *facts)
{
    ck_assert_int_eq(cse_data_file_examine(file, "large", facts), CSE_OK);
    ck_assert_int_eq(cse_data_file_digest(file, "large", facts), CSE_OK);
}

/* A file with a hole as long as it is: a change in a sampled block is seen, and one between blocks
 * by its time alone. */
START_TEST(a_large_file_is_known_by_samples)
{
    cse_data_file before, now;
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000 } };
    int file = open(fixture_path("large"), O_RDWR | O_CREAT, 0644);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, CSE_DATA_WHOLE_BYTES + 1), 0);
    ck_assert_int_eq(futimens(file, times), 0);
    examine(file, &before);
    ck_assert_int_eq(strncmp(before.digest, "sampled:", 8), 0);
    static const off_t seen[] = { 0, CSE_DATA_SAMPLE_BYTES - 1, CSE_DATA_WHOLE_BYTES };
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        ck_assert_int_eq(pwrite(file, "x", 1, seen[i]), 1);
        ck_assert_int_eq(futimens(file, times), 0);
        examine(file, &now);
        ck_assert_str_ne(now.digest, before.digest);
        ck_assert_int_eq(pwrite(file, "", 1, seen[i]), 1);
    }
    ck_assert_int_eq(pwrite(file, "x", 1, 2 * CSE_DATA_SAMPLE_BYTES), 1);
    examine(file, &now);
    ck_assert_str_ne(now.digest, before.digest); /* the time of modification */
    ck_assert_int_eq(futimens(file, times), 0);
    examine(file, &now);
    ck_assert_str_eq(now.digest, before.digest);
    close(file);
}
END_TEST

START_TEST(a_digest_is_kept)
{
    cse_data_file taken, kept;
    char cache[256];
    snprintf(cache, sizeof cache, "%s", fixture_path("cache"));
    int file = open(fixture_path("large"), O_RDWR | O_CREAT, 0644);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(ftruncate(file, CSE_DATA_KEPT_BYTES), 0);
    ck_assert_int_eq(cse_data_file_examine(file, "large", &taken), CSE_OK);
    ck_assert_int_eq(cse_data_cached_digest(file, "large", cache, &taken), CSE_OK);
    ck_assert_int_ne(access(cache, F_OK), 0); /* it was changed a moment ago */
    sleep(3);
    ck_assert_int_eq(cse_data_cached_digest(file, "large", cache, &taken), CSE_OK);
    ck_assert_int_eq(access(cache, F_OK), 0);
    /* What is kept is used while the facts are the same. */
    ck_assert_int_eq(cse_data_file_examine(file, "large", &kept), CSE_OK);
    int nothing = open("/dev/null", O_RDONLY);
    ck_assert_int_eq(cse_data_cached_digest(nothing, "large", cache, &kept), CSE_OK);
    ck_assert_str_eq(kept.digest, taken.digest);
    ck_assert_int_eq(pwrite(file, "x", 1, 5), 1);
    ck_assert_int_eq(cse_data_file_examine(file, "large", &kept), CSE_OK);
    ck_assert_int_eq(cse_data_cached_digest(file, "large", cache, &kept), CSE_OK);
    ck_assert_str_ne(kept.digest, taken.digest);
    close(nothing);
    close(file);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("data_identity");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, a_changed_file_is_refused);
    tcase_add_test(tests, a_change_within_the_same_moment_is_seen);
    tcase_add_test(tests, the_text_is_read_again);
    tcase_add_test(tests, a_large_file_is_known_by_samples);
    tcase_add_test(tests, a_digest_is_kept);
    return fixture_run(tests);
}
