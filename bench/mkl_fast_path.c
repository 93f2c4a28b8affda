/* PyTorch's float32 products run in Intel's MKL, which asks this function whether the processor is
 * Intel's and takes a path without AVX-512 where it says no. measured_processes.py builds this into
 * a shared object, which benchmarks preload into PyTorch on other processors, so that the
 * comparison is with PyTorch at its fastest. Other programs ignore it. */
int mkl_serv_intel_cpu_true(void);
int mkl_serv_intel_cpu_true(void)
{
    return 1;
}
