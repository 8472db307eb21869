/* Included before a program for the CUDA engine, whose source does not change: it then runs as
 * one of several ranks of one simulation (api_run.c). */
#ifndef ZP_TESTS_ON_SIMDEV_H
#define ZP_TESTS_ON_SIMDEV_H

#define _GNU_SOURCE
#include <unistd.h>

#include "../../../ref/engine/engine.h"

int program_main(int argc, char **argv);
int job_on_simdev(zp_job *job, zp_error *err);
int create_on_simdev(zp_engine **out, const zp_engine_options *options, zp_error *err);

#define main program_main
#define _exit return
#define zp_job_read job_on_simdev
#define zp_engine_create create_on_simdev

#endif
