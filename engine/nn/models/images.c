/* Images as inputs of models; see images.h. */
#include "engine/nn/models/images.h"

#include "engine/graph/trace/trace.h"

cse_status cse_image_size_read(const cse_settings *s, cse_image_size *size)
{
    if (cse_settings_count(s, "image_size") != 2)
        return cse_fail(CSE_CONFIG, "image_size (%s) must have two entries, [height, width]",
                        cse_settings_origin(s, "image_size"));
    *size = (cse_image_size){ .channels = cse_settings_integer(s, "num_channels"),
                              .height = cse_settings_integer_at(s, "image_size", 0),
                              .width = cse_settings_integer_at(s, "image_size", 1) };
    return CSE_OK;
}

cse_tensor *cse_images_of(cse_tensor *input, cse_image_size size)
{
    const cse_shape shape = cse_tensor_shape(input);
    const int64_t elements = size.channels * size.height * size.width;
    if (cse_trace_is_poison(input))
        return input;
    if (shape.rank < 2 || cse_shape_elements(shape) != shape.dims[0] * elements)
        return cse_trace_fail(CSE_SHAPE,
                              "the model takes images of %lld channels and %lld x %lld pixels "
                              "(num_channels, image_size), %lld values; the data have %lld",
                              (long long)size.channels, (long long)size.height,
                              (long long)size.width, (long long)elements,
                              (long long)(shape.rank > 0 && shape.dims[0] > 0
                                              ? cse_shape_elements(shape) / shape.dims[0]
                                              : 0));
    return cse_reshape(input, cse_shape_of(shape.dims[0], size.channels, size.height, size.width));
}
