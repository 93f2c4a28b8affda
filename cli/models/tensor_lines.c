/* Numbers have as many digits as tell float32 values apart. */
#include "cli/models/tensor_lines.h"

#include <stdio.h>

#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "engine/base/types/shape.h"
#include "engine/formats/checkpoint/digest.h"
#include "run/travel/tensor_facts.h"

static void print_limits(const char *name, const cse_format_limits *limits)
{
    if (limits->above + limits->subnormal + limits->flushed > 0)
        printf("  in %s: %lld above its range, %lld subnormal, %lld become zero\n", name,
               (long long)limits->above, (long long)limits->subnormal, (long long)limits->flushed);
}

static cse_tensor_facts facts_of(const cse_checkpoint_tensor *tensor)
{
    return cse_tensor_facts_of(tensor->dtype, tensor->data, cse_shape_elements(tensor->shape));
}

void cse_tensor_print(const cse_checkpoint_tensor *tensor, int64_t values)
{
    char shape[CSE_SHAPE_TEXT_BYTES];
    const cse_tensor_facts facts = facts_of(tensor);
    cse_print("%s  %s %s\n", tensor->name, cse_dtype_name(tensor->dtype),
              cse_shape_text(tensor->shape, shape, sizeof shape));
    printf("  min %.9g  max %.9g  mean %.9g  std %.9g  norm %.9g  zeros %lld", facts.minimum,
           facts.maximum, facts.mean, facts.deviation, facts.norm, (long long)facts.zeros);
    if (facts.nan + facts.inf > 0)
        printf("  NaN %lld  infinite %lld", (long long)facts.nan, (long long)facts.inf);
    printf("\n");
    if (facts.count > 1 && facts.maximum > facts.minimum) {
        printf("  from min to max:");
        for (int i = 0; i < CSE_FACT_BINS; i++)
            printf(" %lld", (long long)facts.bins[i]);
        printf("\n");
    }
    if (tensor->dtype == CSE_FLOAT32) {
        print_limits("float16", &facts.float16);
        print_limits("bfloat16", &facts.bfloat16);
    }
    if (values > 0)
        printf(" ");
    for (int64_t i = 0; i < values && i < facts.count; i++)
        printf(" %.9g", cse_tensor_value(tensor->dtype, tensor->data, i));
    if (values > 0)
        printf("%s\n", values < facts.count ? " ..." : "");
}

void cse_tensor_print_row(const cse_checkpoint_tensor *tensor, int64_t step)
{
    const cse_tensor_facts facts = facts_of(tensor);
    cse_print("%8lld  %-44s min %-14.9g max %-14.9g mean %-14.9g norm %-14.9g%s\n", (long long)step,
              tensor->name, facts.minimum, facts.maximum, facts.mean, facts.norm,
              facts.nan + facts.inf > 0 ? " not all finite" : "");
}

static json_t *limits_json(const cse_format_limits *limits)
{
    return json_pack("{s:I, s:I, s:I}", "above", (json_int_t)limits->above, "subnormal",
                     (json_int_t)limits->subnormal, "flushed", (json_int_t)limits->flushed);
}

json_t *cse_tensor_json(const cse_checkpoint_tensor *tensor, int64_t values)
{
    const cse_tensor_facts facts = facts_of(tensor);
    json_t *shape = json_array(), *list = json_array(), *bins = json_array();
    for (int i = 0; i < tensor->shape.rank; i++)
        json_array_append_new(shape, json_integer(tensor->shape.dims[i]));
    for (int64_t i = 0; i < values && i < facts.count; i++)
        json_array_append_new(list,
                              cse_json_finite(cse_tensor_value(tensor->dtype, tensor->data, i)));
    for (int i = 0; i < CSE_FACT_BINS; i++)
        json_array_append_new(bins, json_integer(facts.bins[i]));
    return json_pack("{s:s, s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o}",
                     "name", tensor->name, "dtype", cse_dtype_name(tensor->dtype), "shape", shape,
                     "min", facts.minimum, "max", facts.maximum, "mean", facts.mean, "std",
                     facts.deviation, "norm", facts.norm, "zeros", (json_int_t)facts.zeros, "nan",
                     (json_int_t)facts.nan, "inf", (json_int_t)facts.inf, "bins", bins, "float16",
                     limits_json(&facts.float16), "bfloat16", limits_json(&facts.bfloat16),
                     "values", list);
}
