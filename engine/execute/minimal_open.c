/* Minimal artefact: the graph, interpreted. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine/codegen/codegen.h"
#include "engine/execute/execute.h"

cse_status cse_codegen_compile(const cse_graph *graph, const char *compile_dir,
                               cse_compile_result *result)
{
    char digits[33], path[4200];
    cse_text text = { 0 };
    cse_graph_fingerprint(graph, digits);
    mkdir(compile_dir, 0777);
    snprintf(result->directory, sizeof result->directory, "%s/%s", compile_dir, digits);
    mkdir(result->directory, 0777);
    snprintf(path, sizeof path, "%s/graph.json", result->directory);
    FILE *f = fopen(path, "w");
    if (!f) return cse_fail(CSE_CANNOT_CREATE, "cannot create %s", path);
    cse_graph_to_json(graph, &text);
    fwrite(text.data, 1, text.size, f);
    fclose(f);
    cse_text_clear(&text);
    return CSE_OK;
}
cse_status cse_codegen_print(const cse_graph *graph, cse_text *out)
{
    cse_graph_print(graph, out);
    return CSE_OK;
}

cse_status cse_executable_open(const char *directory, cse_executable **executable)
{
    char path[4200];
    cse_text text = { 0 };
    snprintf(path, sizeof path, "%s/graph.json", directory);
    FILE *f = fopen(path, "r");
    if (!f) return cse_fail(CSE_NO_INPUT, "no %s", path);
    char buffer[65536];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0)
        cse_text_add_bytes(&text, buffer, n);
    fclose(f);
    cse_graph *graph;
    CSE_TRY(cse_graph_from_json(text.data, text.size, &graph));
    return cse_executable_interpret(graph, executable);
}

void cse_executable_destroy(cse_executable **executable)
{
    if (*executable) (*executable)->destroy(*executable);
    *executable = NULL;
}
