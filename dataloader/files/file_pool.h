/* Files that are read while a run goes on, in place of being kept in memory: any number of them,
 * of which a few are open at a time. A file that is opened again must be the one that it was. */
#ifndef CSE_DATALOADER_FILES_FILE_POOL_H
#define CSE_DATALOADER_FILES_FILE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_POOL_OPEN_FILES = 64, CSE_POOL_MOST_FILES = 1 << 22 };

typedef struct cse_file_pool cse_file_pool;

/* `closing`, when not NULL, is called before a descriptor is closed. */
cse_file_pool *cse_file_pool_new(void (*closing)(void *self, int file), void *self);
void cse_file_pool_destroy(cse_file_pool **pool);

/* Opens a file by cse_input_open_file and gives it the next number from 0 on. */
cse_status cse_file_pool_add(cse_file_pool *pool, const char *path, int *file);
/* The same of a file that was made of `origin`, whose identity is noted already and which messages
 * name: a copy of it in another form. */
cse_status cse_file_pool_add_made(cse_file_pool *pool, const char *origin, const char *path,
                                  int *file);
int cse_file_pool_count(const cse_file_pool *pool);
const char *cse_file_pool_path_view(const cse_file_pool *pool, int file);
int64_t cse_file_pool_bytes(const cse_file_pool *pool, int file);

/* Its descriptor, good until the next call for another file. CSE_DATA: it was changed. */
cse_status cse_file_pool_descriptor(cse_file_pool *pool, int file, int *descriptor);
/* From here on, until the next call, whether a file was changed is looked at when it is asked for
 * for the first time; without this call it is each time. Call it for each batch of samples. */
void cse_file_pool_look_once(cse_file_pool *pool);
/* Reads `size` bytes at `offset`, all of them. */
cse_status cse_file_pool_read(cse_file_pool *pool, int file, int64_t offset, void *bytes,
                              size_t size);
/* The same for further parts of a sample, where the file's descriptor was asked for at the first:
 * whether the file was changed is not looked at again. */
cse_status cse_file_pool_read_more(cse_file_pool *pool, int file, int64_t offset, void *bytes,
                                   size_t size);
/* Such a read follows soon: of a mapped file its bytes come nearer to the processor meanwhile. */
void cse_file_pool_expect(const cse_file_pool *pool, int file, int64_t offset, size_t size);

#endif
