/* The file step.plan of a compiled step: the planned graph and the program, and which step.so they
 * belong to. It begins with a digest of all that follows, so that a file that is damaged or cut off
 * is noticed before anything in it is used. */
#ifndef CSE_CODEGEN_PLAN_FILE_H
#define CSE_CODEGEN_PLAN_FILE_H

#include "engine/codegen/program.h"
#include "engine/graph/pack.h"

enum { CSE_OBJECT_DIGEST_BYTES = 16 };

/* Which step.so: its length, 0 when there was no compiler, and a digest of its bytes. */
typedef struct cse_object_facts {
    uint64_t bytes;
    unsigned char digest[CSE_OBJECT_DIGEST_BYTES];
} cse_object_facts;

typedef struct cse_plan_file {
    cse_graph *graph;
    cse_program program;
    char fingerprint[33]; /* of the graph; step.so holds the same */
    cse_object_facts object;
} cse_plan_file;

/* The file as bytes; `calls` are those of the traced graph. */
void cse_plan_file_write(const cse_graph *graph, const cse_program *program,
                         const cse_object_facts *object, const cse_calls *calls, cse_text *out);

/* Reads the plan of a directory; `calls` as for cse_graph_unpack. Fails with CSE_NO_INPUT when
 * it is not there and with CSE_DATA when it is damaged or of another version, naming the file. */
cse_status cse_plan_file_read(const char *directory, const cse_calls *calls, cse_plan_file *plan);
/* Whether the directory holds a plan that is whole and the step.so that belongs to it. */
bool cse_plan_file_is_whole(const char *directory, bool compiler_present);
void cse_plan_file_clear(cse_plan_file *plan);

/* Reads the facts of a step.so; 0 bytes when it cannot be read. */
cse_object_facts cse_object_facts_read(const char *directory);
/* Whether the directory's step.so is the plan's, CSE_DATA when it is not. */
cse_status cse_plan_file_check_object(const cse_plan_file *plan, const char *directory);

#endif
