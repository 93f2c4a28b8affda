/* From a planned graph to running code: one readable C file, compiled by the machine's C compiler
 * and cached.
 *
 * The file holds one function for each group, named by its number, three entries (replica, weights,
 * update) that call them in order, and a table of the functions, for callers that time each one.
 * The compiled step is kept in a directory named by a hash of everything that decides its bits, so
 * that a second run only loads it. */
#ifndef CSE_CODEGEN_CODEGEN_H
#define CSE_CODEGEN_CODEGEN_H

#include "engine/graph/graph.h"

/* Raised when the frame, the undo record, the kernels or the entries change. */
enum { CSE_KERNELS_BYTES = 2048 };
enum { CSE_STEP_ABI = 4 };

typedef struct cse_compile_result {
    /* Holds graph.json, plan.txt, kernels.txt, step.c and, with a compiler, step.so. */
    char directory[4096];
    char kernels[CSE_KERNELS_BYTES]; /* the record of its kernels (kernel_record.h) */
    bool cached;                     /* found in the cache */
    double seconds;                  /* from the call to the end */
    bool compiler_present;
} cse_compile_result;

/* Writes the C file of a planned graph (every pass done) to `out`. Fails with CSE_SHAPE for a type
 * that generated code cannot hold. */
cse_status cse_codegen_print(const cse_graph *graph, cse_text *out);

/* Compiles a planned graph into a directory under `compile_dir` (created when missing), or finds it
 * there. The compiler is CSE_CC, or the first of cc, gcc and clang in PATH; with none, the
 * directory has no step.so, and the interpreter will run. Fails with CSE_PERMISSION or
 * CSE_CANNOT_CREATE when the directory cannot be made or written, and with CSE_FAILED and the
 * compiler's output when it rejects the file. */
cse_status cse_codegen_compile(const cse_graph *graph, const char *compile_dir,
                               cse_compile_result *result);

/* The record of kernels of an artefact's directory. CSE_NO_INPUT when there is none. */
cse_status cse_codegen_read_kernels(const char *directory, char *kernels, size_t size);

/* The prelude as text; written by autogen.sh. */
extern const char cse_prelude_text[];

#endif
