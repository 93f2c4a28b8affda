/* Magic, version, length of the rest, and a Python dictionary that ends with a newline. */
#include "engine/base/types/npy_header.h"

#include <inttypes.h>

enum { BEGIN_BYTES = 10, ALIGNMENT = 64 };

void cse_npy_header_print(const char *type, cse_shape shape, size_t least, cse_text *out)
{
    cse_text rest = { 0 };
    cse_text_add(&rest, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int i = 0; i < shape.rank; i++)
        cse_text_add(&rest, "%s%" PRId64 "%s", i > 0 ? " " : "", shape.dims[i],
                     shape.rank == 1 || i + 1 < shape.rank ? "," : "");
    cse_text_add(&rest, "), }");
    while (BEGIN_BYTES + rest.size + 1 < least || (BEGIN_BYTES + rest.size + 1) % ALIGNMENT != 0)
        cse_text_add(&rest, " ");
    cse_text_add(&rest, "\n");
    const char length[2] = { (char)rest.size, (char)(rest.size >> 8) };
    cse_text_add_bytes(out, "\x93NUMPY\1\0", 8);
    cse_text_add_bytes(out, length, sizeof length);
    cse_text_add_bytes(out, rest.data, rest.size);
    cse_text_clear(&rest);
}
