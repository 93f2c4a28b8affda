/* Writes the fixture's checkpoint to the file named on the command line, for check_h5py.sh. Run
 * without one, as the test runner does, it writes and reads a file of its own. */
#include "tests/engine/formats/checkpoint/fixture.h"

int main(int argc, char **argv)
{
    char directory[PATH_MAX] = "", path[PATH_MAX + 16];
    if (argc < 2 && make_directory(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s%s", argc < 2 ? directory : argv[1],
             argc < 2 ? "/file.mdl" : "");
    cse_checkpoint checkpoint = fixture_checkpoint(), *read = NULL;
    bool good = cse_checkpoint_save(&checkpoint, path) == CSE_OK &&
                cse_checkpoint_load(path, &read) == CSE_OK && checkpoints_equal(&checkpoint, read);
    if (!good)
        fprintf(stderr, "%s\n", cse_error_message());
    cse_checkpoint_destroy(&read);
    if (argc < 2)
        remove_directory(directory);
    return good ? 0 : 1;
}
