/* Programs in memory and in the plan's file; see program.h. */
#include "engine/code/codegen/program.h"

#include <stdlib.h>
#include <string.h>

void cse_program_clear(cse_program *program)
{
    free(program->functions);
    free(program->parameters);
    free(program->functions_of);
    free(program->first_values);
    free(program->values);
    memset(program, 0, sizeof *program);
}

/* ---- checking ---- */

static cse_status fail(int group, const char *what)
{
    return cse_fail(CSE_DATA, "compiled step: group %d %s", group, what);
}

static cse_status check_value(const cse_graph *graph, int g, const cse_program_parameter *parameter,
                              int64_t value)
{
    if (parameter->kind == CSE_PARAMETER_PLACE) {
        const bool lent = parameter->space == CSE_SPACE_REPLICA && value >= CSE_LENT_FROM;
        const int64_t end = graph->space_bytes[lent ? CSE_SPACE_LENT : parameter->space];
        value -= lent ? CSE_LENT_FROM : 0;
        bool inside = value >= 0 && value % 64 == 0 && value <= end && parameter->bytes >= 0 &&
                      parameter->bytes <= end - value;
        return inside ? CSE_OK : fail(g, "has a value outside its memory");
    }
    if (parameter->kind == CSE_PARAMETER_TRACKED && (value < 0 || value >= graph->tracked_count))
        return fail(g, "counts a tensor that is not tracked");
    return CSE_OK;
}

/* `kernel`: the number of the group's kernel, which is the next one. */
static cse_status check_group(const cse_program *program, const cse_graph *graph, int g, int kernel)
{
    const cse_group *group = &graph->groups[g];
    int number = program->functions_of[g], first = program->first_values[g];
    if (number < 0 || number >= program->function_count)
        return fail(g, "has no function");
    const cse_program_function *function = &program->functions[number];
    int needed = group->part == CSE_PART_UPDATE ? CSE_ENTRY_UPDATE : CSE_ENTRY_RUN;
    cse_node *proposed[CSE_MAX_PROPOSED];
    if (cse_group_proposed(graph, g, proposed) > 0)
        needed |= CSE_ENTRY_PROPOSE;
    if ((function->entries & needed) != needed)
        return fail(g, "has a function of another kind of group");
    if (function->first < 0 || function->count < 0 ||
        function->count > program->parameter_count - function->first || first < 0 ||
        function->count > program->value_count - first)
        return fail(g, "lacks numbers");
    for (int i = 0; i < function->count; i++) {
        const cse_program_parameter *parameter = &program->parameters[function->first + i];
        CSE_TRY(check_value(graph, g, parameter, program->values[first + i]));
        if (parameter->kind == CSE_PARAMETER_KERNEL &&
            (group->kind != CSE_GROUP_LIBRARY || program->values[first + i] != kernel))
            return fail(g, "has another group's kernel");
    }
    return CSE_OK;
}

cse_status cse_program_check(const cse_program *program, const cse_graph *graph)
{
    int kernel = 0;
    if (program->group_count != graph->group_count)
        return cse_fail(CSE_DATA, "compiled step: a program of %d groups for a graph of %d",
                        program->group_count, graph->group_count);
    for (int g = 0; g < graph->group_count; g++) {
        CSE_TRY(check_group(program, graph, g, kernel));
        kernel += graph->groups[g].kind == CSE_GROUP_LIBRARY;
    }
    return CSE_OK;
}

/* ---- the plan's file ---- */

void cse_program_pack(const cse_program *program, cse_text *out)
{
    cse_pack_count(out, (uint64_t)program->function_count);
    for (int f = 0; f < program->function_count; f++) {
        const cse_program_function *function = &program->functions[f];
        cse_pack_count(out, (uint64_t)function->entries);
        cse_pack_count(out, (uint64_t)function->first);
        cse_pack_count(out, (uint64_t)function->count);
    }
    cse_pack_count(out, (uint64_t)program->parameter_count);
    for (int p = 0; p < program->parameter_count; p++) {
        cse_pack_count(out, program->parameters[p].kind);
        cse_pack_count(out, program->parameters[p].space);
        cse_pack_number(out, program->parameters[p].bytes);
    }
    cse_pack_count(out, (uint64_t)program->group_count);
    for (int g = 0; g < program->group_count; g++) {
        cse_pack_count(out, (uint64_t)program->functions_of[g]);
        cse_pack_count(out, (uint64_t)program->first_values[g]);
    }
    cse_pack_count(out, (uint64_t)program->value_count);
    for (int v = 0; v < program->value_count; v++)
        cse_pack_number(out, program->values[v]);
}

void cse_program_unpack(cse_unpacker *from, cse_program *program)
{
    *program = (cse_program){ .function_count = cse_unpack_records(from) };
    program->functions =
        cse_calloc((size_t)program->function_count + 1, sizeof *program->functions);
    for (int f = 0; f < program->function_count; f++)
        program->functions[f] =
            (cse_program_function){ .entries = (int)cse_unpack_count(from, INT32_MAX),
                                    .first = (int)cse_unpack_count(from, INT32_MAX),
                                    .count = (int)cse_unpack_count(from, INT32_MAX) };
    program->parameter_count = cse_unpack_records(from);
    program->parameters =
        cse_calloc((size_t)program->parameter_count + 1, sizeof *program->parameters);
    for (int p = 0; p < program->parameter_count; p++)
        program->parameters[p] = (cse_program_parameter){
            .kind = (cse_program_parameter_kind)cse_unpack_count(from, CSE_PARAMETER_COUNT),
            .space = (cse_space)cse_unpack_count(from, CSE_SPACE_COUNT),
            .bytes = cse_unpack_number(from),
        };
    program->group_count = cse_unpack_records(from);
    program->functions_of = cse_calloc((size_t)program->group_count + 1, sizeof(int));
    program->first_values = cse_calloc((size_t)program->group_count + 1, sizeof(int));
    for (int g = 0; g < program->group_count; g++) {
        program->functions_of[g] = (int)cse_unpack_count(from, INT32_MAX);
        program->first_values[g] = (int)cse_unpack_count(from, INT32_MAX);
    }
    program->value_count = cse_unpack_records(from);
    program->values = cse_calloc((size_t)program->value_count + 1, sizeof *program->values);
    for (int v = 0; v < program->value_count; v++)
        program->values[v] = cse_unpack_number(from);
}
