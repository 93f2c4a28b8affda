/* The HDF5 virtual file driver of hdf5_driver.h. */
#include "engine/formats/checkpoint/hdf5_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/file_bytes.h"

enum { LARGE_BYTES = 1 << 20 };

typedef struct open_file {
    H5FD_t public_part; /* first: HDF5 sees the file as this */
    cse_hdf5_target *target;
    haddr_t end_of_allocation;
    haddr_t end_of_file;
} open_file;

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t max_address)
{
    (void)name, (void)flags, (void)max_address;
    cse_hdf5_target *const *target = H5Pget_driver_info(access);
    struct stat status;
    if (target == NULL || fstat((*target)->descriptor, &status) != 0)
        return NULL;
    open_file *file = cse_calloc(1, sizeof *file);
    file->target = *target;
    file->end_of_file = (haddr_t)status.st_size;
    return &file->public_part;
}

static herr_t driver_close(H5FD_t *file)
{
    free(file);
    return 0;
}

static haddr_t driver_get_end_of_allocation(const H5FD_t *file, H5FD_mem_t kind)
{
    (void)kind;
    return ((const open_file *)file)->end_of_allocation;
}

static herr_t driver_set_end_of_allocation(H5FD_t *file, H5FD_mem_t kind, haddr_t address)
{
    (void)kind;
    ((open_file *)file)->end_of_allocation = address;
    return 0;
}

static haddr_t driver_get_end_of_file(const H5FD_t *file, H5FD_mem_t kind)
{
    (void)kind;
    return ((const open_file *)file)->end_of_file;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t kind, hid_t transfer, haddr_t address,
                          size_t size, void *data)
{
    (void)kind, (void)transfer;
    cse_hdf5_target *target = ((open_file *)file)->target;
    int64_t got = cse_read_at(target->descriptor, data, size, address);
    if (got < 0) {
        target->error = target->error != 0 ? target->error : errno;
        return -1;
    }
    /* Bytes that were allocated but not written yet read as zeros, as in HDF5's own driver. */
    memset((char *)data + got, 0, size - (size_t)got);
    return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t kind, hid_t transfer, haddr_t address,
                           size_t size, const void *data)
{
    (void)kind, (void)transfer;
    open_file *own = (open_file *)file;
    if (own->target->error == 0 && cse_write_at(own->target->descriptor, data, size, address) != 0)
        own->target->error = errno != 0 ? errno : EIO;
    /* The disk begins at once with what is large, while the next tensor is copied and the file
     * is read again; fsync waits for it. A hint: that it is refused changes nothing. */
    if (own->target->error == 0 && size >= LARGE_BYTES)
        sync_file_range(own->target->descriptor, (off64_t)address, (off64_t)size,
                        SYNC_FILE_RANGE_WRITE);
    if (address + size > own->end_of_file)
        own->end_of_file = address + size;
    return 0;
}

static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    (void)transfer, (void)closing;
    open_file *own = (open_file *)file;
    if (own->end_of_file == own->end_of_allocation)
        return 0;
    if (own->target->error == 0 &&
        ftruncate(own->target->descriptor, (off_t)own->end_of_allocation) != 0)
        own->target->error = errno;
    own->end_of_file = own->end_of_allocation;
    return 0;
}

static const H5FD_class_t driver_class = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 0x6373, /* any number that no other driver of this process uses */
#endif
    .name = "csengine_open_file",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(cse_hdf5_target *),
    .open = driver_open,
    .close = driver_close,
    .get_eoa = driver_get_end_of_allocation,
    .set_eoa = driver_set_end_of_allocation,
    .get_eof = driver_get_end_of_file,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_SINGLE,
};

hid_t cse_hdf5_access_new(cse_hdf5_target *target)
{
    hid_t driver = H5FDregister(&driver_class);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (driver < 0 || access < 0 || H5Pset_driver(access, driver, &target) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) < 0) {
        H5Pclose(access);
        access = H5I_INVALID_HID;
    }
    H5FDunregister(driver); /* the property list holds its own reference */
    return access;
}
