/* The comment before a function has a line for each node of its group, which names its value:
 * "v161". The code assigns it, or "b161[r]" where it is stored at once. */
#include "engine/code/codegen/generated_line.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/code/codegen/artefact.h"
#include "engine/code/codegen/plan_file.h"

/* ---- which node ---- */

static const cse_node *node_of(const cse_graph *graph, const char *tensor)
{
    for (int t = 0; t < graph->tracked_count; t++)
        if (strcmp(graph->tracked[t].name, tensor) == 0)
            return graph->tracked[t].node;
    return NULL;
}

typedef struct place {
    int function; /* of the kind of its group */
    int node;     /* its place in the group */
    int count;    /* of nodes there */
} place;

/* False: it is in no group. */
static bool place_of(const cse_plan_file *plan, const cse_node *node, place *found)
{
    const int group = node != NULL ? node->group : -1;
    if (group < 0 || group >= plan->graph->group_count || group >= plan->program.group_count)
        return false;
    const cse_group *in = &plan->graph->groups[group];
    *found = (place){ .function = plan->program.functions_of[group], .count = in->node_count };
    while (found->node < in->node_count && in->nodes[found->node] != node)
        found->node++;
    return found->node < in->node_count;
}

/* ---- which line ---- */

typedef struct text_lines {
    char **list;
    int count, capacity;
} text_lines;

static void read_lines(const char *path, text_lines *lines)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    while (file != NULL && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        CSE_GROW(lines->list, lines->count, lines->capacity);
        lines->list[lines->count++] = cse_strdup(line);
    }
    free(line);
    if (file != NULL)
        fclose(file);
}

/* The line of its comment; -1: there is none. */
static int comment_line(const text_lines *lines, const place *at)
{
    char heads[2][48];
    int first = 0;
    snprintf(heads[0], sizeof heads[0], "static void group_%d(", at->function);
    snprintf(heads[1], sizeof heads[1], "static void update_%d(", at->function);
    for (int i = 0; i < lines->count; i++) {
        const char *line = lines->list[i];
        if (strncmp(line, "/* ", 3) == 0)
            first = i + 1;
        if (strncmp(line, heads[0], strlen(heads[0])) == 0 ||
            strncmp(line, heads[1], strlen(heads[1])) == 0)
            return i - first == at->count ? first + at->node : -1;
    }
    return -1;
}

static bool assigns(const char *line, const char *value, const char *stored)
{
    const char *found = strstr(line, value);
    line += strspn(line, " ");
    return (found != NULL && found[-1] == ' ') ||
           (strncmp(line, stored, strlen(stored)) == 0 && strstr(line, "] = ") != NULL);
}

/* Of the code behind the comment, or the comment's own where a kernel computes the node. */
static int line_of(const text_lines *lines, const place *at)
{
    char value[32], stored[32];
    unsigned id = 0;
    const int comment = comment_line(lines, at);
    if (comment < 0 || sscanf(lines->list[comment], " * v%u =", &id) != 1)
        return -1;
    snprintf(value, sizeof value, "v%u = ", id);
    snprintf(stored, sizeof stored, "b%u[", id);
    for (int i = comment + 1; i < lines->count && strncmp(lines->list[i], "}", 1) != 0; i++)
        if (lines->list[i][0] == ' ' && lines->list[i][1] == ' ' &&
            assigns(lines->list[i], value, stored))
            return i;
    return comment;
}

static void find_in(const char *path, const place *at, cse_arena *arena, cse_generated_line *found)
{
    text_lines lines = { .list = NULL };
    read_lines(path, &lines);
    const int line = line_of(&lines, at);
    if (line >= 0)
        *found = (cse_generated_line){
            .file = cse_arena_string(arena, path),
            .line = line + 1,
            .text = cse_arena_string(arena, lines.list[line] + strspn(lines.list[line], " *")),
        };
    for (int i = 0; i < lines.count; i++)
        free(lines.list[i]);
    free(lines.list);
}

cse_status cse_generated_line_find(const char *directory, const char *tensor, cse_arena *arena,
                                   cse_generated_line *found)
{
    char path[PATH_MAX];
    cse_artefact artefact;
    cse_plan_file plan;
    *found = (cse_generated_line){ .file = NULL };
    CSE_TRY(cse_artefact_read(directory, NULL, &artefact));
    cse_status status =
        cse_plan_file_read(&artefact.files[CSE_ARTEFACT_PLAN], directory, NULL, &plan);
    cse_artefact_clear(&artefact);
    CSE_TRY(status);
    place at;
    if (place_of(&plan, node_of(plan.graph, tensor), &at) &&
        snprintf(path, sizeof path, "%s/step.c", directory) < (int)sizeof path)
        find_in(path, &at, arena, found);
    cse_plan_file_clear(&plan);
    return CSE_OK;
}
