/* A program that answers requests: a line of JSON on its standard input, and on its standard output
 * 8 bytes with the length of the answer (little-endian), then the answer. It ends when its input
 * ends.
 *
 * An answer may also stand at the beginning of a memory file, which the program gets as the
 * descriptor that the variable CSENGINE_ANSWER_MEMORY names, and makes as large as it needs: the 8
 * bytes then have the highest bit set, too, and nothing follows them. */
#ifndef CSE_DATALOADER_PROGRAMS_ANSWERING_PROGRAM_H
#define CSE_DATALOADER_PROGRAMS_ANSWERING_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

#define CSE_ANSWER_MOST_BYTES ((uint64_t)1 << 32)

typedef struct cse_answering_program cse_answering_program;

/* Keeps what is needed; the program starts with the first request. `arguments` are ended by NULL,
 * looked up in PATH, and must outlive the program. */
cse_answering_program *cse_answering_program_new(const char *const *arguments, int timeout_seconds);
/* Closes its input, and kills it if it is still there a second later. */
void cse_answering_program_close(cse_answering_program **program);

/* Sends the line (with its end) and waits for the answer, which is good until the next call. A
 * program that ends or falls silent is started again once for the same request, since an answer
 * depends on its request alone. CSE_DATA says how it ended. */
cse_status cse_answering_program_ask(cse_answering_program *program, const char *line,
                                     const unsigned char **answer, size_t *size);

#endif
