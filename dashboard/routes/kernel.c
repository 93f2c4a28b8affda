/* One kernel of the step: its generated C, its work by the plan, the machine's limit for it. */
#include "run/measure/kernel_view.h"

#include "dashboard/routes/route_support.h"

static json_t *work_json(const cse_group_work *work)
{
    return json_pack("{s:s, s:f, s:f, s:I, s:s, s:s, s:[s, s]}", "class",
                     cse_work_class_name(work->work_class), "product_flop", work->product_flop,
                     "other_flop", work->other_flop, "bytes", (json_int_t)work->bytes,
                     "implementation", work->implementation, "sizes", work->sizes, "operands",
                     cse_dtype_name(work->operands[0]), cse_dtype_name(work->operands[1]));
}

static json_t *limit_json(const cse_kernel_view *view)
{
    const cse_kernel_limit *limit = &view->limit;
    return view->limited ? json_pack("{s:f, s:b, s:s, s:f, s:s, s:f}", "nanoseconds", limit->ns,
                                     "by_operations", (int)limit->by_operations, "peak",
                                     limit->peak, "gflop_per_second", limit->gflop_per_second,
                                     "level", limit->level, "gb_per_second", limit->gb_per_second)
                         : json_null();
}

static json_t *kernel_json(int64_t kernel, const cse_kernel_view *view)
{
    const bool written = view->source.size > 0;
    return json_pack(
        "{s:I, s:s, s:o, s:i, s:s?, s:o, s:o, s:s?}", "kernel", (json_int_t)kernel, "part",
        view->part, "source", written ? cse_text_json(view->source.data) : json_null(), "function",
        view->function, "source_missing", written ? NULL : view->source_missing, "work",
        work_json(&view->work), "limit", limit_json(view), "limit_missing", view->limit_missing);
}

static void get_kernel(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_kernel_view view;
    const int64_t kernel = cse_request_integer(request, "kernel", 0);
    if (!cse_server_open_run(request, answer, &run))
        return;
    const cse_status status =
        cse_kernel_view_read(run.reader, kernel, cse_request_bool(request, "measure"), &view);
    cse_server_close_run(request, &run);
    if (status == CSE_USAGE)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "%s", cse_error_message());
    else if (status != CSE_OK)
        cse_answer_failure(answer, status);
    else
        cse_answer_json(answer, 200, kernel_json(kernel, &view));
    cse_kernel_view_clear(&view);
}

static const char schemas[] =
    "KernelWork  # What one run of the kernel has to do, by its plan; of an update, all its "
    "lines.\n"
    "  class string  # product, attention product, attention, rest\n"
    "  product_flop,other_flop number  # a multiplication and an addition count as two\n"
    "  bytes integer 0..  # read and written, each once\n"
    "  operands [string]  # formats of its product; float32 without one\n"
    "  implementation,sizes string  # of its product; empty without one\n"
    "KernelLimit  # The least time that this machine needs for it, one core alone.\n"
    "  nanoseconds number\n"
    "  by_operations boolean  # by the registers' peak, else by the bytes of the level\n"
    "  peak string  # instruction of the peak\n"
    "  gflop_per_second number\n"
    "  level string  # L1, L2, L3, memory: the smallest that its tensors fit in\n"
    "  gb_per_second number\n"
    "KernelDetail\n"
    "  kernel integer 0..  # index in the graph's groups\n"
    "  part string  # replica, weights, update\n"
    "  source string|null  # its function of the generated C; equal kernels have one\n"
    "  function integer 0..  # its number in the generated C\n"
    "  source_missing string|null  # why there is no source\n"
    "  work KernelWork\n"
    "  limit KernelLimit|null\n"
    "  limit_missing string|null  # why there is none, and how to get it\n";

const cse_route cse_route_kernel = {
    .path = "/api/v1/jobs/{id}/kernels/{kernel}",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getKernel", get_kernel,
                        "A kernel's generated C, its work, and the machine's limit for it"),
          .doc = "The rates of the machine are measured once asked for, with measure=true, and "
                 "kept while the server lives.",
          .parameters = "measure? boolean  # measures this machine first: about a second of one "
                        "core\n",
          .replies = "200 KernelDetail",
          .problems = "503",
          .slow = true },
    },
};
