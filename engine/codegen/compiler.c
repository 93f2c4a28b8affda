/* Finding and running the compiler. Its output becomes the message when it fails.
 *
 * Flags: -O3 and the vector extensions by name, because gcc 12 tunes "native" for the wrong
 * processor; sums are reassociated only where the file says so (omp simd); -ffp-contract=off gives
 * elementwise code the same bits on every instruction set. Never -ffast-math: gcc 12 would link
 * code that sets the process's floating-point mode. */
#include "engine/codegen/compiler.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/piped_program.h"

enum { MOST_ARGUMENTS = 48, MOST_OUTPUT_BYTES = 3000 };

void cse_compiler_flags(cse_isa isa, cse_text *flags)
{
    static const char *const vectors[] = {
        "",
        " -mavx2 -mfma -mbmi2",
        " -mavx2 -mfma -mbmi2 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd"
        " -mprefer-vector-width=512",
    };
    const int level = isa < CSE_ISA_AVX512 ? (int)isa : CSE_ISA_AVX512;
    cse_text_add(flags,
                 "-std=gnu11 -O3 -shared -fPIC -fvisibility=hidden -fopenmp-simd"
                 " -fno-math-errno -fno-trapping-math -ffp-contract=off -fno-strict-aliasing"
                 " -Wno-unknown-pragmas%s -DCSE_STEP_ISA=%d",
                 vectors[level], level);
}

/* Runs a program and keeps the beginning of its output; -1 when it could not start. */
static int run_program(char *const arguments[], cse_text *output)
{
    int exit_code;
    return cse_piped_program_run(arguments, MOST_OUTPUT_BYTES, output, &exit_code) == CSE_OK
               ? exit_code
               : -1;
}

static bool answers(cse_compiler *compiler)
{
    char *const arguments[] = { compiler->path, "--version", NULL };
    cse_text_clear(&compiler->version);
    return run_program(arguments, &compiler->version) == 0;
}

cse_status cse_compiler_find(cse_compiler *compiler, bool *present)
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *wanted = getenv("CSE_CC");
    *compiler = (cse_compiler){ .version = { 0 } };
    *present = true;
    if (wanted != NULL && wanted[0] != '\0') {
        snprintf(compiler->path, sizeof compiler->path, "%s", wanted);
        if (answers(compiler))
            return CSE_OK;
        cse_text_clear(&compiler->version);
        return cse_fail(CSE_CONFIG,
                        "CSE_CC: '%s --version' does not run; accepted: the path of a C compiler, "
                        "or unset it to search for cc, gcc and clang",
                        wanted);
    }
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        snprintf(compiler->path, sizeof compiler->path, "%s", names[n]);
        if (answers(compiler))
            return CSE_OK;
    }
    cse_text_clear(&compiler->version);
    *present = false;
    return CSE_OK;
}

cse_status cse_compiler_run(const cse_compiler *compiler, cse_isa isa, const char *source,
                            const char *object)
{
    char *arguments[MOST_ARGUMENTS];
    int count = 0;
    cse_text flags = { 0 }, output = { 0 };
    cse_compiler_flags(isa, &flags);
    arguments[count++] = (char *)(uintptr_t)compiler->path;
    char *rest = flags.data;
    for (char *flag; (flag = strsep(&rest, " ")) != NULL && count < MOST_ARGUMENTS - 5;)
        if (flag[0] != '\0')
            arguments[count++] = flag;
    arguments[count++] = (char *)"-o";
    arguments[count++] = (char *)(uintptr_t)object;
    arguments[count++] = (char *)(uintptr_t)source;
    arguments[count] = NULL;
    int state = run_program(arguments, &output);
    cse_status status = CSE_OK;
    if (state != 0)
        status = cse_fail(CSE_FAILED, "compiler %s: exit code %d for %s: %s", compiler->path, state,
                          source, output.data ? output.data : "it printed nothing");
    cse_text_clear(&flags);
    cse_text_clear(&output);
    return status;
}
