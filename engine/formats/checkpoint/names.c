/* The rules of names.h. */
#include "engine/formats/checkpoint/names.h"

#include <stdlib.h>
#include <string.h>

#include "engine/formats/checkpoint/digest.h"

bool cse_checkpoint_name_is_good(const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;
    bool good = length > 0 && length <= CSE_CHECKPOINT_NAME_BYTES && strcmp(name, ".") != 0;
    for (size_t i = 0; good && i < length; i++)
        good = name[i] != '/' && (unsigned char)name[i] >= 32;
    return good;
}

const char *cse_checkpoint_repeated_name(const cse_checkpoint *checkpoint)
{
    const char *repeated = NULL;
    int *order = cse_checkpoint_name_order(checkpoint);
    for (int i = 1; i < checkpoint->tensor_count && repeated == NULL; i++)
        if (strcmp(checkpoint->tensors[order[i - 1]].name, checkpoint->tensors[order[i]].name) == 0)
            repeated = checkpoint->tensors[order[i]].name;
    free(order);
    return repeated;
}
