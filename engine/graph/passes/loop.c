/* Levels and phases of fused loops; see loop.h for what they are. */
#include "engine/graph/passes/loop.h"

#include "engine/base/types/shape.h"

typedef struct analysis {
    cse_node *const *nodes;
    int count; /* nodes seen so far: inputs are among them or outside */
    cse_loop *loop;
    bool alone; /* the loop has one node */
} analysis;

int cse_loop_position(cse_node *const nodes[], int count, const cse_node *value)
{
    int64_t position = value->scratch;
    return position >= 0 && position < count && nodes[position] == value ? (int)position : -1;
}

static const cse_loop_value *value_of(const analysis *a, cse_node *input)
{
    int position = cse_loop_position(a->nodes, a->count, cse_node_storage(input));
    return position < 0 ? NULL : &a->loop->values[position];
}

bool cse_loop_is_degenerate(const cse_node *node)
{
    return node->op->kind == CSE_OP_REDUCE &&
           cse_shape_elements(node->shape) == cse_shape_elements(node->inputs[0]->shape);
}

typedef enum reduction_form {
    REDUCES_OTHER,
    REDUCES_ALL,
    REDUCES_LAST,
    REDUCES_FIRST
} reduction_form;

/* Axes of size 1 do not count: neither kept nor reduced. */
static reduction_form form_of(const cse_node *node)
{
    cse_shape shape = node->inputs[0]->shape;
    bool reduced[CSE_MAX_RANK] = { false };
    for (int i = 1; i < node->attributes.integer_count; i++)
        reduced[node->attributes.integers[i]] = true;
    int changes = 0, last = -1, first = -1;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] == 1)
            continue;
        bool is_reduced = reduced[i] || node->attributes.integer_count <= 1;
        if (last >= 0 && is_reduced != (last == 1))
            changes++;
        if (first < 0)
            first = is_reduced;
        last = is_reduced;
    }
    if (changes == 0)
        return last == 1 ? REDUCES_ALL : REDUCES_OTHER;
    if (changes > 1)
        return REDUCES_OTHER;
    return first == 1 ? REDUCES_FIRST : REDUCES_LAST;
}

bool cse_loop_takes(const cse_node *node)
{
    /* A sum that is rounded between tiles is a block of its own. */
    if (cse_shape_elements(node->shape) == 0 || cse_node_is_tiled(node))
        return false;
    switch (node->op->kind) {
    case CSE_OP_ELEMENTWISE:
    case CSE_OP_BROADCAST:
        return true;
    case CSE_OP_REDUCE:
        return cse_loop_is_degenerate(node) ||
               (form_of(node) != REDUCES_OTHER && cse_shape_elements(node->inputs[0]->shape) > 0);
    default:
        return false;
    }
}

/* Trailing axes that make up `columns` elements: position of the first, -1 when none fits. */
static int split_of(cse_shape shape, int64_t columns)
{
    int64_t product = 1;
    int at = shape.rank;
    while (product < columns && at > 0)
        product *= shape.dims[--at];
    return product == columns ? at : -1;
}

bool cse_loop_map_of(const cse_node *broadcast, int64_t columns, cse_loop_map *map)
{
    cse_shape shape = broadcast->shape;
    int64_t strides[CSE_MAX_RANK];
    cse_shape_broadcast_strides(broadcast->inputs[0]->shape, shape, strides);
    int split = split_of(shape, columns);
    if (split < 0)
        return false;
    *map = (cse_loop_map){ .step = -1 };
    int64_t expected = 1;
    for (int i = shape.rank - 1; i >= split; i--) {
        if (shape.dims[i] == 1)
            continue;
        int64_t step = strides[i] == 0 ? 0 : 1;
        if ((map->step >= 0 && map->step != step) || (step == 1 && strides[i] != expected))
            return false;
        map->step = step;
        expected *= shape.dims[i];
    }
    map->step = map->step < 0 ? 0 : map->step;
    int64_t divide = 1;
    for (int i = split - 1; i >= 0; i--) {
        if (shape.dims[i] == 1)
            continue;
        int last = map->count - 1;
        bool outermost = true;
        for (int j = 0; j < i; j++)
            outermost = outermost && shape.dims[j] == 1;
        bool extends = last >= 0 && map->terms[last].divide * map->terms[last].modulus == divide &&
                       map->terms[last].stride * map->terms[last].modulus == strides[i];
        if (strides[i] != 0 && extends) {
            map->terms[last].modulus = outermost ? 0 : map->terms[last].modulus * shape.dims[i];
        } else if (strides[i] != 0) {
            map->terms[map->count].divide = divide;
            map->terms[map->count].modulus = outermost ? 0 : shape.dims[i];
            map->terms[map->count++].stride = strides[i];
        }
        divide *= shape.dims[i];
    }
    return true;
}

/* The broadcast of one value a row to the row's elements. */
static bool map_is_rows(const cse_loop_map *map, int64_t rows)
{
    if (map->step != 0)
        return false;
    return map->count == 0 ? rows == 1
                           : map->count == 1 && map->terms[0].divide == 1 &&
                                 map->terms[0].modulus == 0 && map->terms[0].stride == 1;
}

