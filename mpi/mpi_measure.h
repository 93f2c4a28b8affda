/* What MPI itself gives between two hosts, to compare a link with. */
#ifndef CSE_MPI_MEASURE_H
#define CSE_MPI_MEASURE_H

/* Between the first two processes; the first prints a table. */
void cse_mpi_measure(int rank, int count);

#endif
