/* A memfd that is sealed against becoming smaller: a read of mapped bytes that are gone would end
 * the process with SIGBUS. */
#include "dataloader/programs/answer_memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void cse_answer_memory_make(cse_answer_memory *memory)
{
    *memory = (cse_answer_memory){
        .file = memfd_create("csengine-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING),
    };
    if (memory->file >= 0 && fcntl(memory->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        cse_answer_memory_clear(memory);
}

static void unmap(cse_answer_memory *memory)
{
    if (memory->bytes != NULL)
        munmap(memory->bytes, memory->mapped);
    memory->bytes = NULL;
    memory->mapped = 0;
}

const unsigned char *cse_answer_memory_read(cse_answer_memory *memory, size_t size)
{
    struct stat facts;
    if (size <= memory->mapped)
        return memory->bytes;
    if (memory->file < 0 || fstat(memory->file, &facts) != 0 || facts.st_size < 0 ||
        (uintmax_t)facts.st_size < size)
        return NULL;
    unmap(memory);
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, memory->file, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    memory->bytes = bytes;
    memory->mapped = size;
    return memory->bytes;
}

void cse_answer_memory_clear(cse_answer_memory *memory)
{
    unmap(memory);
    if (memory->file >= 0)
        close(memory->file);
    memory->file = -1;
}
