/* oneDNN primitives as kernels; see dnnl.h.
 *
 * oneDNN splits its work by the number of OpenMP threads, which for some shapes changes the order
 * of sums. The process is started with one thread; in case it is not, each thread that makes or
 * runs a kernel sets that number itself. The OpenMP runtime is loaded by oneDNN and looked up by
 * name, so that nothing else links to it. */
#include "engine/code/kernels/dnnl.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/instruction_set.h"
#include "engine/base/log.h"
#include "engine/base/types/dtype.h"
#include "engine/base/vector_clones.h"
#include "engine/code/kernels/image_blocks.h"
#include "engine/code/kernels/scratch.h"

enum { NAME_BYTES = 64 };

typedef struct bound_operand {
    int input;
    size_t step_bytes;
    dnnl_memory_t plain, chosen; /* the same when oneDNN takes the plain layout */
    /* How it is copied from one to the other: by a copy of ours where `blocked`. */
    bool blocked;
    cse_images images;
    dnnl_primitive_t reorder;
    dnnl_exec_arg_t reorder_arguments[2];
    size_t copy; /* its place in the scratch */
} bound_operand;

typedef struct dnnl_kernel {
    cse_kernel base;
    dnnl_primitive_t primitive;
    bound_operand operands[CSE_DNNL_MOST_OPERANDS];
    int operand_count;
    dnnl_exec_arg_t arguments[CSE_DNNL_MOST_OPERANDS + 1];
    dnnl_memory_t scratchpad;
    size_t scratchpad_place, scratch_bytes;
    cse_scratch *scratch;  /* the copies, and what oneDNN wants */
    int64_t relu_elements; /* of a part of the result; 0: no relu */
    int64_t parts;
    bool bfloat16;
    char name[NAME_BYTES];
} dnnl_kernel;

static dnnl_engine_t the_engine;
static dnnl_stream_t the_stream;
static dnnl_status_t start_status;
static pthread_once_t started = PTHREAD_ONCE_INIT;

static void use_one_thread(void)
{
    static _Thread_local bool done;
    if (done)
        return;
    done = true;
    void (*set_num_threads)(int);
    *(void **)&set_num_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (set_num_threads != NULL)
        set_num_threads(1);
}

/* oneDNN goes by the same limit as our own choices (instruction_set.h). */
static void limit_instructions(void)
{
#if defined(__x86_64__)
    static const dnnl_cpu_isa_t levels[CSE_ISA_COUNT] = { dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2,
                                                          dnnl_cpu_isa_avx512_core,
                                                          dnnl_cpu_isa_avx512_core_bf16,
                                                          dnnl_cpu_isa_all };
    if (cse_isa_of_host() < cse_isa_of_processor())
        dnnl_set_max_cpu_isa(levels[cse_isa_of_host()]);
#endif
}

static void start(void)
{
    limit_instructions();
    use_one_thread();
    start_status = dnnl_engine_create(&the_engine, dnnl_cpu, 0);
    if (start_status == dnnl_success)
        start_status = dnnl_stream_create(&the_stream, the_engine, dnnl_stream_default_flags);
}

cse_status cse_dnnl_engine(dnnl_engine_t *engine)
{
    pthread_once(&started, start);
    use_one_thread();
    *engine = the_engine;
    if (start_status != dnnl_success)
        return cse_fail(CSE_UNAVAILABLE, "oneDNN does not start: %s",
                        dnnl_status2str(start_status));
    return CSE_OK;
}

dnnl_data_type_t cse_dnnl_type(cse_dtype dtype)
{
    switch (dtype) {
    case CSE_FLOAT32:
        return dnnl_f32;
    case CSE_BFLOAT16:
        return dnnl_bf16;
    default:
        return dnnl_data_type_undef;
    }
}

