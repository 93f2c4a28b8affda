/* Memory that a program shares with the process that asks it, so that large answers need not pass
 * through a socket. The program may make it larger, and not smaller: what has been mapped stays
 * readable whatever it does. */
#ifndef CSE_DATALOADER_PROGRAMS_ANSWER_MEMORY_H
#define CSE_DATALOADER_PROGRAMS_ANSWER_MEMORY_H

#include <stddef.h>

typedef struct cse_answer_memory {
    int file; /* -1: there is none */
    unsigned char *bytes;
    size_t mapped;
} cse_answer_memory;

/* Of no size yet. Without memory files of this kind in the kernel there is none, which is no
 * failure: answers then come through the socket. */
void cse_answer_memory_make(cse_answer_memory *memory);
/* The first `size` bytes, good until the next call; NULL where there are not as many. */
const unsigned char *cse_answer_memory_read(cse_answer_memory *memory, size_t size);
void cse_answer_memory_clear(cse_answer_memory *memory);

#endif
