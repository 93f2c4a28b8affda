/* The format of checkpoints: HDF5, read by its seal alone, without that library (sealed_file.h). */
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/hdf5_file.h"
#include "engine/formats/checkpoint/sealed_file.h"

static cse_status hdf5_confirm(const cse_checkpoint *checkpoint, const cse_format_target *to)
{
    return cse_sealed_file_confirm(to->descriptor, to->path, checkpoint);
}

static cse_status read_as(cse_sealed_use use, int descriptor, const char *path,
                          cse_checkpoint **checkpoint)
{
    cse_checkpoint_owned *owned = cse_checkpoint_owned_new();
    *checkpoint = &owned->checkpoint;
    cse_status status = cse_sealed_file_read(descriptor, path, use, owned);
    if (status != CSE_OK)
        cse_checkpoint_destroy(checkpoint);
    return status;
}

static cse_status hdf5_read(int descriptor, const char *path, cse_checkpoint **checkpoint)
{
    return read_as(CSE_SEALED_KEPT, descriptor, path, checkpoint);
}

static cse_status hdf5_map(int descriptor, const char *path, cse_checkpoint **checkpoint)
{
    return read_as(CSE_SEALED_MAPPED, descriptor, path, checkpoint);
}

static cse_status hdf5_verify(int descriptor, const char *path)
{
    cse_checkpoint *checkpoint;
    CSE_TRY(read_as(CSE_SEALED_VERIFIED, descriptor, path, &checkpoint));
    cse_checkpoint_destroy(&checkpoint);
    return CSE_OK;
}

const cse_checkpoint_format cse_format_hdf5 = {
    .name = "hdf5",
    .summary = "one HDF5 dataset for each dotted name; what training writes",
    .extension = ".mdl",
    .signature = "\x89HDF\r\n\x1a\n",
    .signature_bytes = 8,
    .write = cse_hdf5_file_write,
    .confirm = hdf5_confirm,
    .verify = hdf5_verify,
    .read = hdf5_read,
    .map = hdf5_map,
};