static bool level_by_size(const analysis *a, int64_t elements, cse_loop_level *level)
{
    int64_t rows = a->loop->rows, columns = a->loop->columns;
    if (elements == 1)
        *level = CSE_LEVEL_SCALAR;
    else if (elements == rows * columns)
        *level = CSE_LEVEL_FULL;
    else if (elements == rows)
        *level = CSE_LEVEL_ROW;
    else
        return false;
    return true;
}

/* Places an elementwise node that reads a value known only after the rows. Its other inputs must be
 * such values too, or come from outside the loop. */
static bool place_after_rows(const analysis *a, const cse_node *node, cse_loop_value *value)
{
    int64_t elements = cse_shape_elements(node->shape);
    value->after_rows = true;
    value->level = elements == 1 ? CSE_LEVEL_SCALAR : CSE_LEVEL_COLUMN;
    for (int i = 0; i < node->input_count; i++) {
        const cse_loop_value *input = value_of(a, node->inputs[i]);
        if (input != NULL && input->level != value->level)
            return false;
        if (input != NULL && value->level == CSE_LEVEL_COLUMN && !input->after_rows)
            return false;
    }
    return elements == 1 || elements == a->loop->columns;
}

static bool place_elementwise(const analysis *a, const cse_node *node, cse_loop_value *value)
{
    bool after_rows = false, row = false;
    for (int i = 0; i < node->input_count; i++) {
        const cse_loop_value *input = value_of(a, node->inputs[i]);
        after_rows = after_rows || (input != NULL && input->after_rows);
        row = row || (input != NULL && input->level == CSE_LEVEL_ROW);
    }
    if (after_rows)
        return place_after_rows(a, node, value);
    if (!level_by_size(a, cse_shape_elements(node->shape), &value->level))
        return false;
    if (row && value->level == CSE_LEVEL_SCALAR)
        value->level = CSE_LEVEL_ROW;
    value->phase = value->level == CSE_LEVEL_FULL ? 0 : -1;
    for (int i = 0; i < node->input_count; i++) {
        const cse_loop_value *input = value_of(a, node->inputs[i]);
        if (input == NULL)
            continue;
        bool scalar_to_row = input->level == CSE_LEVEL_SCALAR && value->level == CSE_LEVEL_ROW;
        if (input->level != value->level && !scalar_to_row)
            return false;
        if (input->phase > value->phase)
            value->phase = input->phase;
    }
    return true;
}

static bool place_broadcast(const analysis *a, const cse_node *node, cse_loop_value *value)
{
    const cse_loop_value *input = value_of(a, node->inputs[0]);
    cse_loop_map map;
    if (!level_by_size(a, cse_shape_elements(node->shape), &value->level))
        return false;
    value->phase = value->level == CSE_LEVEL_FULL ? 0 : -1;
    if (cse_shape_elements(node->shape) == cse_shape_elements(node->inputs[0]->shape))
        return place_elementwise(a, node, value);
    if (input == NULL || input->level == CSE_LEVEL_SCALAR) {
        int64_t columns = value->level == CSE_LEVEL_FULL ? a->loop->columns : 1;
        return (input == NULL || !input->after_rows) && cse_loop_map_of(node, columns, &map);
    }
    if (input->level != CSE_LEVEL_ROW || value->level != CSE_LEVEL_FULL)
        return false;
    value->phase = input->phase + 1;
    return cse_loop_map_of(node, a->loop->columns, &map) && map_is_rows(&map, a->loop->rows);
}

static bool place_reduce(const analysis *a, const cse_node *node, cse_loop_value *value)
{
    const cse_loop_value *input = value_of(a, node->inputs[0]);
    int64_t elements = cse_shape_elements(node->shape), rows = a->loop->rows;
    int64_t reduced = cse_shape_elements(node->inputs[0]->shape);
    reduction_form form = form_of(node);
    cse_loop_value outside = { .phase = 0 };
    if (input == NULL) {
        if (!level_by_size(a, reduced, &outside.level))
            return false;
        outside.phase = outside.level == CSE_LEVEL_FULL ? 0 : -1;
        input = &outside;
    }
    if (input->after_rows)
        return false;
    value->reduces = input->level;
    value->phase = input->phase;
    if (input->level == CSE_LEVEL_FULL && elements == rows &&
        (form == REDUCES_LAST || form == REDUCES_ALL)) {
        value->level = CSE_LEVEL_ROW;
        return true;
    }
    value->after_rows = true;
    value->level = form == REDUCES_ALL ? CSE_LEVEL_SCALAR : CSE_LEVEL_COLUMN;
    if (form == REDUCES_ALL)
        return input->level == CSE_LEVEL_FULL || input->level == CSE_LEVEL_ROW;
    return form == REDUCES_FIRST && input->level == CSE_LEVEL_FULL &&
           elements == a->loop->columns && (a->alone || elements <= CSE_LOOP_MOST_SUMMED_COLUMNS);
}

