/* Whether the kernel gives huge pages to those who advise it to, for messages. */
#ifndef CSE_BASE_HUGE_PAGES_H
#define CSE_BASE_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* The chosen word of a line such as "always [madvise] never"; false: there is none. */
bool cse_huge_pages_choice(const char *line, char *word, size_t size);

/* "private memory has them where it is large; shared memory has none (shmem_enabled: never)". */
void cse_huge_pages_describe(char *text, size_t size);

#endif
