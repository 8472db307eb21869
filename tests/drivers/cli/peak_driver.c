/* peak_driver FILE COMMAND [ARGUMENT]…: runs the command and appends to FILE, as one line, the peak
 * resident memory in KiB of the largest process among it and the descendants that it waited for.
 * Exit code: the command's; 3 if it ended by a signal or could not be started.
 *
 * A process that Python starts inherits Python's peak (Linux carries it over exec); one that this
 * program starts inherits 1 to 2 MiB. Transparent huge pages are switched off, and glibc uses one
 * heap: both change what is resident by some MiB from run to run. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  struct rusage used;
  int status;
  if (argc < 3) {
    fputs("peak_driver FILE COMMAND [ARGUMENT]...\n", stderr);
    return 2;
  }
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) || setenv("MALLOC_ARENA_MAX", "1", 1)) {
    perror("peak_driver");
    return 3;
  }
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    _exit(3);
  }
  if (child < 0 || wait4(child, &status, 0, &used) != child) {
    perror("peak_driver");
    return 3;
  }
  FILE *file = fopen(argv[1], "a");
  if (file == NULL || fprintf(file, "%ld\n", used.ru_maxrss) < 0 || fclose(file)) {
    perror(argv[1]);
    return 3;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
