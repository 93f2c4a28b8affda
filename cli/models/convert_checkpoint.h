/* `csengine checkpoint convert`: weights from one format to another, and checkpoints of an earlier
 * csengine anew. */
#ifndef CSE_CLI_MODELS_CONVERT_CHECKPOINT_H
#define CSE_CLI_MODELS_CONVERT_CHECKPOINT_H

#include "cli/arguments/command_line.h"

#define CSE_CONVERT_OPTIONS                                                                       \
    { "from", "FORMAT", NULL, "convert: the format of OLD, where its first bytes do not tell" },  \
        { "to", "FORMAT|DIRECTORY", NULL,                                                         \
          "convert: the format of NEW, or hf, a folder of Hugging Face, or peft, the "            \
          "adapter of OLD alone as a folder of PEFT; by default its name tells. save: where to "  \
          "write the last checkpoint of the run in MODEL_DIR, which waits "                       \
          "for room" },                                                                           \
        { "dtype", "TYPE", NULL,                                                                  \
          "convert: the type of floats: float32, bfloat16 or float16; for GGUF also Q8_0, Q5_0, " \
          "Q4_0, Q4_K" },                                                                         \
        { "map", "FILE", NULL,                                                                    \
          "convert: how another program names the weights (docs/weights.md); none: names stay" }, \
        { "config", "CONFIG.yaml", NULL,                                                          \
          "convert: whose section model OLD belongs to, where it does not say so itself; its "    \
          "data "                                                                                 \
          "loader tells the inputs of an ONNX model" },                                           \
        { "shard_size", "BYTES", NULL,                                                            \
          "convert: the most elements of one file of a folder, as in 5GB; for ONNX, of a model "  \
          "whose weights are in the same file" },                                                 \
        { "adapter", "FOLDER", NULL,                                                              \
          "convert: a folder of PEFT whose adapter is added to the weights; repeatable" },        \
        { "adapter_weights", "W,...", NULL, "convert: what each adapter is multiplied by; 1" },   \
        { "combination_type", "cat|linear", NULL,                                                 \
          "convert: how several adapters are added: the sum of their products (cat, the "         \
          "default), or the product of the sums of their factors, as in PEFT" },                  \
        { "adapter_name", "NAME", NULL,                                                           \
          "convert: with --to peft: one of several adapters; by default the active one" },        \
        { "any_base", NULL, NULL,                                                                 \
          "convert: the weights may be others than those that the adapter was trained beside" },  \
        { "side_files", "FOLDER", NULL,                                                           \
          "convert: whose tokenizer files and the like go into a folder of Hugging Face; by "     \
          "default those beside OLD" },                                                           \
        { "all", NULL, NULL,                                                                      \
          "convert: all tensors of a checkpoint by their full names, the optimizer's as well" },  \
    {                                                                                             \
        "print_model", NULL, NULL, "convert: prints the section model of a configuration"         \
    }

/* Returns the exit code. From here on the process reaches the two folders alone. */
int cse_convert_checkpoint(const cse_command_line *line);

#endif
