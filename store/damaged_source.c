/* A new store of the same version has its tables on the same pages, as it is made by the same
 * statements; where it does not, the types of its columns tell the rows of other tables. */
#include "store/damaged_source.h"

#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database.h"
#include "store/examine.h"
#include "store/salvage.h"

#define SMALL_BYTES (INT64_C(64) << 20)
enum { PAGE = 4096, HEADER = 100, MOST_SCHEMA_PAGES = 64, PATH_BYTES = PATH_MAX + 64 };

/* ---- as it is ---- */

/* False: not all of it could be read. *readable: the schema was. */
static bool read_view(const char *path, const char *how, const cse_damaged_kind *kind, sqlite3 *to,
                      bool *readable)
{
    sqlite3 *from = NULL;
    bool incomplete = true;
    if (cse_database_open_view(path, how, &from) == SQLITE_OK &&
        sqlite3_exec(from, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK) {
        incomplete = false;
        *readable = true;
        (void)kind->copy(from, to, &incomplete);
    }
    sqlite3_close(from);
    return !incomplete;
}

/* ---- with the schema of a new one ---- */

static uint32_t number(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* The pages of the schema's tree: the first, and where that is no leaf, those it leads to. */
static int schema_pages(const unsigned char *first, uint32_t pages[MOST_SCHEMA_PAGES])
{
    int count = 0;
    const unsigned char *head = first + HEADER;
    pages[count++] = 1;
    if (head[0] != 5)
        return count;
    const uint32_t cells = number(head + 3, 2);
    for (uint32_t i = 0; i < cells && count < MOST_SCHEMA_PAGES - 1; i++) {
        const uint32_t at = number(head + 12 + 2 * i, 2);
        if (at + 4 <= PAGE)
            pages[count++] = number(first + at, 4);
    }
    pages[count++] = number(head + 8, 4);
    return count;
}

static bool copy_file(const char *from, const char *to)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = in >= 0 ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    ssize_t size = out >= 0 ? 1 : -1;
    while (size > 0)
        size = sendfile(out, in, NULL, 1 << 24);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return size == 0;
}

/* Writes the pages of the schema, with the size of the file as it is then. */
static bool transplant(const char *from, int to)
{
    unsigned char page[PAGE];
    uint32_t pages[MOST_SCHEMA_PAGES];
    struct stat about, model;
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    bool is_good = in >= 0 && fstat(to, &about) == 0 && fstat(in, &model) == 0 &&
                   pread(in, page, PAGE, 0) == PAGE;
    const int count = is_good ? schema_pages(page, pages) : 0;
    if (is_good) {
        const off_t whole = about.st_size > model.st_size ? about.st_size : model.st_size;
        const uint32_t size = (uint32_t)((whole + PAGE - 1) / PAGE);
        const unsigned char bytes[4] = { size >> 24, size >> 16 & 255, size >> 8 & 255,
                                         size & 255 };
        memcpy(page + 28, bytes, sizeof bytes);
        memset(page + 32, 0, 8); /* no free pages: none is ever taken */
        is_good = pwrite(to, page, PAGE, 0) == PAGE && ftruncate(to, (off_t)size * PAGE) == 0;
    }
    for (int i = 1; i < count && is_good; i++) {
        const off_t at = (off_t)(pages[i] - 1) * PAGE;
        is_good = pread(in, page, PAGE, at) == PAGE && pwrite(to, page, PAGE, at) == PAGE;
    }
    if (in >= 0)
        close(in);
    return is_good;
}

static void remove_copy(const char *copy)
{
    static const char *const parts[] = { "", "-wal", "-shm", "-journal" };
    char name[PATH_BYTES + 16];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(name, sizeof name, "%s%s", copy, parts[i]);
        unlink(name);
    }
}

static bool make_run_store(const char *path)
{
    cse_database *database = NULL;
    const bool is_made =
        cse_database_open_file(path, &database) == CSE_OK && cse_database_end(database) == CSE_OK;
    cse_database_close(&database);
    return is_made;
}

const cse_damaged_kind cse_damaged_run_store = { .make = make_run_store, .copy = cse_salvage_rows };

/* The only pages that are known to be sound are those of a new one beside it. */
static bool read_with_new_schema(const char *path, const cse_damaged_kind *kind, sqlite3 *to)
{
    char copy[PATH_BYTES], model[PATH_BYTES], log[PATH_BYTES + 8], copied_log[PATH_BYTES + 8];
    bool readable = false;
    snprintf(copy, sizeof copy, "%s.copy", path);
    snprintf(model, sizeof model, "%s.model", path);
    snprintf(log, sizeof log, "%s-wal", path);
    snprintf(copied_log, sizeof copied_log, "%s-wal", copy);
    remove_copy(copy);
    remove_copy(model);
    if (kind->make(model) && copy_file(path, copy)) {
        const int file = open(copy, O_RDWR | O_CLOEXEC);
        const bool is_good = file >= 0 && transplant(model, file);
        if (file >= 0)
            close(file);
        (void)copy_file(log, copied_log);
        if (is_good)
            (void)read_view(copy, "mode=rw", kind, to, &readable);
    }
    remove_copy(copy);
    remove_copy(model);
    return readable;
}

bool cse_damaged_source_read(const char *path, const cse_damaged_kind *kind, sqlite3 *to)
{
    struct stat about;
    bool readable = false, is_whole = false;
    if (stat(path, &about) != 0)
        return false;
    const bool has_own_log = !cse_store_has_log_of_another(path);
    if (about.st_size > 0) { /* SQLite would remove the log of an empty one */
        is_whole = has_own_log && read_view(path, "mode=ro", kind, to, &readable);
        if (!is_whole)
            (void)read_view(path, "immutable=1", kind, to, &readable);
    }
    if (!is_whole && has_own_log && (!readable || about.st_size <= SMALL_BYTES))
        (void)read_with_new_schema(path, kind, to);
    return is_whole;
}
