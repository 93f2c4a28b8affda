/* The machine's C compiler, and the instruction set it is told to use. */
#ifndef CSE_CODEGEN_COMPILER_H
#define CSE_CODEGEN_COMPILER_H

#include "engine/base/instruction_set.h"
#include "engine/base/text.h"

typedef struct cse_compiler {
    char path[4096]; /* absolute, or the value of CSE_CC */
    cse_text version;
} cse_compiler;

/* Finds the compiler: CSE_CC (must run, else CSE_CONFIG), or the first of cc, gcc and clang in
 * PATH. `present` is false, and CSE_OK returned, when there is none. Fails with CSE_TEMPORARY where
 * none can be started for lack of descriptors, processes or memory. Clear `version` after use. */
cse_status cse_compiler_find(cse_compiler *compiler, bool *present);

/* The flags generated code is compiled with, separated by spaces; it uses nothing beyond AVX-512.
 */
void cse_compiler_flags(cse_isa isa, cse_text *flags);

/* Compiles DIRECTORY/step.c to DIRECTORY/step.so, twice if it fails once: one of the compiler's
 * processes may have been killed. Its temporary files are below DIRECTORY and removed. Fails with
 * CSE_FAILED and the beginning of what the compiler printed; CSE_TEMPORARY where it was killed
 * again, or memory or processes are short; CSE_IO where the storage is full or fails. */
cse_status cse_compiler_run(const cse_compiler *compiler, cse_isa isa, const char *directory);

#endif
