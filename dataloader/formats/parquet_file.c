/* The program writes a draft beside its place, which gets the name when it is whole. */
#include "dataloader/formats/parquet_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/input.h"
#include "dataloader/identity/data_file.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/piped_program.h"

enum { MARK_BYTES = 4, DIGITS = 40, MOST_ANSWER_BYTES = 4096, MOST_SECONDS = 3600 };
enum { EXIT_NO_READER = 69 };

static const char mark[] = "PAR1";

static bool has_mark(int descriptor)
{
    char begin[MARK_BYTES];
    return pread(descriptor, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
           memcmp(begin, mark, sizeof begin) == 0;
}

bool cse_is_parquet(const char *path)
{
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    const bool is_parquet = descriptor >= 0 && has_mark(descriptor);
    if (descriptor >= 0)
        close(descriptor);
    return is_parquet;
}

/* ---- the cache ---- */

static cse_status cache_directory(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache != NULL && cache[0] == '/')
        snprintf(path, size, "%s/csengine/tables", cache);
    else if (home != NULL && home[0] == '/')
        snprintf(path, size, "%s/.cache/csengine/tables", home);
    else
        return cse_fail(CSE_CANNOT_CREATE,
                        "Parquet is kept as Arrow in $XDG_CACHE_HOME/csengine, or "
                        "in ~/.cache/csengine, and neither variable is set");
    return cse_make_directories("the cache of tables", path);
}

/* The place of what is made of a file of this content. */
static cse_status place_of(const char *path, int descriptor, const char *form, cse_text *place)
{
    cse_data_file file;
    char directory[PATH_MAX - DIGITS - 16];
    CSE_TRY(cache_directory(directory, sizeof directory));
    CSE_TRY(cse_data_file_examine(descriptor, path, &file));
    CSE_TRY(cse_data_file_digest(descriptor, path, &file));
    const char *digits = strchr(file.digest, ':');
    cse_text_add(place, "%s/%.*s.%s", directory, DIGITS, digits != NULL ? digits + 1 : file.digest,
                 form);
    return CSE_OK;
}

/* ---- the program ---- */

static cse_status no_reader(const char *path, const char *python)
{
    return cse_fail(
        CSE_UNAVAILABLE,
        "%s: Parquet is read by pyarrow or duckdb, and %s has neither: install one (pip "
        "install \"csengine[data]\"), or set CSENGINE_PYTHON to a Python that has it",
        path, python);
}

static cse_status judge(const char *path, const char *python, const cse_piped_answer *answer)
{
    const char *what = answer->errors.size > 0 ? answer->errors.data : "";
    if (answer->exit_code == EXIT_NO_READER || answer->exit_code == 127)
        return no_reader(path, python);
    if (answer->late)
        return cse_fail(CSE_DATA, "%s: it was not read as Parquet within %d seconds", path,
                        MOST_SECONDS);
    return answer->exit_code == 0 ? CSE_OK
                                  : cse_fail(CSE_DATA, "%s: it cannot be read as Parquet: %.*s",
                                             path, (int)strcspn(what, "\n"), what);
}

static cse_status make(const char *path, const char *form, const char *place)
{
    const char *named = getenv("CSENGINE_PYTHON");
    const char *python = named != NULL && named[0] != '\0' ? named : "python3";
    char draft[PATH_MAX + 32];
    const cse_text nothing = { 0 };
    cse_piped_answer answer = { .exit_code = 0 };
    snprintf(draft, sizeof draft, "%s.%ld.tmp", place, (long)getpid());
    char *words[] = { cse_strdup(python),
                      cse_strdup("-c"),
                      cse_strdup(cse_parquet_program),
                      cse_strdup(form),
                      cse_strdup(path),
                      cse_strdup(draft),
                      NULL };
    const cse_piped_question question = { .words = words,
                                          .input = &nothing,
                                          .deadline_ns =
                                              cse_clock_ns() + MOST_SECONDS * INT64_C(1000000000),
                                          .most = MOST_ANSWER_BYTES };
    cse_status status = cse_piped_program_ask(&question, &answer);
    if (status == CSE_UNAVAILABLE || status == CSE_NO_INPUT)
        status = no_reader(path, python);
    else if (status == CSE_OK)
        status = judge(path, python, &answer);
    if (status == CSE_OK && rename(draft, place) != 0)
        status = cse_fail(CSE_CANNOT_CREATE, "%s: cannot be made of %s", place, path);
    if (status != CSE_OK)
        unlink(draft);
    cse_text_clear(&answer.output);
    cse_text_clear(&answer.errors);
    for (int i = 0; words[i] != NULL; i++)
        free(words[i]);
    return status;
}

/* ---- files ---- */

static cse_status add(cse_file_pool *pool, const char *path, const char *form, int *file)
{
    int descriptor;
    cse_text place = { 0 };
    if (cse_confinement_view() != NULL)
        return cse_fail(
            CSE_PERMISSION,
            "%s: it is Parquet, which a program reads, and a job of this server may start "
            "none: make %s of it with python3 -m csengine.parquet FILE TO.%s",
            path, form, form);
    CSE_TRY(cse_input_open_file(path, &descriptor));
    cse_status status = has_mark(descriptor) ? place_of(path, descriptor, form, &place)
                                             : cse_fail(CSE_DATA,
                                                        "%s: it is no Parquet: it does "
                                                        "not begin with PAR1",
                                                        path);
    close(descriptor);
    if (status == CSE_OK && access(place.data, R_OK) != 0)
        status = make(path, form, place.data);
    if (status == CSE_OK)
        status = cse_file_pool_add_made(pool, path, place.data, file);
    cse_text_clear(&place);
    return status;
}

cse_status cse_parquet_add(cse_file_pool *pool, const char *path, int *file)
{
    return add(pool, path, "arrow", file);
}

cse_status cse_parquet_add_lines(cse_file_pool *pool, const char *path, int *file)
{
    return add(pool, path, "jsonl", file);
}
