/* What a program does first. Not installed. */
#ifndef ZP_BASE_PROCESS_H
#define ZP_BASE_PROCESS_H

/* Prepares the process's files:
 * - descriptors 0 to 2 are open, so that no file that is opened later becomes standard output;
 *   where standard output was closed, writing to it fails;
 * - a file-size limit (ulimit -f) is an error of the write, not a signal;
 * - as many files as the hard limit permits may be open: one process may hold hundreds of ranks,
 *   each with files of a checkpoint;
 * - what it prints to standard output and standard error is escaped (escape.h), so no text from
 *   outside controls the terminal;
 * - the process does not exit with 0 if its standard output could not be written, however it
 *   exits: it prints an error and exits with the code `failed`. */
void zp_process_begin(int failed);

#endif
