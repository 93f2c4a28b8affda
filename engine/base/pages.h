/* Memory in whole pages, straight from the kernel: for large blocks that come and go, so that what
 * is released leaves the process at once, whatever else the heap holds. */
#ifndef CSE_BASE_PAGES_H
#define CSE_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Ends the process with a sentence that names the limit, where there is one. */
_Noreturn void cse_out_of_memory(size_t bytes);

/* Zeroed, aligned to a page; takes no memory until touched. NULL for 0 bytes; when address space is
 * exhausted the process ends with a message. */
void *cse_pages_new(size_t bytes);
/* Tells the kernel that all of it will be touched soon, so that it may use huge pages. */
void cse_pages_expect_use(void *memory, size_t bytes);
/* Has the pages of a range of a mapping that will be written now made in one call of the kernel,
 * which costs less than one fault for each, and fails where a fault would end the process. 0, or
 * the error; where the kernel has no such call, 0, and they are made as usual. */
int cse_pages_make(void *start, size_t bytes);
bool cse_pages_can_make(void); /* whether it has */
/* `bytes` as at the allocation; harmless for NULL. */
void cse_pages_release(void *memory, size_t bytes);
/* Returns the whole pages inside a range of a shared mapping of memory to the kernel: they read as
 * zeros from then on. What lies in no whole page stays as it is. */
void cse_pages_discard(const void *start, size_t bytes);

/* Of a shared mapping of a file on a disk: writes what is dirty of a range, and has its pages leave
 * memory, but for those that another process has mapped. All bytes stay what they are. 0, or the
 * error of writing. */
int cse_pages_write_out(const void *start, size_t bytes);
/* The same of what is clean; what is dirty stays for those who write it, and learn whether it could
 * be written. */
void cse_pages_let_go(const void *start, size_t bytes);
/* Begins to read a range of such a mapping. */
void cse_pages_read_ahead(const void *start, size_t bytes);

/* Returns what the heap holds free to the kernel, as far as the C library can: called when a
 * process has prepared (parsed, compiled, loaded) and its long work begins. */
void cse_heap_trim(void);

#endif
