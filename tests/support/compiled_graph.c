/* Builds, plans, compiles and runs small graphs, for the tests of passes and of generated code. */
#include "tests/support/compiled_graph.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/code/codegen/codegen.h"
#include "engine/graph/passes/pass.h"
#include "engine/graph/trace/trace.h"
#include "tests/support/temporary_folder.h"

enum { MOST_DIRECTORIES = 64 };
static char directories[MOST_DIRECTORIES][32];
static int directory_count;

cse_node *fixture_input(cse_graph *graph, const char *name, cse_shape shape, cse_dtype dtype)
{
    cse_attributes attributes = { .integer_count = 1, .integers = { graph->input_count } };
    cse_node *node = cse_graph_leaf(graph, &cse_op_input, &attributes, shape, dtype);
    CSE_GROW(graph->inputs, graph->input_count, graph->input_capacity);
    graph->inputs[graph->input_count++] = (cse_input_entry){
        .name = cse_arena_string(graph->arena, name), .shape = shape, .dtype = dtype, .node = node
    };
    return node;
}

void fixture_fetch(cse_graph *graph, const char *name, cse_node *value)
{
    if (value->batch)
        value = cse_trace_1(&cse_op_batch_sum, NULL, value);
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count++] =
        (cse_fetch_entry){ .name = cse_arena_string(graph->arena, name), .value = value };
}

void fixture_passes(cse_graph *graph, const char *disable)
{
    cse_passes_options options = { .disable = disable };
    ck_assert_msg(cse_passes_run(graph, &options) == CSE_OK, "%s", cse_error_message());
}

cse_executable *fixture_compile(const cse_graph *graph)
{
    cse_compile_result result;
    cse_executable *executable;
    ck_assert_int_lt(directory_count, MOST_DIRECTORIES);
    char *directory = directories[directory_count++];
    snprintf(directory, sizeof directories[0], "/tmp/csengine-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_msg(cse_codegen_compile(graph, directory, &result) == CSE_OK, "%s",
                  cse_error_message());
    ck_assert_msg(cse_executable_open(result.directory, &executable) == CSE_OK, "%s",
                  cse_error_message());
    return executable;
}

void fixture_remove_tree(const char *path)
{
    ck_assert(temporary_folder_remove(path));
}

void fixture_remove_directories(void)
{
    for (int d = 0; d < directory_count; d++)
        fixture_remove_tree(directories[d]);
    directory_count = 0;
}

void fixture_memory_init(fixture_memory *memory, const cse_graph *graph)
{
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        memory->base[s] = cse_aligned_calloc((size_t)graph->space_bytes[s] + 64);
}

void fixture_memory_clear(fixture_memory *memory)
{
    for (int s = 0; s < CSE_SPACE_COUNT; s++)
        free(memory->base[s]);
}

cse_frame fixture_frame(const fixture_memory *memory)
{
    cse_frame frame = { .seed = 11, .step = 4, .first_sample = 0 };
    memcpy(frame.base, memory->base, sizeof frame.base);
    return frame;
}

double fixture_random(uint64_t key, uint32_t index, double low, double high)
{
    uint32_t counter[4] = { index, 0, 0, 0 }, words[4];
    cse_philox(key, counter, words);
    return low + (high - low) * (double)words[0] * 0x1p-32;
}

void fixture_run(cse_executable *executable, const fixture_memory *memory)
{
    const cse_graph *graph = executable->graph;
    cse_frame frame = fixture_frame(memory);
    executable->replica(executable, &frame);
    memcpy(memory->base[CSE_SPACE_REDUCED], memory->base[CSE_SPACE_PARTIAL],
           (size_t)graph->space_bytes[CSE_SPACE_PARTIAL]);
    executable->weights(executable, &frame);
}
