/* The comment before a function has a line for each node of its group, which names its value:
 * "v161". The code assigns it, or "b161[r]" where it is stored at once. */
#include "engine/code/codegen/generated_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/code/codegen/artefact.h"
#include "engine/code/codegen/generated_function.h"
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
    int function; /* of its group */
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

/* Splits a copy of the text in place, which the first line begins. */
static void split_lines(char *text, text_lines *lines)
{
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        CSE_GROW(lines->list, lines->count, lines->capacity);
        lines->list[lines->count++] = line;
        if (end != NULL)
            *end++ = '\0';
        line = end;
    }
}

/* The line of its comment, which has one for each node of the group; -1: there is none. */
static int comment_line(const text_lines *lines, const place *at)
{
    int head = 1;
    while (head < lines->count && strncmp(lines->list[head], "static void ", 12) != 0)
        head++;
    return head < lines->count && head - 1 == at->count ? 1 + at->node : -1;
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

static int lines_before(const char *source, const char *end)
{
    int count = 0;
    for (const char *at = source; at < end; at++)
        count += *at == '\n';
    return count;
}

static void find_in(const char *source, const place *at, cse_arena *arena,
                    cse_generated_line *found)
{
    size_t size = 0;
    const char *function = cse_generated_function(source, at->function, &size);
    if (function == NULL)
        return;
    text_lines lines = { .list = NULL };
    char *copy = cse_malloc(size + 1);
    memcpy(copy, function, size);
    copy[size] = '\0';
    split_lines(copy, &lines);
    const int line = line_of(&lines, at);
    if (line >= 0) {
        found->line = lines_before(source, function) + line + 1;
        found->text = cse_arena_string(arena, lines.list[line] + strspn(lines.list[line], " *"));
    }
    free(lines.list);
    free(copy);
}

static cse_status find(const cse_artefact *artefact, const char *directory, const char *tensor,
                       cse_arena *arena, cse_generated_line *found)
{
    place at;
    cse_plan_file plan;
    const cse_text *source = &artefact->files[CSE_ARTEFACT_SOURCE];
    CSE_TRY(cse_plan_file_read(&artefact->files[CSE_ARTEFACT_PLAN], directory, NULL, &plan));
    if (source->size > 0 && place_of(&plan, node_of(plan.graph, tensor), &at))
        find_in(source->data, &at, arena, found);
    if (found->text != NULL)
        found->file =
            cse_arena_printf(arena, "%s/%s", directory, cse_artefact_names[CSE_ARTEFACT_SOURCE]);
    cse_plan_file_clear(&plan);
    return CSE_OK;
}

cse_status cse_generated_line_find(const char *directory, const char *tensor, cse_arena *arena,
                                   cse_generated_line *found)
{
    cse_artefact artefact;
    *found = (cse_generated_line){ .file = NULL };
    CSE_TRY(cse_artefact_read(directory, NULL, &artefact));
    const cse_status status = find(&artefact, directory, tensor, arena, found);
    cse_artefact_clear(&artefact);
    return status;
}
