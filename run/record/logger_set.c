/* From the list of the configuration to open members, and each scalar to all of them. */
#include "run/record/logger_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/log.h"
#include "engine/base/registry.h"
#include "engine/config/yaml.h"
#include "run/loggers/logger.h"

typedef struct member {
    const cse_logger_descriptor *descriptor;
    cse_settings *settings;
    void *logger; /* NULL while it is not open */
} member;

struct cse_logger_set {
    member *members;
    int count;
};

/* ---- the list ---- */

/* {NAME: {settings}} or the name alone. */
static cse_status read_member(cse_arena *arena, const cse_yaml_node *node, member *m)
{
    const void *descriptor = NULL;
    const char *name = NULL;
    cse_text yaml = { 0 };
    char subject[128];
    if (node->kind == CSE_YAML_SCALAR && !cse_yaml_is_null(node))
        name = node->text;
    else if (node->kind == CSE_YAML_MAPPING && node->count == 1)
        name = node->keys[0].text;
    if (name == NULL)
        return cse_fail(CSE_CONFIG,
                        "loggers: %s: one {NAME: {settings}} belongs here; names: `csengine list "
                        "loggers`",
                        cse_yaml_place_text(arena, node->place));
    cse_status status = cse_registry_get(cse_loggers, "logger", name, &descriptor);
    if (status != CSE_OK)
        return cse_fail_within(status, "loggers: %s: ", cse_yaml_place_text(arena, node->place));
    m->descriptor = descriptor;
    if (node->kind == CSE_YAML_MAPPING)
        cse_yaml_print_with_origins(node->children[0], &yaml);
    snprintf(subject, sizeof subject, "logger %s", name);
    status = cse_settings_parse(m->descriptor->settings, subject, yaml.data, &m->settings);
    cse_text_clear(&yaml);
    return status;
}

static cse_status read_list(cse_arena *arena, const char *yaml, cse_logger_set *set)
{
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse(arena, "", yaml, yaml != NULL ? strlen(yaml) : 0, &root));
    if (cse_yaml_is_null(root))
        return CSE_OK;
    if (root->kind != CSE_YAML_SEQUENCE)
        return cse_fail(CSE_CONFIG, "loggers: %s: a list belongs here: [{NAME: {settings}}, ...]",
                        cse_yaml_place_text(arena, root->place));
    set->members = cse_calloc((size_t)root->count + 1, sizeof *set->members);
    for (int i = 0; i < root->count; i++) {
        set->count++;
        CSE_TRY(read_member(arena, root->children[i], &set->members[i]));
    }
    return CSE_OK;
}

cse_status cse_logger_set_new(const char *yaml, cse_logger_set **set)
{
    cse_arena *arena = cse_arena_new();
    *set = cse_calloc(1, sizeof **set);
    cse_status status = read_list(arena, yaml, *set);
    cse_arena_destroy(&arena);
    if (status != CSE_OK)
        cse_logger_set_destroy(set);
    return status;
}

/* ---- the members ---- */

cse_status cse_logger_set_open(cse_logger_set *set, const char *model_dir)
{
    for (int i = 0; set != NULL && i < set->count; i++) {
        member *m = &set->members[i];
        cse_status status = m->descriptor->open(m->settings, model_dir, &m->logger);
        if (status != CSE_OK)
            return cse_fail_within(status, "%s: ", m->descriptor->name);
    }
    return CSE_OK;
}

static void close_member(member *m)
{
    if (m->logger != NULL)
        m->descriptor->close(m->logger);
    m->logger = NULL;
}

static void give_up(member *m)
{
    cse_log_line(CSE_LOG_WARNING, "%s: %s; the run goes on without it", m->descriptor->name,
                 cse_error_message());
    close_member(m);
}

void cse_logger_set_scalar(cse_logger_set *set, const char *name, int64_t step, double value)
{
    if (set == NULL || set->count == 0)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    cse_logged_scalar scalar = { .name = name, .step = step, .value = value };
    scalar.time_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    for (int i = 0; i < set->count; i++) {
        member *m = &set->members[i];
        if (m->logger != NULL && m->descriptor->scalar(m->logger, &scalar) != CSE_OK)
            give_up(m);
    }
}

void cse_logger_set_flush(cse_logger_set *set)
{
    for (int i = 0; set != NULL && i < set->count; i++) {
        member *m = &set->members[i];
        if (m->logger != NULL && m->descriptor->flush(m->logger) != CSE_OK)
            give_up(m);
    }
}

void cse_logger_set_destroy(cse_logger_set **set)
{
    for (int i = 0; *set != NULL && i < (*set)->count; i++) {
        close_member(&(*set)->members[i]);
        cse_settings_destroy(&(*set)->members[i].settings);
    }
    if (*set != NULL)
        free((*set)->members);
    free(*set);
    *set = NULL;
}
