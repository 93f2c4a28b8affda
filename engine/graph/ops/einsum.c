/* Sums of products by letters; see einsum.h.
 *
 * Two operands are one matrix product: axes that only one of them has, and the result lacks, are
 * summed first; then both are brought to [shared and kept, own, shared and summed]. */
#include "engine/graph/ops/einsum.h"

#include <string.h>

/* Letters up to `end`, each once. NULL: something else stands there, or too many. */
static const char *read_letters(const char *text, const char *end, char letters[])
{
    int count = 0;
    letters[0] = '\0';
    for (; *text != '\0' && strchr(end, *text) == NULL; text++) {
        bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
        if (*text == ' ')
            continue;
        if (!letter || count == CSE_MAX_RANK || strchr(letters, *text) != NULL)
            return NULL;
        letters[count++] = *text;
        letters[count] = '\0';
    }
    return text;
}

bool cse_einsum_parse(const char *text, cse_einsum_notation *e)
{
    *e = (cse_einsum_notation){ .operand_count = 1 };
    const char *at = read_letters(text, ",-", e->operands[0]);
    if (at != NULL && *at == ',') {
        e->operand_count = 2;
        at = read_letters(at + 1, "-", e->operands[1]);
    }
    if (at == NULL || at[0] != '-' || at[1] != '>')
        return false;
    at = read_letters(at + 2, "", e->result);
    if (at == NULL)
        return false;
    for (const char *letter = e->result; *letter != '\0'; letter++)
        if (strchr(e->operands[0], *letter) == NULL && strchr(e->operands[1], *letter) == NULL)
            return false;
    return true;
}

static void append(char letters[], char letter)
{
    size_t length = strlen(letters);
    letters[length] = letter;
    letters[length + 1] = '\0';
}

/* The letters of three lists, one after the other. */
static void join(char letters[], const char *a, const char *b, const char *c)
{
    const char *const lists[] = { a, b, c };
    letters[0] = '\0';
    for (int i = 0; i < 3; i++)
        for (const char *letter = lists[i]; *letter != '\0'; letter++)
            append(letters, *letter);
}

/* x without the axes whose letters are in neither `a` nor `b`, which are summed; `letters` loses
 * them too. */
static cse_tensor *sum_others(cse_tensor *x, char letters[], const char *a, const char *b)
{
    char kept[CSE_MAX_RANK + 1] = "";
    int axes[CSE_MAX_RANK], count = 0;
    for (int i = 0; letters[i] != '\0'; i++)
        if (strchr(a, letters[i]) != NULL || strchr(b, letters[i]) != NULL)
            append(kept, letters[i]);
        else
            axes[count++] = i;
    memcpy(letters, kept, sizeof kept);
    return count > 0 ? cse_sum(x, axes, count, false) : x;
}

/* x, whose axes are `letters`, with its axes in the order of `wanted`. */
static cse_tensor *arrange(cse_tensor *x, const char *letters, const char *wanted)
{
    int axes[CSE_MAX_RANK], count = 0;
    for (; wanted[count] != '\0'; count++)
        axes[count] = (int)(strchr(letters, wanted[count]) - letters);
    return strcmp(letters, wanted) == 0 ? x : cse_transpose(x, axes, count);
}

/* The sizes of the axes `chosen` of x, appended to `shape`; their product. */
static int64_t add_sizes(const cse_tensor *x, const char *letters, const char *chosen,
                         cse_shape *shape)
{
    int64_t product = 1;
    for (; *chosen != '\0'; chosen++) {
        int64_t size = x->shape.dims[strchr(letters, *chosen) - letters];
        shape->dims[shape->rank++] = size;
        product *= size;
    }
    return product;
}

/* Letters of operands and result by where they stand. */
typedef struct parts {
    char batch[CSE_MAX_RANK + 1], own[2][CSE_MAX_RANK + 1], summed[CSE_MAX_RANK + 1];
} parts;