cse_status cse_dnnl_check(const cse_kernel_plan *plan, dnnl_status_t status)
{
    char text[256];
    if (status == dnnl_success)
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "%s: oneDNN has no kernel for it on this machine (%s)",
                    cse_kernel_plan_text(plan, text, sizeof text), dnnl_status2str(status));
}

static void destroy(cse_kernel *base)
{
    dnnl_kernel *kernel = (dnnl_kernel *)base;
    for (int i = 0; i < kernel->operand_count; i++) {
        bound_operand *operand = &kernel->operands[i];
        dnnl_primitive_destroy(operand->reorder);
        if (operand->chosen != operand->plain)
            dnnl_memory_destroy(operand->chosen);
        dnnl_memory_destroy(operand->plain);
    }
    dnnl_memory_destroy(kernel->scratchpad);
    cse_scratch_release(&kernel->scratch);
    dnnl_primitive_destroy(kernel->primitive);
    free(kernel);
}

/* A failure here means invalid handles, a bug: there is no result to continue with. */
static void execute(const dnnl_kernel *kernel, const_dnnl_primitive_t primitive, int count,
                    const dnnl_exec_arg_t *arguments)
{
    dnnl_status_t status = dnnl_primitive_execute(primitive, the_stream, count, arguments);
    if (status != dnnl_success) {
        cse_log_line(CSE_LOG_ERROR, "oneDNN failed to run %s: %s", kernel->name,
                     dnnl_status2str(status));
        abort();
    }
}

/* ---- relu: negative elements become 0; NaN and -0 stay ---- */

enum { RELU_BLOCK = 64 };

CSE_VECTOR_INLINE void relu_floats(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = values[i] < 0 ? 0 : values[i];
}

CSE_VECTOR_INLINE void relu_bfloat16(uint16_t *bits, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        bits[i] = cse_float_from_bfloat16(bits[i]) < 0 ? 0 : bits[i];
}

/* The compiler makes vectors of loops of a known length. */
CSE_VECTOR_CLONES(void, apply_relu, (void *output, bool bfloat16, int64_t count),
                  (output, bfloat16, count))
{
    int64_t i = 0;
    for (; i + RELU_BLOCK <= count; i += RELU_BLOCK)
        if (bfloat16)
            relu_bfloat16((uint16_t *)output + i, RELU_BLOCK);
        else
            relu_floats((float *)output + i, RELU_BLOCK);
    if (bfloat16)
        relu_bfloat16((uint16_t *)output + i, count - i);
    else
        relu_floats((float *)output + i, count - i);
}

/* ---- running ---- */

/* From the plain layout to the chosen one, and for the result back, with relu. */
static void copy_operand(const dnnl_kernel *kernel, const bound_operand *operand, const void *input,
                         void *output)
{
    char *copy = (char *)cse_scratch_view(kernel->scratch) + operand->copy;
    if (operand->blocked && output == NULL)
        cse_images_to_blocks(&operand->images, input, copy);
    else if (operand->blocked)
        cse_images_to_planes(&operand->images, copy, output, kernel->relu_elements > 0);
    else if (operand->reorder != NULL)
        execute(kernel, operand->reorder, 2, operand->reorder_arguments);
}

/* The scratch may have moved since the last run. */
static void place_in_scratch(const dnnl_kernel *kernel)
{
    char *scratch = cse_scratch_view(kernel->scratch);
    for (int i = 0; i < kernel->operand_count; i++) {
        const bound_operand *operand = &kernel->operands[i];
        if (operand->chosen != operand->plain)
            dnnl_memory_set_data_handle_v2(operand->chosen, scratch + operand->copy, the_stream);
    }
    dnnl_memory_set_data_handle_v2(kernel->scratchpad, scratch + kernel->scratchpad_place,
                                   the_stream);
}

