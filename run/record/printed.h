/* What a closure prints to stdout, for the record of its call.
 *
 * While a closure runs, the C library's `stdout` is a stream that passes on what it gets, line by
 * line, and keeps the first bytes of it. So printing stays as it is, needs no pipe and no thread,
 * and a closure that prints nothing costs two assignments. What is written to descriptor 1 past the
 * C library is not seen. */
#ifndef CSE_RUN_RECORD_PRINTED_H
#define CSE_RUN_RECORD_PRINTED_H

typedef struct cse_printed cse_printed;

/* NULL where the C library has no such streams; every function takes NULL and does nothing. */
cse_printed *cse_printed_new(void);
void cse_printed_destroy(cse_printed **printed);

void cse_printed_begin(cse_printed *printed);
/* Ends it and returns what was printed, without the last newline, or "" for nothing; valid until
 * the next begin. A text of more than 2000 bytes is cut. */
const char *cse_printed_end(cse_printed *printed);

#endif
