/* The batch script of a run: deploy/several_hosts.sbatch, as autogen.sh wrote it down. */
#ifndef CSE_WORKERS_BATCH_SLURM_SCRIPT_H
#define CSE_WORKERS_BATCH_SLURM_SCRIPT_H

extern const char cse_slurm_script[];

#endif