static void run_part(dnnl_kernel *kernel, int64_t part, const void *const inputs[], void *output)
{
    const bound_operand *result = NULL;
    for (int i = 0; i < kernel->operand_count; i++) {
        bound_operand *operand = &kernel->operands[i];
        const bool made = operand->input == CSE_DNNL_OUTPUT;
        if (part > 0 && operand->step_bytes == 0)
            continue;
        union {
            const void *constant;
            char *plain;
        } place = { made ? output : inputs[operand->input] };
        place.plain += (size_t)part * operand->step_bytes;
        dnnl_memory_set_data_handle_v2(operand->plain, place.plain, the_stream);
        if (!made)
            copy_operand(kernel, operand, place.constant, NULL);
        else {
            result = operand;
            output = place.plain;
        }
    }
    execute(kernel, kernel->primitive, kernel->operand_count + 1, kernel->arguments);
    copy_operand(kernel, result, NULL, output);
    if (kernel->relu_elements > 0 && !result->blocked)
        apply_relu(output, kernel->bfloat16, kernel->relu_elements);
}

static void run(cse_kernel *base, const void *const inputs[], void *output)
{
    dnnl_kernel *kernel = (dnnl_kernel *)base;
    use_one_thread();
    place_in_scratch(kernel);
    for (int64_t part = 0; part < kernel->parts; part++)
        run_part(kernel, part, inputs, output);
}

/* Whether `chosen` is `plain`, of images, in blocks of 16 channels; then fills `images`. */
static bool is_blocked(const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *chosen,
                       cse_images *images)
{
    dnnl_memory_desc_t planes, blocks;
    const bool known = plain->ndims == 4 && cse_images_run_here() &&
                       (plain->data_type == dnnl_f32 || plain->data_type == dnnl_bf16);
    if (!known ||
        dnnl_memory_desc_init_by_tag(&planes, 4, plain->dims, plain->data_type, dnnl_nchw) !=
            dnnl_success ||
        dnnl_memory_desc_init_by_tag(&blocks, 4, plain->dims, plain->data_type, dnnl_nChw16c) !=
            dnnl_success)
        return false;
    *images = (cse_images){ .count = plain->dims[0],
                            .channels = plain->dims[1],
                            .pixels = plain->dims[2] * plain->dims[3],
                            .dtype = plain->data_type == dnnl_f32 ? CSE_FLOAT32 : CSE_BFLOAT16 };
    return dnnl_memory_desc_equal(&planes, plain) && dnnl_memory_desc_equal(&blocks, chosen);
}

/* Room for a memory object in the scratch. */
static size_t reserve(dnnl_kernel *kernel, const dnnl_memory_desc_t *memory)
{
    const size_t place = kernel->scratch_bytes;
    kernel->scratch_bytes += (dnnl_memory_desc_get_size(memory) + 63) / 64 * 64;
    return place;
}

static dnnl_status_t make_reorder(bound_operand *operand, const dnnl_memory_desc_t *plain,
                                  const dnnl_memory_desc_t *chosen)
{
    bool result = operand->input == CSE_DNNL_OUTPUT;
    dnnl_primitive_desc_t description;
    dnnl_status_t status =
        dnnl_memory_create(&operand->chosen, chosen, the_engine, DNNL_MEMORY_NONE);
    operand->blocked = is_blocked(plain, chosen, &operand->images);
    if (status != dnnl_success || operand->blocked)
        return status;
    status = dnnl_reorder_primitive_desc_create(&description, result ? chosen : plain, the_engine,
                                                result ? plain : chosen, the_engine, NULL);
    if (status != dnnl_success)
        return status;
    status = dnnl_primitive_create(&operand->reorder, description);
    dnnl_primitive_desc_destroy(description);
    operand->reorder_arguments[0] =
        (dnnl_exec_arg_t){ DNNL_ARG_FROM, result ? operand->chosen : operand->plain };
    operand->reorder_arguments[1] =
        (dnnl_exec_arg_t){ DNNL_ARG_TO, result ? operand->plain : operand->chosen };
    return status;
}

