/* The folder is filled under another name and then renamed: it is there with all its files, or not
 * at all. */
#include "dashboard/sweeps/sweep_order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/sweeps/sweep_folder.h"
#include "engine/base/directory.h"
#include "engine/base/file_replace.h"
#include "engine/base/file_status.h"
#include "engine/base/text.h"

static const char begun[] = ".new-";

enum { MOST_ORDER_BYTES = 4096 };

/* ---- one file of it ---- */

static cse_status path_in(const char *folder, const char *name, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX
               ? CSE_OK
               : cse_fail(CSE_CANNOT_CREATE, "%s: the path is too long", folder);
}

static cse_status write_file(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    CSE_TRY(path_in(folder, name, path));
    return cse_file_replace(path, text, strlen(text));
}

/* At most so many bytes of a file; false: there is none. */
static bool read_file(const char *folder, const char *name, size_t most, cse_text *text)
{
    char path[PATH_MAX], buffer[4096];
    struct stat about;
    ssize_t size;
    if (path_in(folder, name, path) != CSE_OK)
        return false;
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    bool good = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
    while (good && text->size <= most && (size = read(file, buffer, sizeof buffer)) > 0)
        cse_text_add_bytes(text, buffer, (size_t)size);
    close(file);
    return good && text->size <= most;
}

static bool has_content(const char *folder, const char *name, const char *text)
{
    cse_text found = { 0 };
    const size_t size = strlen(text);
    const bool same = read_file(folder, name, size, &found) && found.size == size &&
                      (size == 0 || memcmp(found.data, text, size) == 0);
    cse_text_clear(&found);
    return same;
}

/* ---- the order ---- */

bool cse_sweep_order_read(const char *folder, cse_sweep_order *order)
{
    cse_text text = { 0 };
    json_t *found = read_file(folder, "order.json", MOST_ORDER_BYTES, &text) && text.size > 0
                        ? json_loadb(text.data, text.size, 0, NULL)
                        : NULL;
    const char *message = json_string_value(json_object_get(found, "message"));
    const json_t *wanted = json_object_get(found, "wanted");
    const bool good = json_is_boolean(wanted);
    *order = (cse_sweep_order){ .wanted = json_is_true(wanted),
                                .ends_jobs = json_is_true(json_object_get(found, "ends_jobs")) };
    snprintf(order->message, sizeof order->message, "%s", message != NULL ? message : "");
    json_decref(found);
    cse_text_clear(&text);
    return good;
}

cse_status cse_sweep_order_write(const char *folder, const cse_sweep_order *order)
{
    json_t *message = json_string(order->message); /* NULL: it is no UTF-8 */
    json_t *object =
        json_pack("{s:b, s:b, s:o}", "wanted", order->wanted, "ends_jobs", order->ends_jobs,
                  "message", message != NULL ? message : json_string("it has failed"));
    char *text = json_dumps(object, JSON_COMPACT);
    const cse_status status = write_file(folder, "order.json", text);
    free(text);
    json_decref(object);
    return status;
}

/* ---- placing ---- */

typedef struct placing {
    const char *config;    /* its text */
    char *document;        /* of the command */
    char folder[PATH_MAX]; /* of the sweep */
    char all[PATH_MAX];    /* of all sweeps */
} placing;

/* The document of the command, whose configuration is a file of the folder. */
static cse_status make_document(const json_t *spec, placing *p)
{
    char path[PATH_MAX];
    CSE_TRY(path_in(p->folder, "config.yaml", path));
    json_t *document = json_copy((json_t *)(uintptr_t)spec);
    p->config = json_string_value(json_object_get(spec, "config"));
    json_object_set_new(document, "config", json_string(path));
    p->document = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(document);
    return p->document != NULL ? CSE_OK : cse_fail(CSE_INTERNAL, "the sweep is no JSON");
}

static cse_status fill(const placing *p, const cse_sweep_plan *plan, const char *folder,
                       cse_arena *arena)
{
    cse_sweep_state state;
    CSE_TRY(write_file(folder, "config.yaml", p->config));
    CSE_TRY(write_file(folder, "sweep.yaml", p->document));
    const cse_status status = cse_sweep_state_open(plan, folder, arena, &state);
    cse_sweep_state_close(&state);
    CSE_TRY(status);
    return cse_sweep_order_write(folder, &(cse_sweep_order){ .wanted = true });
}

static cse_status make(const placing *p, const cse_sweep_plan *plan, cse_arena *arena)
{
    char folder[PATH_MAX];
    if (mkdir(p->all, 0700) != 0 && errno != EEXIST)
        return cse_fail(cse_status_of_writing(errno), "%s: %s", p->all, strerror(errno));
    CSE_TRY(path_in(p->all, ".new-XXXXXX", folder));
    if (mkdtemp(folder) == NULL)
        return cse_fail(cse_status_of_writing(errno), "%s: %s", folder, strerror(errno));
    cse_status status = fill(p, plan, folder, arena);
    if (status == CSE_OK && rename(folder, p->folder) != 0)
        status = cse_fail(cse_status_of_writing(errno), "%s: %s", p->folder, strerror(errno));
    if (status != CSE_OK)
        cse_remove_tree(folder);
    return status;
}

/* The same may be asked for again: then it goes on. */
static cse_status go_on(const placing *p, const char *name)
{
    cse_sweep_order order;
    if (!cse_sweep_order_read(p->folder, &order))
        return cse_fail(CSE_USAGE,
                        "there is a sweep \"%s\" already, which a command trains: give another "
                        "name, or go on with that command",
                        name);
    if (!has_content(p->folder, "sweep.yaml", p->document) ||
        !has_content(p->folder, "config.yaml", p->config))
        return cse_fail(CSE_USAGE,
                        "there is a sweep \"%s\" already, and it was asked for differently: give "
                        "another name",
                        name);
    return order.wanted ? CSE_OK
                        : cse_sweep_order_write(p->folder, &(cse_sweep_order){ .wanted = true });
}

static cse_status place(placing *p, const json_t *spec, cse_arena *arena, bool *made)
{
    cse_sweep_plan plan;
    struct stat about;
    const char *name = json_string_value(json_object_get(spec, "name"));
    CSE_TRY(path_in(p->all, name, p->folder));
    CSE_TRY(make_document(spec, p));
    CSE_TRY(cse_sweep_plan_parse(arena, "sweep", p->document, &plan));
    *made = lstat(p->folder, &about) != 0;
    return *made ? make(p, &plan, arena) : go_on(p, name);
}

cse_status cse_sweep_order_place(const char *root, const json_t *spec, bool *made)
{
    char whole[PATH_MAX];
    placing p = { .document = NULL };
    *made = false;
    if (realpath(root, whole) == NULL)
        return cse_fail(cse_status_of_reading(errno), "%s: %s", root, strerror(errno));
    CSE_TRY(path_in(whole, "sweeps", p.all));
    cse_arena *arena = cse_arena_new();
    const cse_status status = place(&p, spec, arena, made);
    cse_arena_destroy(&arena);
    free(p.document);
    return status;
}

void cse_sweep_order_clean(const char *root)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *all = cse_sweep_folders_open(root);
    while (all != NULL && (entry = readdir(all)) != NULL)
        if (strncmp(entry->d_name, begun, sizeof begun - 1) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/sweeps/%s", root, entry->d_name) < sizeof path)
            cse_remove_tree(path);
    if (all != NULL)
        closedir(all);
}
