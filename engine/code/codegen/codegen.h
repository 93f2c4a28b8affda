/* From a graph to running code: one readable C file, compiled by the machine's C compiler and
 * cached.
 *
 * The C file holds one function for all groups that are alike, and a table of them; which group
 * calls which function, with which numbers, is the program (program.h). Both belong to a plan,
 * which is the graph after the last pass. C, plan and compiled code are kept in a directory that
 * is named by a key: a hash of everything that decides what is in it, made from the traced graph
 * before any pass. So a second run neither makes the plan nor the C again: it reads them. */
#ifndef CSE_CODEGEN_CODEGEN_H
#define CSE_CODEGEN_CODEGEN_H

#include "engine/code/codegen/artefact.h"
#include "engine/code/codegen/program.h"
#include "engine/graph/passes/pass.h"

/* Raised when the frame, the undo record, the kernels or the entries change. */
enum { CSE_KERNELS_BYTES = 2048 };
enum { CSE_STEP_ABI = 7 };

typedef struct cse_compile_result {
    char directory[4096];                 /* see artefact.h */
    char digest[CSE_ARTEFACT_DIGITS + 1]; /* of its manifest */
    char kernels[CSE_KERNELS_BYTES];      /* the record of its kernels (kernel_record.h) */
    bool cached;                          /* found in the cache */
    double seconds;                       /* from the call to the end */
    bool compiler_present;
} cse_compile_result;

/* Writes the C file of a planned graph (every pass done) to `out`, and its calls to `program`,
 * which is empty and which the caller clears. Fails with CSE_INTERNAL for an op that writes no
 * code. */
cse_status cse_codegen_print(const cse_graph *graph, cse_program *program, cse_text *out);

/* A compilation under way: from a traced graph to its directory under `compile_dir`. */
typedef struct cse_compilation cse_compilation;

/* Begins: finds the compiler and makes the key from the graph, which is traced (or planned
 * already), and from what `options`, those of the passes to come, and the graph's settings say.
 * The compiler is CSE_CC, or the first of cc, gcc and clang in PATH; with none, the directory
 * has no step.so, and the interpreter will run. */
cse_status cse_compilation_new(const cse_graph *graph, const cse_passes_options *options,
                               const char *compile_dir, cse_compilation **compilation);

/* Makes the traced graph the planned one: reads the plan when the directory holds one that is
 * whole, else runs the passes. They run in any case when `options` wants to see the graph after
 * each. */
cse_status cse_compilation_plan(cse_compilation *compilation, cse_graph *graph,
                                const cse_passes_options *options);

/* Of the traced graph, once it is planned. */
const char *cse_compilation_fingerprint_view(const cse_compilation *compilation);

/* Whether the plan was found, so that it has been compiled before. */
bool cse_compilation_is_found(const cse_compilation *compilation);

/* Compiles the planned graph unless its directory is whole. Fails with CSE_PERMISSION or
 * CSE_CANNOT_CREATE when the directory cannot be made or written, and with CSE_FAILED and the
 * compiler's output when it rejects the file. */
cse_status cse_compilation_finish(cse_compilation *compilation, const cse_graph *graph,
                                  cse_compile_result *result);
void cse_compilation_destroy(cse_compilation **compilation);

/* Removes what processes that were killed while they compiled have left in a compile_dir. */
void cse_compilation_sweep(const char *compile_dir);

/* All of it for a planned graph. */
cse_status cse_codegen_compile(const cse_graph *graph, const char *compile_dir,
                               cse_compile_result *result);

/* The record of kernels of an artefact. */
void cse_codegen_kernels(const cse_artefact *artefact, char kernels[CSE_KERNELS_BYTES]);

/* The prelude as text; written by autogen.sh. */
extern const char cse_prelude_text[];

#endif
