/* What the data loader's tests share: a folder of their own, files in it, and the end of a
 * suite. */
#ifndef CSE_TESTS_DATALOADER_FIXTURE_H
#define CSE_TESTS_DATALOADER_FIXTURE_H

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "csengine/status.h"

static char fixture_folder[256];

/* For tcase_add_checked_fixture: each test has an empty folder, which goes with it. */
static inline void fixture_make_folder(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(fixture_folder, sizeof fixture_folder, "%s/cse_dataloader_XXXXXX",
             base == NULL ? "/tmp" : base);
    ck_assert_ptr_nonnull(mkdtemp(fixture_folder));
}

static inline const char *fixture_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", fixture_folder, name);
    return path;
}

static inline void fixture_remove_folder(void)
{
    DIR *folder = opendir(fixture_folder);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            ck_assert_int_eq(remove(fixture_path(entry->d_name)), 0);
    closedir(folder);
    ck_assert_int_eq(rmdir(fixture_folder), 0);
}

static inline void fixture_write(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(fixture_path(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void fixture_write_gzip(const char *name, const void *bytes, size_t size)
{
    gzFile file = gzopen(fixture_path(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)size), (int)size);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static inline void fixture_write_text(const char *name, const char *text)
{
    fixture_write(name, text, strlen(text));
}

/* The call failed so, and its message holds `part`. */
static inline void fixture_expect(cse_status status, cse_status expected, const char *part)
{
    ck_assert_msg(status == expected, "status is \"%s\" (%s), expected \"%s\"",
                  cse_status_text(status), cse_error_message(), cse_status_text(expected));
    if (expected != CSE_OK)
        ck_assert_msg(strstr(cse_error_message(), part) != NULL, "\"%s\" is not in \"%s\"", part,
                      cse_error_message());
}

static inline int fixture_run(TCase *tests)
{
    Suite *suite = suite_create("dataloader");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
