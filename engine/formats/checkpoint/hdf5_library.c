/* HDF5's errors and types. */
#include "engine/formats/checkpoint/hdf5_library.h"

#include "engine/base/text.h"

cse_hdf5_quiet cse_hdf5_silence(void)
{
    cse_hdf5_quiet saved = { NULL, NULL };
    H5Eget_auto2(H5E_DEFAULT, &saved.function, &saved.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return saved;
}

void cse_hdf5_restore(cse_hdf5_quiet saved)
{
    H5Eset_auto2(H5E_DEFAULT, saved.function, saved.data);
}

static herr_t keep_first_description(unsigned index, const H5E_error2_t *error, void *description)
{
    if (index == 0 && error->desc != NULL)
        cse_text_add(description, "%s", error->desc);
    return 0;
}

/* Fails with HDF5's last error message. */
cse_status cse_hdf5_failed(cse_status status, const char *path, const char *what)
{
    cse_text description = { 0 };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first_description, &description);
    cse_fail(status, "%s: HDF5 cannot %s: %s", path, what,
             description.data != NULL ? description.data : "no reason given");
    cse_text_clear(&description);
    return status;
}

/* A little-endian float of 16 bits with `mantissa_bits` and `bias`; H5Tclose it. */
static hid_t small_float_type(size_t mantissa_bits, size_t bias)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    /* Fields first: they must fit into the type at every moment while its size shrinks. */
    H5Tset_fields(type, 15, mantissa_bits, 15 - mantissa_bits, 0, mantissa_bits);
    H5Tset_precision(type, 16);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, bias);
    return type;
}

/* The enumeration that h5py shows as bool. */
static hid_t bool_type(void)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    const signed char no = 0, yes = 1;
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    return type;
}

/* The HDF5 type of a tensor's elements; H5Tclose it. */
hid_t cse_hdf5_type_of(cse_dtype dtype)
{
    switch (dtype) {
    case CSE_FLOAT32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case CSE_BFLOAT16:
        return small_float_type(7, 127);
    case CSE_FLOAT16:
        return small_float_type(10, 15);
    case CSE_CBFLOAT16:
        return small_float_type(9, 31);
    case CSE_INT32:
        return H5Tcopy(H5T_STD_I32LE);
    case CSE_BOOL:
        return bool_type();
    case CSE_DTYPE_COUNT:
        break;
    }
    return H5I_INVALID_HID;
}
