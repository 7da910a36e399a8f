/* Notes of what came, where nothing is to be started: for tests of the words themselves. */
#ifndef RECORD_H
#define RECORD_H

#include <slurm/spank.h>
#include <stdbool.h>

/* Note the words that this `srun` was started with, in FOLDER/srun.PID. 0, or -1. */
int record_words(const char *folder);

/* Is this the batch script, which is started all the same? */
bool record_batch(spank_t spank);

/* Note what a task would be started with, in FOLDER/task.PID.STEP.RANK: its words, its variables, the options. 0, or -1. */
int record_task(spank_t spank, const char *folder);

#endif
