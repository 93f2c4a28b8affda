/* The file step.plan of a compiled step: the planned graph and the program. Its bytes were verified
 * by whoever read them (artefact.h); what they say is checked nevertheless. */
#ifndef CSE_CODEGEN_PLAN_FILE_H
#define CSE_CODEGEN_PLAN_FILE_H

#include "engine/code/codegen/program.h"
#include "engine/graph/pack.h"

typedef struct cse_plan_file {
    cse_graph *graph;
    cse_program program;
    char fingerprint[33]; /* of the graph; step.so holds the same */
    char traced[33];      /* likewise of the traced graph */
    bool compiled;        /* for a step.so: the program fits it */
} cse_plan_file;

/* What is in a plan of the graph that was traced: its places of source, its fingerprint. */
typedef struct cse_traced_facts {
    cse_calls *calls;
    char fingerprint[33];
} cse_traced_facts;

/* The file as bytes. */
void cse_plan_file_write(const cse_graph *graph, const cse_program *program, bool compiled,
                         const cse_traced_facts *traced, cse_text *out);

/* Reads the plan from its bytes; `calls` as for cse_graph_unpack; `directory` for messages. Fails
 * with CSE_DATA when it is of another version, or no plan. */
cse_status cse_plan_file_read(const cse_text *text, const char *directory, const cse_calls *calls,
                              cse_plan_file *plan);
void cse_plan_file_clear(cse_plan_file *plan);

#endif
