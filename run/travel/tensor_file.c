/* The formats of weights write whatever can be read, here from memory. */
#include "run/travel/tensor_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "engine/base/arena.h"
#include "engine/formats/weights/open.h"
#include "engine/formats/weights/save.h"

/* ---- writing ---- */

static cse_status read_tensor(cse_weights *weights, int index, uint64_t first, size_t bytes,
                              void *to)
{
    const cse_checkpoint_tensor *tensors = weights->self;
    memcpy(to, (const unsigned char *)tensors[index].data + first, bytes);
    return CSE_OK;
}

cse_status cse_tensors_write(const cse_checkpoint_tensor *tensors, int count, const char *path)
{
    cse_weights *weights = cse_weights_new(path);
    cse_status status = CSE_OK;
    weights->self = (void *)(uintptr_t)tensors;
    weights->read = read_tensor;
    for (int i = 0; i < count && status == CSE_OK; i++)
        status = cse_weights_add(weights,
                                 &(cse_weight){ .name = tensors[i].name,
                                                .element = cse_element_of_dtype(tensors[i].dtype),
                                                .shape = tensors[i].shape,
                                                .file = -1 });
    if (status != CSE_OK) {
        cse_weights_close(&weights);
        return status;
    }
    return cse_weights_save(
        &weights, path,
        &(cse_weights_save_options){ .element = CSE_ELEMENT_COUNT, .map = "none", .all = true });
}

/* ---- reading ---- */

struct cse_tensor_map {
    cse_weights *list;
    unsigned char *start;
    size_t bytes;
};

cse_status cse_tensors_map(int file, cse_tensor_map **map)
{
    char path[64];
    struct stat about;
    cse_tensor_map *m = *map = cse_calloc(1, sizeof *m);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    CSE_TRY(cse_weights_open(
        path, &(cse_weights_options){ .format = "npz", .all = true, .map = "none" }, &m->list));
    if (fstat(file, &about) != 0 || about.st_size <= 0)
        return cse_fail(CSE_IO, "the file of tensors: %s", strerror(errno));
    void *start = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (start == MAP_FAILED)
        return cse_fail(CSE_TEMPORARY, "the file of tensors: %s", strerror(errno));
    m->start = start;
    m->bytes = (size_t)about.st_size;
    return CSE_OK;
}

void cse_tensors_unmap(cse_tensor_map **map)
{
    cse_tensor_map *m = *map;
    if (m == NULL)
        return;
    if (m->start != NULL)
        munmap(m->start, m->bytes);
    cse_weights_close(&m->list);
    free(m);
    *map = NULL;
}

cse_status cse_tensor_map_find(const cse_tensor_map *map, const char *name,
                               cse_checkpoint_tensor *tensor)
{
    const int index = cse_weights_find(map->list, name);
    if (index < 0)
        return cse_fail(CSE_NO_INPUT, "no tensor \"%.200s\" is among those that were kept", name);
    const cse_weight *weight = &map->list->list[index];
    const uint64_t bytes = cse_weight_bytes(weight);
    if ((weight->element != CSE_ELEMENT_F32 && weight->element != CSE_ELEMENT_I32) ||
        weight->offset > map->bytes || bytes > map->bytes - weight->offset)
        return cse_fail(CSE_DATA, "the values of %.200s cannot be read", name);
    *tensor = (cse_checkpoint_tensor){ .name = weight->name,
                                       .dtype = weight->element == CSE_ELEMENT_I32 ? CSE_INT32
                                                                                   : CSE_FLOAT32,
                                       .shape = weight->shape,
                                       .data = map->start + weight->offset };
    return CSE_OK;
}