static dnnl_status_t bind_operand(dnnl_kernel *kernel, const cse_dnnl_operand *wanted,
                                  const_dnnl_primitive_desc_t description)
{
    int at = kernel->operand_count++;
    bound_operand *operand = &kernel->operands[at];
    const dnnl_memory_desc_t *chosen =
        dnnl_primitive_desc_query_md(description, dnnl_query_exec_arg_md, wanted->argument);
    operand->input = wanted->input;
    operand->step_bytes = wanted->step_bytes;
    dnnl_status_t status =
        dnnl_memory_create(&operand->plain, &wanted->plain, the_engine, DNNL_MEMORY_NONE);
    if (status != dnnl_success)
        return status;
    operand->chosen = operand->plain;
    if (!dnnl_memory_desc_equal(chosen, &wanted->plain)) {
        operand->copy = reserve(kernel, chosen);
        status = make_reorder(operand, &wanted->plain, chosen);
    }
    kernel->arguments[at] = (dnnl_exec_arg_t){ wanted->argument, operand->chosen };
    return status;
}

static dnnl_status_t bind_scratchpad(dnnl_kernel *kernel, const_dnnl_primitive_desc_t description)
{
    const dnnl_memory_desc_t *wanted =
        dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    kernel->scratchpad_place = reserve(kernel, wanted);
    dnnl_status_t status =
        dnnl_memory_create(&kernel->scratchpad, wanted, the_engine, DNNL_MEMORY_NONE);
    kernel->arguments[kernel->operand_count] =
        (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, kernel->scratchpad };
    return status;
}

static dnnl_status_t bind(dnnl_kernel *kernel, const cse_dnnl_call *call,
                          const_dnnl_primitive_desc_t description)
{
    const char *name = "";
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < call->operand_count && status == dnnl_success; i++)
        status = bind_operand(kernel, &call->operands[i], description);
    if (status == dnnl_success)
        status = bind_scratchpad(kernel, description);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&kernel->primitive, description);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
    strncpy(kernel->name, name, sizeof kernel->name - 1);
    return status;
}

static dnnl_status_t describe(const cse_dnnl_call *call, dnnl_primitive_desc_t *description)
{
    dnnl_primitive_attr_t attributes;
    dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
    if (status != dnnl_success)
        return status;
    status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(description, call->description, attributes, the_engine,
                                            call->hint);
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

cse_status cse_dnnl_kernel_new(const cse_dnnl_call *call, cse_kernel **result)
{
    dnnl_engine_t engine;
    dnnl_primitive_desc_t description;
    char text[256];
    *result = NULL;
    CSE_TRY(cse_dnnl_engine(&engine));
    CSE_TRY(cse_dnnl_check(call->plan, describe(call, &description)));
    dnnl_kernel *kernel = cse_calloc(1, sizeof *kernel);
    kernel->bfloat16 = call->plan->dtype == CSE_BFLOAT16;
    kernel->parts = call->parts > 1 ? call->parts : 1;
    if (call->plan->relu)
        kernel->relu_elements = cse_shape_elements(call->plan->product->shape) / kernel->parts;
    dnnl_status_t status = bind(kernel, call, description);
    dnnl_primitive_desc_destroy(description);
    kernel->scratch = cse_scratch_share(call->plan->graph, kernel->scratch_bytes);
    kernel->base = (cse_kernel){
        .run = run, .destroy = destroy, .implementation = kernel->name, .flops = call->flops
    };
    if (status != dnnl_success) {
        destroy(&kernel->base);
        return cse_dnnl_check(call->plan, status);
    }
    if (strncmp(kernel->name, "ref", 3) == 0)
        cse_log_line(CSE_LOG_WARNING, "%s: oneDNN runs its slow reference kernel (%s)",
                     cse_kernel_plan_text(call->plan, text, sizeof text), kernel->name);
    *result = &kernel->base;
    return CSE_OK;
}
