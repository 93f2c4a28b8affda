/* What differs from layer to layer: which layers have a window, and which rotate queries and keys.
 * A list says it, a number for each layer, 1 or 0; it begins again where it ends. */
#include "engine/nn/models/decoder_layers.h"

enum { WITHOUT_WINDOW = 1, WITHOUT_ROTATION = 2 };

static bool has_list(const cse_settings *s, const char *name)
{
    return cse_settings_has(s, name);
}

static bool is_listed(const cse_settings *s, const char *name, int layer)
{
    return !has_list(s, name) ||
           cse_settings_integer_at(s, name, layer % cse_settings_count(s, name)) != 0;
}

static cse_status check_list(const cse_settings *s, const cse_decoder *self, const char *name,
                             bool fits, const char *needs)
{
    if (!has_list(s, name))
        return CSE_OK;
    const int count = cse_settings_count(s, name);
    if (!fits)
        return cse_fail(CSE_CONFIG, "%s (%s) belongs to %s", name, cse_settings_origin(s, name),
                        needs);
    return count > 0 && count <= self->layer_count
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "%s (%s) has %d entries; accepted: 1 to num_hidden_layers, which is %d",
                          name, cse_settings_origin(s, name), count, self->layer_count);
}

static cse_status check_alternation(const cse_settings *s, const cse_decoder *self)
{
    static const char name[] = "sliding_window_every_other_decoder_layer";
    static const char pattern[] = "sliding_window_every_other_decoder_layer_pattern";
    const bool alternates = cse_settings_bool(s, name);
    if (alternates && self->block.attention.window == 0)
        return cse_fail(CSE_CONFIG, "%s (%s) needs attention_sliding_window_length", name,
                        cse_settings_origin(s, name));
    if (alternates && has_list(s, "attention_window_layers"))
        return cse_fail(CSE_CONFIG,
                        "%s (%s) and attention_window_layers (%s) both say which layers have a "
                        "window; give one of them",
                        name, cse_settings_origin(s, name),
                        cse_settings_origin(s, "attention_window_layers"));
    if (!alternates && cse_decoder_is_text(s, pattern, "sliding_window_first"))
        return cse_fail(CSE_CONFIG, "%s (%s) belongs to %s: true", pattern,
                        cse_settings_origin(s, pattern), name);
    return CSE_OK;
}

cse_status cse_decoder_read_kinds(const cse_settings *s, cse_decoder *self)
{
    static const char theta[] = "attention_window_rope_theta";
    const cse_attention_module *attention = &self->block.attention;
    const bool has_window = attention->window > 0;
    CSE_TRY(check_alternation(s, self));
    CSE_TRY(check_list(s, self, "attention_window_layers", has_window,
                       "attention_sliding_window_length"));
    CSE_TRY(check_list(s, self, "rotary_layers", attention->rotates,
                       "position_embedding_type: rotary"));
    if (cse_settings_has(s, theta) && !(has_window && attention->rotates))
        return cse_fail(CSE_CONFIG,
                        "%s (%s) belongs to attention_sliding_window_length and "
                        "position_embedding_type: rotary",
                        theta, cse_settings_origin(s, theta));
    for (int kind = 0; kind < CSE_DECODER_KINDS; kind++) {
        cse_block_module *block = &self->kinds[kind];
        *block = self->block;
        if (cse_settings_has(s, theta) && !(kind & WITHOUT_WINDOW))
            block->attention.rotary =
                (cse_rotary_options){ .base = cse_settings_number(s, theta),
                                      .size = attention->rotary.size,
                                      .interleaved = attention->rotary.interleaved };
        if (kind & WITHOUT_WINDOW)
            block->attention.window = block->attention.sink = 0;
        if (kind & WITHOUT_ROTATION)
            block->attention.rotates = false;
    }
    return CSE_OK;
}

const cse_block_module *cse_decoder_kind_of(const cse_decoder *self, const cse_settings *s,
                                            int layer)
{
    const bool first_has_window = cse_decoder_is_text(
        s, "sliding_window_every_other_decoder_layer_pattern", "sliding_window_first");
    bool has_window = is_listed(s, "attention_window_layers", layer);
    if (cse_settings_bool(s, "sliding_window_every_other_decoder_layer"))
        has_window = (layer % 2 == 0) == first_has_window;
    const bool rotates = is_listed(s, "rotary_layers", layer);
    return &self->kinds[(has_window ? 0 : WITHOUT_WINDOW) | (rotates ? 0 : WITHOUT_ROTATION)];
}
