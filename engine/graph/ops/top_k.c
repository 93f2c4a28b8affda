/* top_k: where the largest elements along an axis are, the largest first.
 *
 * Attributes: integers[0] the axis, integers[1] how many, integers[2] whether the smallest are
 * wanted, the smallest first. Equal elements come in the order of their indices and NaN counts as
 * larger than any number, so there is one order only. */
#include <math.h>

#include "engine/graph/ops/along.h"

static cse_tensor *trace(cse_tensor *x, int axis, int64_t count, bool smallest)
{
    cse_attributes attributes = { .integer_count = 3, .integers = { 0, count, smallest } };
    if (!cse_trace_is_poison(x))
        attributes.integers[0] = cse_axis(axis, x->shape.rank);
    return cse_trace_1(&cse_op_top_k, &attributes, x);
}

/** The int32 indices of the `k` largest elements along `axis` (negative: from the end), the largest
 * first; equal ones in the order of their indices. cse_take_along gives the elements, with their
 * gradient. */
CSE_API cse_tensor *cse_top_k(cse_tensor *x, int axis, int64_t k)
{
    return trace(x, axis, k, false);
}

/** The int32 indices that put the elements along `axis` (negative: from the end) in order, the
 * smallest first, or the largest first where `descending`; equal ones in the order of their
 * indices. NaN counts as larger than any number. */
CSE_API cse_tensor *cse_argsort(cse_tensor *x, int axis, bool descending)
{
    int along = cse_trace_is_poison(x) ? -1 : cse_axis(axis, x->shape.rank);
    return trace(x, axis, along < 0 ? 0 : x->shape.dims[along], !descending);
}

/** The elements along `axis` (negative: from the end) in the order of cse_argsort. The gradient of
 * each goes to where it came from. */
CSE_API cse_tensor *cse_sort(cse_tensor *x, int axis, bool descending)
{
    return cse_take_along(x, cse_argsort(x, axis, descending), axis);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_on_axis(in, shape, dtype));
    int64_t axis = in->attributes->integers[0], count = in->attributes->integers[1];
    if (count < 1 || count > shape->dims[axis])
        return cse_fail(CSE_SHAPE, "%lld elements of an axis with %lld; accepted: 1 to all",
                        (long long)count, (long long)shape->dims[axis]);
    shape->dims[axis] = count;
    *dtype = CSE_INT32;
    return CSE_OK;
}

/* Whether a, at index i, comes before b, at j. */
static bool precedes(double a, int64_t i, double b, int64_t j, bool smallest)
{
    bool is_larger = a > b || (isnan(a) && !isnan(b));
    bool is_smaller = a < b || (isnan(b) && !isnan(a));
    if (is_larger || is_smaller)
        return smallest ? is_smaller : is_larger;
    return i < j;
}

/* The place of an element is the number of those that come before it. */
static void reference(const cse_reference *call)
{
    const cse_tensor *x = call->node->inputs[0];
    const int64_t *integers = call->node->attributes.integers;
    cse_along a = cse_along_axis(x->shape, integers[0]);
    int32_t *y = call->output;
    for (int64_t row = 0; row < a.before * a.after; row++) {
        int64_t i = row / a.after, k = row % a.after, first = i * a.length * a.after + k;
        for (int64_t j = 0; j < a.length; j++) {
            int64_t place = 0;
            double value = cse_read_element(x->dtype, call->inputs[0], first + j * a.after);
            for (int64_t o = 0; o < a.length; o++) {
                double other = cse_read_element(x->dtype, call->inputs[0], first + o * a.after);
                place += o != j && precedes(other, o, value, j, integers[2] != 0);
            }
            if (place < integers[1])
                y[(i * integers[1] + place) * a.after + k] = (int32_t)j;
        }
    }
}

/* "cse_comes_before(...)" of the elements whose indices two expressions give. */
static void emit_order(cse_text *out, const cse_tensor *node, const char *one, const char *other)
{
    const char *load = cse_emitted_load(node->inputs[0]->dtype);
    cse_text_add(out,
                 "cse_comes_before(%s(x[(%s) * (int64_t)AFTER]), %s, "
                 "%s(x[(%s) * (int64_t)AFTER]), %s, %d)",
                 load, one, one, load, other, other, node->attributes.integers[2] != 0);
}

/* Puts `moved` into the heap of `size` entries whose root is free: the later child goes up until
 * none is later than it. */
static void emit_sift_down(cse_text *out, const cse_tensor *node)
{
    cse_text_add(out, "int64_t at = 0, child;\n"
                      "while ((child = 2 * at + 1) < size) {\n"
                      "if (child + 1 < size && ");
    emit_order(out, node, "heap[child * AFTER]", "heap[(child + 1) * AFTER]");
    cse_text_add(out, ")\nchild++;\n"
                      "if (!");
    emit_order(out, node, "moved", "heap[child * AFTER]");
    cse_text_add(out, ")\nbreak;\n"
                      "heap[at * AFTER] = heap[child * AFTER];\n"
                      "at = child;\n"
                      "}\n"
                      "heap[at * AFTER] = moved;\n");
}

/* The result's row is a heap of the best so far, whose root is the last of them: a better element
 * takes the root's place. Then the heap is sorted: its root goes to the end, again and again. */
static void emit(cse_text *out, const cse_tensor *node)
{
    const int64_t *integers = node->attributes.integers;
    cse_along a = cse_along_axis(node->inputs[0]->shape, integers[0]);
    cse_text_add(out,
                 "enum { LENGTH = %lld, AFTER = %lld, COUNT = %lld };\n"
                 "for (int64_t i = 0; i < %lld; i++)\n"
                 "for (int64_t k = 0; k < AFTER; k++) {\n"
                 "__typeof__(y) heap = &y[i * COUNT * AFTER + k];\n"
                 "__typeof__(x0) x = &x0[i * LENGTH * AFTER + k];\n"
                 "int64_t size = 0;\n"
                 "for (int32_t moved = 0; moved < LENGTH; moved++) {\n"
                 "if (size < COUNT) {\n"
                 "int64_t at = size++;\n"
                 "while (at > 0 && ",
                 (long long)a.length, (long long)a.after, (long long)integers[1],
                 (long long)a.before);
    emit_order(out, node, "heap[(at - 1) / 2 * AFTER]", "moved");
    cse_text_add(out, ") {\n"
                      "heap[at * AFTER] = heap[(at - 1) / 2 * AFTER];\n"
                      "at = (at - 1) / 2;\n"
                      "}\n"
                      "heap[at * AFTER] = moved;\n"
                      "} else if (");
    emit_order(out, node, "moved", "heap[0]");
    cse_text_add(out, ") {\n");
    emit_sift_down(out, node);
    cse_text_add(out, "}\n"
                      "}\n"
                      "while (--size > 0) {\n"
                      "const int32_t moved = heap[size * AFTER];\n"
                      "heap[size * AFTER] = heap[0];\n");
    emit_sift_down(out, node);
    cse_text_add(out, "}\n"
                      "}\n");
}

const cse_op cse_op_top_k = {
    .name = "top_k",
    .summary = "where the largest elements along an axis are",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .emit = emit,
};
