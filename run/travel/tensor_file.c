/* The formats of weights write whatever can be read, here from memory. */
#include "run/travel/tensor_file.h"

#include <string.h>

#include "engine/formats/weights/save.h"

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