static bool is_expanding(const cse_node *node)
{
    return node->op->kind == CSE_OP_BROADCAST &&
           cse_shape_elements(node->shape) != cse_shape_elements(node->inputs[0]->shape);
}

/* The phase in which a full value is first read in the loop; -1 when it is not, or is an expanding
 * broadcast, which is evaluated again wherever it is read. */
static int first_use(const analysis *a, int position)
{
    int first = -1;
    for (int n = position + 1; n < a->count; n++)
        for (int i = 0; i < a->nodes[n]->input_count; i++) {
            if (cse_node_storage(a->nodes[n]->inputs[i]) != a->nodes[position])
                continue;
            int phase = a->loop->values[n].phase;
            first = first < 0 || phase < first ? phase : first;
        }
    return first;
}

/* Elementwise values that read nothing the loop keeps are computed where they are first used, so
 * that they need not be kept from one phase to another. */
static void postpone(const analysis *a)
{
    for (int n = a->count - 1; n >= 0; n--) {
        const cse_node *node = a->nodes[n];
        cse_loop_value *value = &a->loop->values[n];
        bool free = node->op->kind == CSE_OP_ELEMENTWISE && value->level == CSE_LEVEL_FULL &&
                    !value->after_rows;
        for (int i = 0; free && i < node->input_count; i++) {
            cse_node *input = cse_node_storage(node->inputs[i]);
            free = is_expanding(input) || value_of(a, input) == NULL;
        }
        int first = free ? first_use(a, n) : -1;
        if (first > value->phase)
            value->phase = first;
    }
}

/* The number of values of one phase that a later one reads. */
static int64_t kept_values(const analysis *a)
{
    bool kept[CSE_LOOP_MOST_NODES] = { false };
    int64_t count = 0;
    for (int n = 0; n < a->count; n++)
        for (int i = 0; i < a->nodes[n]->input_count; i++) {
            cse_node *input = cse_node_storage(a->nodes[n]->inputs[i]);
            int at = cse_loop_position(a->nodes, a->count, input);
            if (at < 0 || a->loop->values[at].level != CSE_LEVEL_FULL || is_expanding(input) ||
                a->loop->values[n].phase <= a->loop->values[at].phase || kept[at])
                continue;
            kept[at] = true;
            count++;
        }
    return count;
}

bool cse_loop_fits(cse_node *const nodes[], int count, int64_t rows, int64_t columns,
                   cse_loop *loop)
{
    if (count > CSE_LOOP_MOST_NODES)
        return false;
    *loop = (cse_loop){ .rows = rows, .columns = columns, .phases = 0 };
    analysis a = { nodes, 0, loop, count == 1 };
    for (int n = 0; n < count; n++) {
        cse_node *node = nodes[n];
        cse_loop_value *value = &loop->values[n];
        bool fits;
        a.count = n;
        if (node->op->kind == CSE_OP_BROADCAST)
            fits = place_broadcast(&a, node, value);
        else if (node->op->kind == CSE_OP_REDUCE && !cse_loop_is_degenerate(node))
            fits = place_reduce(&a, node, value);
        else
            fits = place_elementwise(&a, node, value);
        if (!fits)
            return false;
        node->scratch = n;
        bool visits = value->level == CSE_LEVEL_FULL ||
                      (node->op->kind == CSE_OP_REDUCE && value->reduces == CSE_LEVEL_FULL);
        if (visits && value->phase + 1 > loop->phases)
            loop->phases = value->phase + 1;
    }
    a.count = count;
    if (loop->phases > 1)
        postpone(&a);
    return loop->phases <= 1 || kept_values(&a) * columns <= CSE_LOOP_MOST_KEPT_ELEMENTS;
}

/* The rows and columns that a node by itself would loop over. */
static void natural_domain(const cse_node *node, int64_t *rows, int64_t *columns)
{
    int64_t elements = cse_shape_elements(node->shape);
    *rows = 1;
    *columns = elements;
    if (node->op->kind == CSE_OP_REDUCE && !cse_loop_is_degenerate(node)) {
        int64_t all = cse_shape_elements(node->inputs[0]->shape);
        reduction_form form = form_of(node);
        *columns = form == REDUCES_FIRST ? elements : all / elements;
        *rows = all / *columns;
    } else if (node->op->kind == CSE_OP_BROADCAST && elements > 1) {
        cse_loop_map map;
        int64_t product = 1;
        for (int i = node->shape.rank - 1; i >= 0; i--) {
            product *= node->shape.dims[i];
            if (cse_loop_map_of(node, product, &map))
                *columns = product;
        }
        *rows = elements / *columns;
    }
}

bool cse_loop_find(cse_node *const nodes[], int count, cse_loop *loop)
{
    int64_t tried[2] = { 0, 0 };
    for (int n = count - 1; n >= 0; n--) {
        int64_t rows, columns;
        natural_domain(nodes[n], &rows, &columns);
        if (rows == tried[0] && columns == tried[1])
            continue;
        if (cse_loop_fits(nodes, count, rows, columns, loop))
            return true;
        tried[0] = rows;
        tried[1] = columns;
    }
    return false;
}