static parts parts_of(const cse_einsum_notation *e)
{
    parts p = { .batch = "" };
    for (int o = 0; o < 2; o++)
        for (const char *l = e->operands[o]; *l != '\0'; l++) {
            bool shared = strchr(e->operands[1 - o], *l) != NULL;
            bool kept = strchr(e->result, *l) != NULL;
            if (!shared)
                append(p.own[o], *l);
            else if (o == 0)
                append(kept ? p.batch : p.summed, *l);
        }
    return p;
}

static cse_tensor *multiply(const cse_einsum_notation *e, cse_tensor *const x[2])
{
    const parts p = parts_of(e);
    cse_tensor *matrices[2];
    char made[3 * CSE_MAX_RANK + 1], order[3 * CSE_MAX_RANK + 1];
    cse_shape sizes = { .rank = 0 }, ignored;
    int64_t batch = 1, own[2], summed = 1;
    for (int o = 0; o < 2; o++) {
        join(order, p.batch, p.own[o], p.summed);
        ignored = (cse_shape){ .rank = 0 };
        batch = add_sizes(x[o], e->operands[o], p.batch, o == 0 ? &sizes : &ignored);
        own[o] = add_sizes(x[o], e->operands[o], p.own[o], &sizes);
        ignored = (cse_shape){ .rank = 0 };
        summed = add_sizes(x[o], e->operands[o], p.summed, &ignored);
        matrices[o] =
            cse_reshape(arrange(x[o], e->operands[o], order), cse_shape_of(batch, own[o], summed));
    }
    join(made, p.batch, p.own[0], p.own[1]);
    cse_tensor *product = cse_matmul(matrices[0], matrices[1], false, true);
    return arrange(cse_reshape(product, sizes), made, e->result);
}

static cse_tensor *check(const cse_einsum_notation *e, cse_tensor *const x[], const char *text)
{
    for (int o = 0; o < e->operand_count; o++) {
        if (cse_trace_is_poison(x[o]))
            return cse_reshape(x[o], cse_scalar_shape);
        if (x[o]->shape.rank != (int)strlen(e->operands[o]))
            return cse_trace_fail(CSE_SHAPE, "einsum: \"%s\": operand %d has rank %d", text, o,
                                  x[o]->shape.rank);
    }
    for (int i = 0; e->operand_count == 2 && e->operands[0][i] != '\0'; i++) {
        const char *other = strchr(e->operands[1], e->operands[0][i]);
        if (other != NULL && x[0]->shape.dims[i] != x[1]->shape.dims[other - e->operands[1]])
            return cse_trace_fail(CSE_SHAPE, "einsum: \"%s\": the sizes of %c differ", text,
                                  e->operands[0][i]);
    }
    return NULL;
}

/** Products of the elements of one or two tensors, summed over the letters that the result lacks:
 * "bhqd,bhkd->bhqk" gives scores of attention, "ij->ji" a transpose. Each operand has a letter for
 * each axis, all different; the result is always given. As PyTorch's einsum; two operands become
 * one matrix product. `count`: of `tensors`, 1 or 2. */
CSE_API cse_tensor *cse_einsum(const char *notation, cse_tensor *const tensors[], int count)
{
    cse_einsum_notation e;
    if (!cse_einsum_parse(notation, &e) || e.operand_count != count)
        return cse_trace_fail(CSE_SHAPE,
                              "einsum: \"%s\" with %d tensors; accepted: the letters of one or two "
                              "tensors and of the result, as in \"ik,kj->ij\", each letter once in "
                              "a tensor",
                              notation, count);
    cse_tensor *wrong = check(&e, tensors, notation), *x[2];
    if (wrong != NULL)
        return wrong;
    for (int o = 0; o < count; o++)
        x[o] = sum_others(tensors[o], e.operands[o], e.operands[1 - o], e.result);
    return count == 2 ? multiply(&e, x) : arrange(x[0], e.operands[0], e.result);
}
